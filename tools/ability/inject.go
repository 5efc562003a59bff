package ability

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/rank"
)

// An ability is put in unasked when its relevance reaches threshold, so that a
// task that no ability is for gets none, and is near enough to the best one's,
// so that a task with a clear answer gets no chance finds besides. Both were
// chosen on testdata/tasks.txt, where a tenth up or down changes little. Among
// ten times as many abilities of other subjects the best for a task that none
// is for reached 0.41.
const (
	threshold = 0.36
	nearness  = 0.75
)

// boost is the share by which the highest priority raises relevance, and the
// lowest lowers it, among abilities that are relevant enough.
const boost = 0.15

// everybody stands for all agents in applicableTo and excludeFrom.
const everybody = "*"

// Inject joins the texts that fit an agent's task.
func (s *Service) Inject(ctx context.Context, in InjectIn) (InjectOut, error) {
	l, err := s.library(ctx)
	if err != nil {
		return InjectOut{}, err
	}
	s.shelf.hold(l)
	c := newChoice(s.shelf, l, in)
	for _, id := range in.CoreAbilities {
		if why := l.obstacle(id, in.AgentID); why != "" {
			c.leave(id, why)
			continue
		}
		if err := c.offer(ctx, id); err != nil {
			return InjectOut{}, err
		}
	}
	for _, id := range s.fitting(l, in) {
		if err := c.offer(ctx, id); err != nil {
			return InjectOut{}, err
		}
	}
	out, err := c.finish()
	if err != nil {
		return InjectOut{}, fmt.Errorf("joining abilities: %w", err)
	}
	return out, nil
}

// fitting lists the abilities that an agent may have and that fit its task,
// best first. Without a task all of them fit, by priority.
func (s *Service) fitting(l library, in InjectIn) []string {
	var list []Ability
	if strings.TrimSpace(in.Task) == "" {
		list = slices.DeleteFunc(l.sorted(), func(a Ability) bool { return l.obstacle(a.ID, in.AgentID) != "" })
	} else {
		list = s.relevant(l, in)
	}
	ids := make([]string, len(list))
	for i, a := range list {
		ids[i] = a.ID
	}
	return ids
}

// relevant lists those that an agent may have and that fit its task, best
// first.
func (s *Service) relevant(l library, in InjectIn) []Ability {
	hits := s.shelf.find(l, in.Task)
	hits = slices.DeleteFunc(hits, func(h rank.Hit) bool { return l.obstacle(h.ID, in.AgentID) != "" })
	worth := map[string]float64{}
	var list []Ability
	for _, hit := range hits {
		if hit.Score < max(threshold, nearness*hits[0].Score) {
			break
		}
		a := l.abilities[hit.ID]
		worth[a.ID] = hit.Score * (1 + boost*float64(a.Priority-50)/50)
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b Ability) int {
		return cmp.Or(cmp.Compare(worth[b.ID], worth[a.ID]), byPriority(a, b))
	})
	return list
}

// obstacle says why an agent cannot have an ability, empty when it can.
func (l library) obstacle(id, agent string) string {
	a, there := l.abilities[id]
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

// isFor tells whether an agent may have the ability.
func (a Ability) isFor(agent string) bool {
	in := func(agents []string) bool {
		return slices.Contains(agents, agent) || slices.Contains(agents, everybody)
	}
	return !in(a.ExcludeFrom) && (len(a.ApplicableTo) == 0 || in(a.ApplicableTo))
}
