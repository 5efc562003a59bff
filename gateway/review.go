package gateway

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway/fold"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/unseen"
	"github.com/toolfold/toolfold/upstream"
)

// errUnknown is returned for a server that has not listed its tools yet.
var errUnknown = errors.New("it has not listed its tools yet")

// HeldTool is a tool that waits for approval. An empty name stands for the title and instructions of
// the server.
type HeldTool struct {
	Name  string
	Now   json.RawMessage // current definition, as the server sends it
	Was   json.RawMessage // accepted definition; nil for a new tool
	Flags []string        // suspicious texts for the user to look at

	Rejected bool // the user has rejected this definition

	digest string // of Now
}

// DigestOf returns a digest of the current definitions of tools that wait for approval.
func DigestOf(tools []HeldTool) string {
	var shown [][2]string
	for _, h := range tools {
		shown = append(shown, [2]string{h.Name, h.digest})
	}
	slices.SortFunc(shown, func(a, b [2]string) int { return cmp.Compare(a[0], b[0]) })
	return sumOf(ordered.MustJSON(shown))[:32]
}

// HeldTools lists the tools of a server that wait for approval, also those that the user has rejected.
func (g *Gateway) HeldTools(server string) ([]HeldTool, error) {
	l, err := g.link(server)
	if err != nil {
		return nil, err
	}
	others := l.otherNames()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.record.Tools == nil {
		return nil, errUnknown
	}
	var list []HeldTool
	for _, d := range l.record.pins() {
		if l.record.Accepted[d.Name] != d.digest {
			list = append(list, HeldTool{
				Name: d.Name, Now: d.raw, Was: l.record.Before[d.Name], Flags: flags(d, others), Rejected: l.record.rejects(d), digest: d.digest,
			})
		}
	}
	return list, nil
}

// Withheld returns the error for a call of a known tool that is not offered: it waits for approval, is
// no longer listed, or its server is switched off. It is nil for other names, and for tools outside of
// within.
func (g *Gateway) Withheld(name string, within *toolfold.Rights) *toolfold.Error {
	for _, l := range g.links {
		l.mu.Lock()
		k := l.record
		l.mu.Unlock()
		tool := k.Plan.Tool(l.Name, name)
		at := slices.IndexFunc(k.definitions, func(d definition) bool { return d.Name == tool })
		switch {
		case tool == "" || k.Tools == nil:
			continue
		case !within.Allow(&toolfold.Action{Family: &toolfold.Family{Name: l.Name, Server: l.Name}, Aliases: l.aliases(tool)}):
			continue
		case l.isOff():
			return l.switchedOff(name)
		case at < 0:
			return toolfold.Errorf(toolfold.UpstreamError, "%s: the server %s no longer lists it", shorten.Quoted(name), l.Name).
				WithHint("use tools.find to find another tool")
		case k.Accepted[tool] != k.definitions[at].digest && k.rejects(k.definitions[at]):
			return toolfold.Errorf(toolfold.UpstreamError, "%s is held back: the user has rejected it as the server %s lists it",
				shorten.Quoted(name), l.Name).WithHint("use tools.find to find another tool")
		case k.Accepted[tool] != k.definitions[at].digest:
			did := "has added it"
			if k.Accepted[tool] != "" {
				did = "has changed it since it was accepted"
			}
			return toolfold.Errorf(toolfold.UpstreamError, "%s is held back: the server %s %s", shorten.Quoted(name), l.Name, did).
				WithHint("ask the user to review it: toolfold upstream approve %s", l.Name)
		}
	}
	return nil
}

// Listing returns the last lists of a server and the families made of them; false if it never listed
// anything.
func (g *Gateway) Listing(server string) (answer upstream.Answer, families []*toolfold.Family, known bool) {
	l, err := g.link(server)
	if err != nil || !l.hasTools() {
		return answer, nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.off {
		families = slices.Clone(l.families)
	}
	return l.record.answer(l.Name), families, true
}

// OfferItem is a prompt, a resource or a template of a server.
type OfferItem struct {
	Kind  string // prompt, resource or template
	Name  string // of the server; for resources the URI
	Flags []string
	raw   json.RawMessage
}

// Offers lists the prompts, resources and templates of a server that the user's patterns allow.
func (g *Gateway) Offers(server string) (all []OfferItem) {
	l, err := g.link(server)
	if err != nil {
		return nil
	}
	offer := l.offering()
	for _, list := range []struct {
		kind    string
		entries []entry
	}{{promptKind, offer.prompts}, {resourceKind, offer.resources}, {"template", offer.templates}} {
		for _, e := range list.entries {
			var value any
			_ = json.Unmarshal(e.raw, &value) // valid: it was parsed before
			all = append(all, OfferItem{list.kind, e.name, flagsOf(strings.Join(texts(value), "\n")), e.raw})
		}
	}
	return all
}

// Differences lists the entries that are new, have changed or are gone since before, and suspicious texts
// for the user to look at.
func Differences(before, now []OfferItem) (lines []string) {
	same := func(o OfferItem) func(OfferItem) bool {
		return func(other OfferItem) bool { return other.Kind == o.Kind && other.Name == o.Name }
	}
	for _, o := range now {
		what := o.Kind + " " + shorten.Quoted(unseen.Removed(o.Name))
		switch at := slices.IndexFunc(before, same(o)); {
		case at < 0:
			lines = append(lines, what+" is new")
		case identityOf(before[at].raw) != identityOf(o.raw): // ignores blanks between values
			lines = append(lines, what+" has changed")
		}
		for _, flag := range o.Flags {
			lines = append(lines, what+" has "+flag)
		}
	}
	for _, o := range before {
		if !slices.ContainsFunc(now, same(o)) {
			lines = append(lines, o.Kind+" "+shorten.Quoted(unseen.Removed(o.Name))+" is gone")
		}
	}
	return lines
}

// ErrPlanChanged is the error of [Gateway.UsePlan] if the plan is not the one that the user has changed.
var ErrPlanChanged = errors.New("the plan has changed since")

// PlanDigest returns the digest of a plan.
func PlanDigest(plan fold.Plan) string { return sumOf(ordered.MustJSON(plan))[:32] }

// UsePlan folds the tools of a server by a user's plan. It fails, and changes nothing, if a tool is not
// exactly one action or a name is in use, see [fold.Plan.Check]. from is the digest of the plan that the user has
// changed; empty replaces any plan.
func (g *Gateway) UsePlan(server string, plan fold.Plan, from string) error {
	l, err := g.link(server)
	if err != nil {
		return err
	}
	if !l.hasTools() {
		return errUnknown
	}
	return l.planAs(plan, g.nameInUse(l), from)
}

// PlanWith returns the families that a user's plan would make of a server's tools. It fails as UsePlan does, and
// changes nothing.
func (g *Gateway) PlanWith(server string, plan fold.Plan) ([]*toolfold.Family, error) {
	l, err := g.link(server)
	if err != nil {
		return nil, err
	}
	if !l.hasTools() {
		return nil, errUnknown
	}
	k := l.current(g.life).record
	if err := plan.Check(k.tools(), g.nameInUse(l)); err != nil {
		return nil, err
	}
	k.Plan = plan
	return l.build(g.life, k)
}

// NewPlan returns the plan that [Gateway.Replan] would use for a server's tools, and changes nothing.
func (g *Gateway) NewPlan(server string) (fold.Plan, error) {
	l, err := g.link(server)
	if err != nil {
		return fold.Plan{}, err
	}
	if !l.hasTools() {
		return fold.Plan{}, errUnknown
	}
	return fold.Make(fold.Server{Name: l.Name, Alone: l.Alone, NameInUse: g.nameInUse(l)}, l.current(g.life).tools()), nil
}

// Replan makes a new plan for a server's tools, as if it were added now, and returns it. Names may
// change.
func (g *Gateway) Replan(server string) (fold.Plan, error) {
	l, err := g.link(server)
	if err != nil {
		return fold.Plan{}, err
	}
	if !l.hasTools() {
		return fold.Plan{}, errUnknown
	}
	if err := l.planAs(fold.Plan{}, nil, ""); err != nil {
		return fold.Plan{}, err
	}
	return l.currentPlan(), nil
}

// planAs folds the tools by a plan, after adding missing tools. If taken is not nil, the plan must be
// complete and use only free names. If from is not empty, it must be the digest of the present plan.
func (l *link) planAs(plan fold.Plan, taken func(string) bool, from string) error {
	if err := l.replan(plan, taken, from); err != nil {
		return err
	}
	l.gateway.tell()
	return nil
}

func (l *link) replan(plan fold.Plan, taken func(string) bool, from string) error {
	return l.change(l.gateway.life, mustSave, func(k *record) error {
		if from != "" && PlanDigest(k.Plan) != from {
			return ErrPlanChanged
		}
		if taken != nil {
			if err := plan.Check(k.tools(), taken); err != nil {
				return err
			}
		}
		k.Plan = plan
		return nil
	})
}

// changedOnDisk reports whether the record's file has changed since it was last read.
func (l *link) changedOnDisk() bool {
	info, err := os.Stat(filepath.Join(l.gateway.options.Dir, l.file()))
	l.mu.Lock()
	defer l.mu.Unlock()
	return err == nil && !info.ModTime().Equal(l.readOf)
}
