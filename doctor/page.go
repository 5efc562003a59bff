package doctor

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/toolfold/toolfold/surface"
)

//go:embed page.html.tmpl
var pageText string

var pageTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageText)) })

// FullReport is a complete report of doctor.
type FullReport struct {
	Version string    `json:"version"` // of toolfold
	Date    time.Time `json:"date"`
	Inspection
	Counted  []APICount  `json:"counted,omitempty"`  // by the API of a model; nil = not counted
	Surfaces []Surface   `json:"surfaces,omitempty"` // of toolfold itself
	Choices  []Choice    `json:"choices,omitempty"`  // combinations of tier and fold
	Calls    []CallCost  `json:"calls,omitempty"`    // nil = not examined
	Compared *Comparison `json:"compared,omitempty"` // nil = no comparison

	LegacyCalls []LegacyCall `json:"legacyCalls,omitempty"`

	Advice string `json:"advice,omitempty"` // how to shorten a long list of toolfold's own; empty = no advice

	Rules []string `json:"rules,omitempty"` // allow rules with names of other servers' tools, which have no effect, and replacements

	Upstreams   []Upstream   `json:"upstreams,omitempty"`   // servers of the settings; nil = not examined
	Surface     *SurfaceCost `json:"served,omitempty"`      // the list that clients get, including tools of Upstreams; nil = not examined
	TracedCalls *int         `json:"tracedCalls,omitempty"` // number of traced calls compared with Upstreams; nil = not examined
}

// LegacyCall counts a client's calls of a legacy name.
type LegacyCall struct {
	Name   string    `json:"name"`
	Client string    `json:"client"` // the name that it sent; may be empty
	Calls  int64     `json:"calls"`
	Last   time.Time `json:"last"`
}

// WritePage writes an HTML page with charts. The page loads no resources and runs no scripts; names
// and texts of servers are escaped.
func (w FullReport) WritePage(to io.Writer) error {
	if err := pageTemplate().Execute(to, page{w}); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// page has the methods that the template calls.
type page struct{ FullReport }

// Headline describes the cost of the lists in one line.
func (w FullReport) Headline() string {
	var sum Cost
	servers := 0
	for _, s := range w.Servers {
		if s.Problem == "" {
			sum, servers = sum.Add(s.Cost), servers+1
		}
	}
	for _, s := range w.Surfaces {
		if s.Mode == surface.Legacy && s.Default && s.Total.Tokens > 0 {
			saved := math.Round(100 * (1 - float64(sum.Tokens)/float64(s.Total.Tokens)))
			return fmt.Sprintf("%d tools cost %d tokens, %v %% less than the %d of one tool for each action in full",
				sum.Tools, sum.Tokens, saved, s.Total.Tokens)
		}
	}
	what := fmt.Sprintf("%d tools", sum.Tools)
	if servers != 1 {
		what += fmt.Sprintf(" of %d servers", servers)
	}
	if what += " cost"; sum.Tools == 1 && servers == 1 {
		what = "1 tool costs"
	}
	return fmt.Sprintf("%s %d tokens, %v %% of a window of %d", what, sum.Tokens, share(sum.Tokens, w.Window), w.Window)
}

// colours is the number of distinct colours in a bar.
const colours = 24

// Colours lists the colours for parts of bars.
func (page) Colours() []template.CSS {
	list := make([]template.CSS, colours)
	for i := range list {
		list[i] = template.CSS(fmt.Sprintf("hsl(%d 55%% %d%%)", (210+i*7*360/colours)%360, 40+i%3*14))
	}
	return list
}

// Colour returns the index of a part's colour.
func (page) Colour(i int) int { return i % colours }

// Width returns n in percent of largest.
func (page) Width(n, largest int) float64 {
	return float64(int(10_000*float64(n)/float64(max(largest, 1)))) / 100
}

// IsSum reports whether a total covers more than one server.
func (p page) IsSum(total Total) bool {
	servers := 0
	for _, s := range p.Servers {
		if s.Host == total.Host {
			servers++
		}
	}
	return servers > 1
}

// MostSurface returns the tokens of the largest surface.
func (p page) MostSurface() int {
	return largest(p.Surfaces, func(s Surface) int { return s.Total.Tokens })
}

// MostServer returns the tokens of the largest list.
func (p page) MostServer() int { return largest(p.Servers, func(s Server) int { return s.Tokens }) }

// MostTool returns the tokens of the parts of a server's largest tool.
func (page) MostTool(s Server) int {
	return largest(s.List, func(t ToolCost) int { return t.Parts.Name + t.Parts.Description + t.Parts.Schema })
}

// MostSent returns the most tokens for which a host sends a list.
func (page) MostSent(s Server) int {
	return largest(s.HostCosts, func(sent HostCost) int { return sent.Tokens })
}

// largest returns the largest size in a list; 0 if the list is empty.
func largest[T any](list []T, size func(T) int) (most int) {
	for _, part := range list {
		most = max(most, size(part))
	}
	return most
}

// ByCost lists the tools, most expensive first.
func (s Server) ByCost() []ToolCost {
	list := slices.Clone(s.List)
	slices.SortStableFunc(list, func(a, b ToolCost) int { return b.Tokens - a.Tokens })
	return list
}
