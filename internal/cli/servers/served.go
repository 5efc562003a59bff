package servers

import (
	"fmt"
	"slices"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/surface"
)

// SurfaceCost counts the list that serve offers under the options. g is the gateway to the other servers, or
// nil. It starts no server.
func SurfaceCost(o *settings.Options, g *gateway.Gateway) (doctor.SurfaceCost, error) {
	families := o.Families()
	if g != nil {
		families = slices.Concat(families, g.Families())
	}
	families = o.Rights(g != nil).Filter(families)
	s, err := doctor.CountSurface(surface.List(families, o.SurfaceOptions()), families)
	if err != nil || g == nil {
		return s, err
	}
	s.Set = o.Set
	fails, unknown := g.Failures(), g.Unknown()
	for _, name := range g.Names() {
		if o.Lacks(name) != "" {
			continue
		}
		if _, failed := fails[name]; failed {
			s.Fails = append(s.Fails, name)
		} else if slices.Contains(unknown, name) {
			s.Unasked = append(s.Unasked, name)
		}
		answer, _, known := g.Listing(name)
		if !known {
			continue
		}
		tools, err := g.HeldTools(name)
		if err != nil {
			return s, fmt.Errorf("upstream %s: %w", name, err)
		}
		s.HeldTools += len(tools)
		if !slices.ContainsFunc(families, func(f *toolfold.Family) bool { return f.Server == name && len(f.Actions) > 0 }) {
			continue
		}
		l, err := ListOf(answer)
		if err != nil {
			return s, fmt.Errorf("upstream %s: %w", name, err)
		}
		cost, err := doctor.CostOf(l)
		if err != nil {
			return s, fmt.Errorf("upstream %s: %w", name, err)
		}
		if s.Raw == nil {
			s.Raw = &doctor.Cost{}
		}
		*s.Raw = s.Raw.Add(cost)
	}
	slices.Sort(s.Fails)
	slices.Sort(s.Unasked)
	return s, nil
}
