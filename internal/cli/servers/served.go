package servers

import (
	"fmt"
	"slices"

	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/surface"
)

// Served counts what serve lists under the options, with what a gateway to other servers knows of these. It starts
// none of them.
func Served(o *settings.Options, g *gateway.Gateway) (doctor.Served, error) {
	families := o.Rights(len(o.Upstreams) > 0).Filter(slices.Concat(o.Families(), g.Families()))
	s, err := doctor.CountServed(surface.List(families, o.SurfaceOptions()), families)
	if err != nil {
		return s, err
	}
	fails := g.Failures()
	unknown := g.Unknown()
	for name, u := range o.Upstreams {
		if set := o.Served(); u.Disabled || set != nil && !set.Has(name) {
			continue
		}
		if _, failed := fails[name]; failed {
			s.Fails = append(s.Fails, name)
		} else if slices.Contains(unknown, name) {
			s.Unasked = append(s.Unasked, name)
		}
		answer, _, known := g.Listed(name)
		if !known {
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
		held, err := g.Held(name)
		if err != nil {
			return s, fmt.Errorf("upstream %s: %w", name, err)
		}
		s.Held += len(held)
	}
	slices.Sort(s.Fails)
	slices.Sort(s.Unasked)
	return s, nil
}
