package doctor

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/text/tokens"
)

// Estimate converts counts for models whose tokenizer is not public.
type Estimate struct {
	Models string  `json:"models"`
	Factor float64 `json:"factor"` // tokens per counted token of a definition
	Fixed  int     `json:"fixed"`  // tokens per request, if it has any tools
	Date   string  `json:"date"`   // of the published measurements that it was fitted to
}

// Claude is the estimate for Claude models. Their older tokenizer, up to Opus and Sonnet 4.6, needs
// about 1.18 tokens per counted token.
var Claude = Estimate{Models: "Claude Opus 5 and Fable 5", Factor: 1.69, Fixed: 220, Date: "2026-08"}

// of returns the estimate for definitions, without Fixed.
func (e Estimate) of(tokens int) int { return int(math.Round(e.Factor * float64(tokens))) }

// DefaultWindow is the default context window for shares, in tokens.
const DefaultWindow = 200_000

// Inspection holds the costs and problems of tool lists.
type Inspection struct {
	Method   string   `json:"method"`
	Estimate Estimate `json:"estimate"`
	Window   int      `json:"window"`   // tokens
	Totals   []Total  `json:"sessions"` // one per host
	Servers  []Server `json:"servers"`
}

// Total sums up the servers of one host.
type Total struct {
	Host string `json:"host,omitempty"` // empty for lists outside of any host's settings
	Cost
	Instructions int       `json:"instructions"` // tokens
	Claude       int       `json:"claude"`       // estimated, with Fixed
	Share        float64   `json:"share"`        // of the window, in percent
	Findings     []Finding `json:"findings,omitempty"`
}

// Server holds the costs and problems of one server's list.
type Server struct {
	Name    string `json:"name"`
	Source  string `json:"source,omitempty"`
	Host    string `json:"host,omitempty"`    // the host whose settings name the server
	Problem string `json:"problem,omitempty"` // why there is no list
	Cost
	Instructions int          `json:"instructions"` // tokens, not included in Cost
	Claude       int          `json:"claude"`       // estimated, without Fixed
	Share        float64      `json:"share"`        // of the window, in percent
	List         []ToolCost   `json:"list,omitempty"`
	HostCosts    []HostCost   `json:"sent,omitempty"`
	HostFigures  []HostFigure `json:"shown,omitempty"`
	Findings     []Finding    `json:"findings,omitempty"`
}

// ToolCost counts one tool. The parts are counted separately: their sum lacks member names and
// brackets.
type ToolCost struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	Tokens int    `json:"tokens"`
	Parts  Parts  `json:"parts"`
	Claude int    `json:"claude"` // estimated
}

// Parts holds the tokens of a tool's parts.
type Parts struct {
	Name        int `json:"name"`
	Description int `json:"description"`
	Schema      int `json:"schema"`
}

// HostCost counts a list in the form that a host sends to a model.
type HostCost struct {
	Host         string `json:"host"`
	Title        string `json:"title"`
	Version      string `json:"version"`      // the observed version
	Tokens       int    `json:"tokens"`       // of the definitions as sent
	Instructions int    `json:"instructions"` // tokens of the instructions that a model receives
	// tokens sent by default if the host defers tools: lines, and AlwaysLoad tools if it supports
	// that
	Deferred *int   `json:"deferred,omitempty"`
	Note     string `json:"note,omitempty"`
}

// HostFigure is a figure that a host displays for a list, which differs from the model's cost.
type HostFigure struct {
	Host   string `json:"host"`
	Tokens int    `json:"tokens"`
	How    string `json:"how"`
}

// Inspect counts lists. Window is the model's context window, in tokens. Each host gets a total.
func Inspect(lists []List, window int) (Inspection, error) {
	in := Inspection{Method: Method, Estimate: Claude, Window: window, Totals: []Total{}, Servers: []Server{}}
	together := map[string][]List{}
	for _, l := range lists {
		s, err := inspect(l, window)
		if err != nil {
			return Inspection{}, fmt.Errorf("%s: %w", l.Server, err)
		}
		in.Servers = append(in.Servers, s)
		if together[l.Host] == nil {
			in.Totals = append(in.Totals, Total{Host: l.Host})
		}
		together[l.Host] = append(together[l.Host], l)
	}
	for i := range in.Totals {
		total := &in.Totals[i]
		for _, s := range in.Servers {
			if s.Host == total.Host {
				total.Cost = total.Add(s.Cost)
				total.Instructions += s.Instructions
			}
		}
		if total.Tools > 0 {
			total.Claude = Claude.Fixed + Claude.of(total.Tokens)
		}
		total.Share = share(total.Tokens, window)
		total.Findings = findTogether(together[total.Host], total.Claude)
	}
	return in, nil
}

// share returns tokens as a percentage of a window, with one decimal.
func share(tokens, window int) float64 {
	return math.Round(1000*float64(tokens)/float64(window)) / 10
}

func inspect(l List, window int) (Server, error) {
	s := Server{Name: l.Server, Source: l.Source, Host: l.Host, Problem: l.Problem}
	if l.Problem != "" {
		return s, nil
	}
	for _, t := range l.Tools {
		text, err := t.definition()
		if err != nil {
			return Server{}, err
		}
		cost := ToolCost{Name: t.Name, Bytes: len(text)}
		for _, part := range []struct {
			text string
			into *int
		}{
			{text, &cost.Tokens}, {t.Name, &cost.Parts.Name}, {t.Description, &cost.Parts.Description}, {string(t.InputSchema), &cost.Parts.Schema},
		} {
			if *part.into, err = tokens.Count(part.text); err != nil {
				return Server{}, err
			}
		}
		cost.Claude = Claude.of(cost.Tokens)
		s.List = append(s.List, cost)
		s.Cost = s.Add(Cost{1, cost.Bytes, cost.Tokens})
	}
	s.Claude, s.Share = Claude.of(s.Tokens), share(s.Tokens, window)
	var err error
	if s.Instructions, err = tokens.Count(l.Instructions); err != nil {
		return Server{}, err
	}
	if s.HostCosts, err = countByHosts(l); err != nil {
		return Server{}, err
	}
	if s.HostFigures, err = shownFor(l, s); err != nil {
		return Server{}, err
	}
	heavy, err := findHeavy(l, s)
	if err != nil {
		return Server{}, err
	}
	s.Findings = append(find(l), heavy...)
	return s, nil
}

// countByHosts counts a list as the observed hosts send it: all hosts, or the one whose settings name the
// server.
func countByHosts(l List) (all []HostCost, err error) {
	for i := range hosts.Hosts {
		h := &hosts.Hosts[i]
		if h.Rewrite == nil || l.Host != "" && l.Host != h.Name {
			continue
		}
		s, err := countByHost(h.For(l.Model), l)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// countByHost counts a list as a host sends it. h.Rewrite must be known.
func countByHost(h *hosts.Host, l List) (HostCost, error) {
	s := HostCost{Host: h.Name, Title: h.Title, Version: h.Rewrite.Version, Note: h.Rewrite.Also}
	first := 0 // tokens before a model searches for tools
	for _, t := range l.Tools {
		definition, err := h.Rewrite.Definition(l.Server, t.Name, t.Description, t.InputSchema)
		if err != nil {
			return HostCost{}, fmt.Errorf("%s: %w", t.Name, err)
		}
		n, err := tokens.Count(string(definition))
		if err != nil {
			return HostCost{}, err
		}
		s.Tokens += n
		switch {
		case h.Rewrite.ByServer():
			n = 0
		case h.Rewrite.Defers() && !t.AlwaysLoad:
			if n, err = tokens.Count(h.Rewrite.Line(l.Server, t.Name, t.Description) + "\n"); err != nil {
				return HostCost{}, err
			}
		}
		first += n
	}
	if h.Rewrite.ByServer() && len(l.Tools) > 0 {
		n, err := tokens.Count(h.Rewrite.ServerLine(l.Server, l.Instructions) + "\n")
		if err != nil {
			return HostCost{}, err
		}
		first += n
	}
	if h.Rewrite.Defers() {
		s.Deferred = &first
	}
	if h.Rewrite.Instructions {
		n, err := tokens.Count(h.Rewrite.Cut(l.Instructions))
		if err != nil {
			return HostCost{}, err
		}
		s.Instructions = n
	}
	return s, nil
}

// shownFor returns the figures that hosts display instead of the model's cost.
func shownFor(l List, s Server) ([]HostFigure, error) {
	const perTool, perList = 8, 16 // tokens that VS Code adds
	var texts []string
	var gather func(any)
	gather = func(value any) {
		switch v := value.(type) {
		case string:
			texts = append(texts, v)
		case []any:
			for _, item := range v {
				gather(item)
			}
		case map[string]any:
			for _, member := range v {
				gather(member)
			}
		}
	}
	for _, t := range l.Tools {
		var schema any
		_ = json.Unmarshal(t.InputSchema, &schema) // without a schema it adds no texts
		gather([]any{t.Name, t.Description, schema})
	}
	sum := 0
	for _, text := range texts {
		n, err := tokens.Count(text)
		if err != nil {
			return nil, err
		}
		sum += n
	}
	var problems []HostFigure
	if l.Host == "" || l.Host == "claude-code" {
		problems = append(problems, HostFigure{
			Host: "a host that counts each tool alone", Tokens: s.Tools*Claude.Fixed + s.Claude,
			How: "the fixed part is counted once a tool, as Claude Code's /context did",
		})
	}
	if l.Host == "" || l.Host == "vscode" {
		problems = append(problems, HostFigure{
			Host: "VS Code", Tokens: int(math.Round(1.1 * float64(perList+s.Tools*perTool+sum))),
			How: "texts of the definitions only, without the names of parameters, and a tenth more",
		})
	}
	return problems, nil
}
