// Package doctor counts the cost of tool lists for models.
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

// Method describes how tokens are counted; every report contains it.
const Method = "o200k_base tokens of the compact JSON of name, description and inputSchema"

// Cost is the cost of a tool list for a model.
type Cost struct {
	Tools  int `json:"tools"`
	Bytes  int `json:"bytes"`
	Tokens int `json:"tokens"`
}

// Add returns the sum of two costs.
func (c Cost) Add(d Cost) Cost {
	return Cost{c.Tools + d.Tools, c.Bytes + d.Bytes, c.Tokens + d.Tokens}
}

// Family is the part of a surface that belongs to one family.
type Family struct {
	Name string `json:"name"`
	Cost
}

// Surface holds the costs of the tools for one mode and level.
type Surface struct {
	Mode     surface.Mode `json:"mode"`
	Level    lazy.Level   `json:"level"`
	Default  bool         `json:"default"` // the mode's default level
	Total    Cost         `json:"total"`
	Families []Family     `json:"families"`
}

// Report holds the costs of every surface.
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

// Count returns the cost of a list.
func Count(list []lazy.ListedTool) (Cost, error) {
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

// countText returns the cost of a tool with this definition.
func countText(text string) (Cost, error) {
	n, err := tokens.Count(text)
	if err != nil {
		return Cost{}, err
	}
	return Cost{1, len(text), n}, nil
}
