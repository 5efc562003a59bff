package ability

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/rank"
	"github.com/toolfold/toolfold/internal/workspace"
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

// Inject joins the texts that fit an agent's task. Those of files are left
// out, and out of the ranking, where the workspace is not trusted.
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
	hits := s.index.find(l, in.Task)
	c := &choice{in: in, library: l, index: s.index, taken: map[string]bool{}, named: map[string]bool{}}
	for _, id := range in.CoreAbilities {
		if why := l.obstacle(id, in.AgentID); why != "" {
			c.leave(id, why)
			continue
		}
		if err := c.offer(ctx, id); err != nil {
			return InjectOut{}, err
		}
	}
	fitting := relevant(l, in.AgentID, hits)
	if strings.TrimSpace(in.Task) == "" {
		fitting = slices.DeleteFunc(l.sorted(), func(a Ability) bool { return l.obstacle(a.ID, in.AgentID) != "" })
	}
	for _, a := range fitting {
		if err := c.offer(ctx, a.ID); err != nil {
			return InjectOut{}, err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(l.untrusted)) {
		if a := l.untrusted[id]; a.Enabled && a.isFor(in.AgentID) {
			c.leave(id, l.obstacle(id, in.AgentID))
		}
	}
	out, err := c.finish()
	if err != nil {
		return InjectOut{}, fmt.Errorf("joining abilities: %w", err)
	}
	return out, nil
}

// relevant lists the abilities that an agent may have and that fit its task,
// best first. Hits are the abilities that have words of the task.
func relevant(l library, agent string, hits []rank.Hit) []Ability {
	hits = slices.DeleteFunc(hits, func(h rank.Hit) bool { return l.obstacle(h.ID, agent) != "" })
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
	if _, kept := l.untrusted[id]; kept {
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

// isFor reports whether an agent may have the ability.
func (a Ability) isFor(agent string) bool {
	in := func(agents []string) bool {
		return slices.Contains(agents, agent) || slices.Contains(agents, everybody)
	}
	return !in(a.ExcludeFrom) && (len(a.ApplicableTo) == 0 || in(a.ApplicableTo))
}
