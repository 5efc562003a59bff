// Package docs has the migration guide. Its tests render the reference pages from the declarations, and
// keep those in docs up to date; with -update they write them.
package docs

import (
	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/migration"
	"github.com/toolfold/toolfold/surface"
)

// Guide returns the migration guide, with the costs of the folds.
func Guide(specs []*toolfold.Family) (*migration.Guide, error) {
	var costs migration.Costs
	for fold, tokens := range map[consolidate.Fold]*int{consolidate.ByFamily: &costs.Family, consolidate.ByEffect: &costs.Effect,
		consolidate.None: &costs.None} {
		cost, err := doctor.Count(surface.List(specs, surface.Options{Fold: fold}))
		if err != nil {
			return nil, err
		}
		*tokens = cost.Tokens
	}
	return migration.NewGuide(specs, costs)
}
