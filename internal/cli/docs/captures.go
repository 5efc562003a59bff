package docs

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/system/hosts"
)

// capturesText is written by e2e/agents/capture.js: make hosts.
//
//go:embed captures.json
var capturesText []byte

// capture holds the costs of one agent, in one way to work, on every candidate.
type capture struct {
	Version  string     `json:"version"`
	Kind     hosts.Kind `json:"kind"`
	Surfaces []captured `json:"surfaces"`
}

// captured holds its costs on one candidate.
type captured struct {
	Options []string `json:"options"` // of serve
	Rounds  []*int   `json:"rounds"`  // by task; null where none led to the right result
	Total   *int     `json:"total"`
	Start   amount   `json:"start"` // what the agent sent of toolfold before the first call
	End     amount   `json:"end"`   // what it had sent when all was done
	Typed   *bool    `json:"typed"` // whether functions had types of results; null where there are no functions
}

type amount struct {
	Bytes  int `json:"bytes"`
	Tokens int `json:"tokens"`
}

// name returns the options as a row names them.
func (c captured) name() string { return strings.Join(c.Options, " ") }

// captures reads the file.
func captures() (map[string]capture, error) {
	var all map[string]capture
	if err := json.Unmarshal(capturesText, &all); err != nil {
		return nil, fmt.Errorf("captures: %w", err)
	}
	return all, nil
}

// best returns the candidate with the fewest rounds, and of these the fewest bytes,
// over some captures; the first of equal ones, as those are whose bytes differ by less
// than half a percent: ids and times do. A candidate counts where all tasks came to a
// right result on all of them.
func best(all []capture) captured {
	var found captured
	rounds, bytes := 0, 0
	for _, candidate := range all[0].Surfaces {
		r, b, counts := 0, 0, true
		for _, c := range all {
			i := slices.IndexFunc(c.Surfaces, func(s captured) bool { return s.name() == candidate.name() })
			if counts = counts && i >= 0 && c.Surfaces[i].Total != nil; counts {
				r, b = r+*c.Surfaces[i].Total, b+c.Surfaces[i].End.Bytes
			}
		}
		if counts && (found.Options == nil || r < rounds || r == rounds && b < bytes-bytes/200) {
			found, rounds, bytes = candidate, r, b
		}
	}
	return found
}

// captureTables returns the captures as tables in Markdown: what each host took on
// its best candidate, and rounds and bytes of all.
func captureTables() (string, error) {
	all, err := captures()
	if err != nil {
		return "", err
	}
	names := slices.Sorted(maps.Keys(all))
	var b strings.Builder
	b.WriteString("| host | version | kind | fewest rounds with | rounds | before the first call | when all is done | results |\n" +
		"|---|---|---|---|---|---:|---:|---|\n")
	var candidates []string
	for _, name := range names {
		c := all[name]
		row := best([]capture{c})
		var rounds []string
		for _, n := range row.Rounds {
			rounds = append(rounds, fmt.Sprint(*n))
		}
		typed := ""
		if row.Typed != nil {
			typed = map[bool]string{true: "typed", false: "`unknown`"}[*row.Typed]
		}
		fmt.Fprintf(&b, "| %s | %s | %s | `%s` | %s | %s | %s | %s |\n", name, c.Version, c.Kind, row.name(), strings.Join(rounds, " "),
			row.Start, row.End, typed)
		for _, s := range c.Surfaces {
			if !slices.Contains(candidates, s.name()) {
				candidates = append(candidates, s.name())
			}
		}
	}
	fmt.Fprintf(&b, "\n| rounds and kB when all is done | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("---:|", len(names)))
	for _, candidate := range candidates {
		fmt.Fprintf(&b, "| `%s` |", candidate)
		for _, name := range names {
			cell := " "
			for _, s := range all[name].Surfaces {
				if s.name() == candidate {
					if cell = " – "; s.Total != nil {
						cell = fmt.Sprintf(" %d · %.1f ", *s.Total, float64(s.End.Bytes)/1000)
					}
				}
			}
			fmt.Fprintf(&b, "%s|", cell)
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

// String says it as the tables do.
func (a amount) String() string { return fmt.Sprintf("%d B, %d tokens", a.Bytes, a.Tokens) }
