package docs

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/system/target"
)

// capturesText is written by e2e/agents/capture.js: make hosts.
//
//go:embed captures.json
var capturesText []byte

// capture holds the costs of one agent, in one way of working, for every candidate.
type capture struct {
	Version  string           `json:"version"`
	Kind     target.Kind      `json:"kind"`
	Surfaces []candidateCosts `json:"surfaces"`
}

// candidateCosts holds the costs for one candidate.
type candidateCosts struct {
	Options []string `json:"options"` // of serve
	Rounds  []*int   `json:"rounds"`  // by task; null without a correct result
	Total   *int     `json:"total"`
	Start   amount   `json:"start"` // bytes and tokens sent for toolfold before the first call
	End     amount   `json:"end"`   // bytes and tokens sent for toolfold in total
	Typed   *bool    `json:"typed"` // whether functions had typed results; null without functions
}

type amount struct {
	Bytes  int `json:"bytes"`
	Tokens int `json:"tokens"`
}

// name returns the options as the name of a row.
func (c candidateCosts) name() string { return strings.Join(c.Options, " ") }

// captures parses the file.
func captures() (map[string]capture, error) {
	var all map[string]capture
	if err := json.Unmarshal(capturesText, &all); err != nil {
		return nil, fmt.Errorf("captures: %w", err)
	}
	return all, nil
}

// best returns the candidate with the fewest rounds in total, then the fewest bytes. Byte counts that
// differ by less than half a percent count as equal, because ids and times differ; the first one wins.
// A candidate must have a correct result for all tasks in all captures.
func best(all []capture) candidateCosts {
	var found candidateCosts
	rounds, bytes := 0, 0
	for _, candidate := range all[0].Surfaces {
		r, b, counts := 0, 0, true
		for _, c := range all {
			i := slices.IndexFunc(c.Surfaces, func(s candidateCosts) bool { return s.name() == candidate.name() })
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

// bestTable returns a table of the rounds and tokens of each host on its best candidate.
func bestTable(all map[string]capture) string {
	var b strings.Builder
	b.WriteString("| host | version | kind | fewest rounds with | rounds | before the first call | in all | results |\n" +
		"|---|---|---|---|---|---:|---:|---|\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
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
	}
	return b.String()
}

// candidatesTable returns a table of the rounds and bytes of each host on every candidate.
func candidatesTable(all map[string]capture) string {
	names := slices.Sorted(maps.Keys(all))
	var candidates []string
	for _, name := range names {
		for _, s := range all[name].Surfaces {
			if !slices.Contains(candidates, s.name()) {
				candidates = append(candidates, s.name())
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| rounds and kB in all | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("---:|", len(names)))
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
	return b.String()
}

// String formats an amount for the tables.
func (a amount) String() string { return fmt.Sprintf("%d B, %d tokens", a.Bytes, a.Tokens) }
