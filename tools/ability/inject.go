package ability

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/run/workspace"
)

// boost is the share by which the highest priority raises relevance, and the lowest lowers it,
// among sufficiently relevant abilities.
const boost = 0.15

// everybody means all agents in applicableTo and excludeFrom.
const everybody = "*"

// Inject joins the texts that fit an agent's task. In an untrusted workspace, files are neither
// injected nor ranked.
func (s *Service) Inject(ctx context.Context, in InjectIn) (InjectOut, error) {
	l, err := s.library(ctx)
	if err != nil {
		return InjectOut{}, err
	}
	if !s.workspace.IsTrusted() {
		l.untrusted = map[string]Ability{}
		for id, a := range l.abilities {
			if a.Source == workspace.InFile {
				l.untrusted[id] = a
				delete(l.abilities, id)
			}
		}
	}
	c := &choice{in: in, library: l, index: s.index, taken: map[string]InjectedAbility{}, named: map[string]bool{}}
	for _, id := range in.CoreAbilities {
		if why := l.obstacle(id, in.AgentID); why != "" {
			c.leave(LeftOut{AbilityID: id, Reason: why})
			continue
		}
		if err := c.offer(ctx, id, "core", 0); err != nil {
			return InjectOut{}, err
		}
	}
	if strings.TrimSpace(in.Task) == "" {
		for _, a := range l.sort() {
			if l.obstacle(a.ID, in.AgentID) != "" {
				continue
			}
			if err := c.offer(ctx, a.ID, "priority", 0); err != nil {
				return InjectOut{}, err
			}
		}
	}
	fitting, near := relevant(l, in.AgentID, s.index.find(l, in.Task))
	for _, h := range fitting {
		if err := c.offer(ctx, h.id, "task: "+strings.Join(h.words, ", "), h.score()); err != nil {
			return InjectOut{}, err
		}
	}
	for _, h := range near {
		why := "fits too little: "
		if h.worth >= threshold {
			why = "others fit better: "
		}
		c.leave(LeftOut{AbilityID: h.id, Reason: why + strings.Join(h.words, ", "), Score: h.score()})
	}
	for _, id := range slices.Sorted(maps.Keys(l.untrusted)) {
		if a := l.untrusted[id]; a.Enabled && a.isFor(in.AgentID) {
			c.leave(LeftOut{AbilityID: id, Reason: l.obstacle(id, in.AgentID)})
		}
	}
	out, err := c.finish()
	if err != nil {
		return InjectOut{}, fmt.Errorf("joining abilities: %w", err)
	}
	return out, nil
}

// maxNear bounds the nearly fitting abilities in a result.
const maxNear = 3

// relevant returns the abilities available to an agent that fit its task, best first. near holds
// the best of those that fit too little, or clearly less than another. hits are the abilities that
// share words with the task.
func relevant(l library, agent string, hits []hit) (fitting, near []hit) {
	hits = slices.DeleteFunc(hits, func(h hit) bool { return l.obstacle(h.id, agent) != "" })
	for _, h := range hits {
		switch {
		case h.worth >= threshold && h.place >= nearness*hits[0].place:
			fitting = append(fitting, h)
		case h.worth >= threshold/2 && len(near) < maxNear:
			near = append(near, h)
		}
	}
	worth := func(h hit) float64 { return h.place * (1 + boost*float64(l.abilities[h.id].Priority-50)/50) }
	slices.SortFunc(fitting, func(a, b hit) int {
		return cmp.Or(cmp.Compare(worth(b), worth(a)), byPriority(l.abilities[a.id], l.abilities[b.id]))
	})
	return fitting, near
}

// obstacle returns why an ability is not available to an agent, or "".
func (l library) obstacle(id, agent string) string {
	a, there := l.abilities[id]
	if _, untrusted := l.untrusted[id]; untrusted {
		return "the user has not trusted the workspace that it is a file of"
	}
	if _, spoilt := l.faultOf(id); !there && spoilt {
		return "its file is broken, see ability.list"
	}
	switch {
	case !there:
		return "there is no such ability"
	case !a.Enabled:
		return "disabled"
	case !a.isFor(agent):
		return "not for this agent"
	}
	return ""
}

// isFor reports whether the ability is for an agent.
func (a Ability) isFor(agent string) bool {
	in := func(agents []string) bool {
		return slices.Contains(agents, agent) || slices.Contains(agents, everybody)
	}
	return !in(a.ExcludeFrom) && (len(a.ApplicableTo) == 0 || in(a.ApplicableTo))
}
