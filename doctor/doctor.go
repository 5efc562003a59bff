// Package doctor counts what surfaces cost the models that are shown them.
//
// It is not a stable API: see docs/stability.md.
package doctor

import (
	"fmt"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/tokens"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
)

// Method says how tokens are counted; every report carries it.
const Method = "o200k_base tokens of the compact JSON of name, description and inputSchema"

// Cost counts what a list of tools costs a model.
type Cost struct {
	Tools  int `json:"tools"`
	Bytes  int `json:"bytes"`
	Tokens int `json:"tokens"`
}

// Add returns the sum of two costs.
func (c Cost) Add(d Cost) Cost {
	return Cost{c.Tools + d.Tools, c.Bytes + d.Bytes, c.Tokens + d.Tokens}
}

// Family is the part of a surface that one family makes up.
type Family struct {
	Name string `json:"name"`
	Cost
}

// Surface holds the costs of the tools that a client of one mode and level sees.
type Surface struct {
	Mode     surface.Mode `json:"mode"`
	Level    lazy.Level   `json:"level"`
	Default  bool         `json:"default"` // the mode's own level
	Total    Cost         `json:"total"`
	Families []Family     `json:"families"`
}

// Report is the cost of every surface.
type Report struct {
	Method   string    `json:"method"`
	Surfaces []Surface `json:"surfaces"`
	Choices  []Choice  `json:"choices"`
}

// Measure counts every surface of the families.
func Measure(specs []*toolfold.Family) (Report, error) {
	report := Report{Method: Method}
	for _, mode := range surface.Modes() {
		for _, level := range lazy.Levels() {
			s := Surface{Mode: mode, Level: level, Default: level == mode.DefaultLevel()}
			for _, spec := range specs {
				cost, err := Count(surface.List([]*toolfold.Family{spec}, surface.Options{Mode: mode, Level: level}))
				if err != nil {
					return Report{}, err
				}
				s.Families = append(s.Families, Family{spec.Name, cost})
				s.Total = s.Total.Add(cost)
			}
			report.Surfaces = append(report.Surfaces, s)
		}
	}
	var err error
	report.Choices, err = Choices(specs)
	return report, err
}

// Count is the cost of a list.
func Count(list []lazy.Listed) (Cost, error) {
	var total Cost
	for _, l := range list {
		raw, err := ordered.JSON(l)
		if err != nil {
			return Cost{}, fmt.Errorf("encoding %s: %w", l.Name, err)
		}
		cost, err := countText(string(raw))
		if err != nil {
			return Cost{}, err
		}
		total = total.Add(cost)
	}
	return total, nil
}

// countText is the cost of a tool that a model is shown as this text.
func countText(text string) (Cost, error) {
	n, err := tokens.Count(text)
	if err != nil {
		return Cost{}, err
	}
	return Cost{1, len(text), n}, nil
}
