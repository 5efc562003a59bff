package doctor

import (
	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
)

// Choice is the cost of the consolidated tools with a level, a tier and a fold.
type Choice struct {
	Level lazy.Level       `json:"level"`
	Tier  string           `json:"tier"`
	Fold  consolidate.Fold `json:"fold"`
	Total Cost             `json:"total"`
}

// Choices counts the consolidated tools of the families at every level: for each tier, split by
// effect, and one per action.
func Choices(families []*toolfold.Family) ([]Choice, error) {
	var list []Choice
	for _, o := range []surface.Options{
		{Tier: toolfold.Core}, {Tier: toolfold.Standard}, {Tier: toolfold.Extended}, {Tier: toolfold.Extended, Fold: consolidate.ByEffect},
		{Tier: toolfold.Extended, Fold: consolidate.None},
	} {
		if o.Fold == "" {
			o.Fold = consolidate.ByFamily
		}
		for _, level := range lazy.Levels() {
			o.Level = level
			cost, err := Count(surface.List(families, o))
			if err != nil {
				return nil, err
			}
			list = append(list, Choice{level, o.Tier.String(), o.Fold, cost})
		}
	}
	return list, nil
}
