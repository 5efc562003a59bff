package ability

import (
	"context"
	"fmt"
	"slices"
)

// maxLeftOut bounds the left-out abilities in a result.
const maxLeftOut = 20

// Reasons for leaving out an ability that fits the task.
const (
	tooMany = "maxAbilities"
	tooLong = "maxTokens"
)

// choice builds a result. It is offered abilities, best first, and takes those without a conflict
// that fit.
type choice struct {
	in      InjectIn
	library library
	index   *index

	// groups holds the taken abilities: each with those that it requires and that were not taken
	// before.
	groups  [][]Ability
	taken   map[string]InjectedAbility // by id
	tokens  int                        // sum over single texts and separators
	leftOut []LeftOut                  // each ability once, including some that were taken later
	named   map[string]bool            // ids in leftOut
}

// offer takes an ability with all that it requires, or nothing of it. Unavailable requirements are
// reported, but do not prevent it. reason is why it is offered; score is zero if it does not depend
// on the task.
func (c *choice) offer(ctx context.Context, id, reason string, score float64) error {
	if _, in := c.taken[id]; in || ctx.Err() != nil {
		return ctx.Err()
	}
	g := group{choice: c, seen: map[string]bool{}}
	g.collect(id)
	why := c.clash(id, g.members)
	if why == "" && len(c.taken)+len(g.members) > c.in.MaxAbilities {
		why = tooMany
	}
	if why != "" {
		c.leave(LeftOut{AbilityID: id, Reason: why, Score: score})
		return nil
	}
	cost, err := c.cost(g.members)
	if err != nil {
		return fmt.Errorf("counting tokens of %s: %w", id, err)
	}
	if c.tokens+cost > c.in.MaxTokens {
		c.leave(LeftOut{AbilityID: id, Reason: tooLong, Score: score})
		return nil
	}
	c.groups = append(c.groups, g.members)
	c.tokens += cost
	for _, a := range g.members {
		c.taken[a.ID] = InjectedAbility{AbilityID: a.ID, Reason: id + " requires it"}
	}
	c.taken[id] = InjectedAbility{AbilityID: id, Reason: reason, Score: score}
	for _, l := range g.unmet {
		c.leave(l)
	}
	return nil
}

// leave records why an ability is left out. The first reason wins.
func (c *choice) leave(l LeftOut) {
	if !c.named[l.AbilityID] {
		c.named[l.AbilityID] = true
		c.leftOut = append(c.leftOut, l)
	}
}

// clash returns the conflict of an ability or its requirements, with a better ability taken before
// or among themselves, or "".
func (c *choice) clash(id string, members []Ability) string {
	for i, a := range members {
		before := append(slices.Concat(c.groups...), members[:i]...)
		for _, b := range before {
			// A conflict applies in both directions.
			if !slices.Contains(a.Conflicts, b.ID) && !slices.Contains(b.Conflicts, a.ID) {
				continue
			}
			if a.ID == id {
				return "conflicts with " + b.ID
			}
			return fmt.Sprintf("requires %s, which conflicts with %s", a.ID, b.ID)
		}
	}
	return ""
}

// group is an ability with all that it requires, directly or indirectly.
type group struct {
	choice  *choice
	members []Ability // required ones first
	unmet   []LeftOut
	seen    map[string]bool // ends cycles
}

func (g *group) collect(id string) {
	g.seen[id] = true
	a := g.choice.library.abilities[id]
	for _, need := range a.Requires {
		if _, in := g.choice.taken[need]; in || g.seen[need] {
			continue
		}
		if why := g.choice.library.obstacle(need, g.choice.in.AgentID); why != "" {
			g.unmet = append(g.unmet, LeftOut{AbilityID: need, Reason: fmt.Sprintf("%s requires it: %s", id, why)})
			continue
		}
		g.collect(need)
	}
	g.members = append(g.members, a)
}
