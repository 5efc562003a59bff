package ability

import (
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/tokens"
)

// rule stands between two texts.
const rule = "\n\n---\n\n"

// text is the content as it is put into a result.
func (a Ability) text() string { return strings.Trim(a.Content, "\r\n") }

// heading stands above a text when headings are asked for.
func (a Ability) heading() string {
	if title := a.title(); title != a.ID {
		return "## " + title + " (" + a.ID + ")\n\n"
	}
	return "## " + a.ID + "\n\n"
}

// cost is what abilities add to a result, in tokens.
func (c *choice) cost(abilities []Ability) (int, error) {
	total := 0
	for i, a := range abilities {
		n, err := c.shelf.count(a)
		if err != nil {
			return 0, err
		}
		around := ""
		if i > 0 || len(c.groups) > 0 {
			around = rule
		}
		if c.in.IncludeMetadata {
			around += a.heading()
		}
		extra, err := tokens.Count(around)
		if err != nil {
			return 0, err
		}
		total += n + extra
	}
	return total, nil
}

// finish joins what was taken. Texts can have a token more together than
// apart, so the result is counted, and shortened from its end if it must be.
func (c *choice) finish() (InjectOut, error) {
	for {
		text, ids := c.join()
		count, err := tokens.Count(text)
		if err != nil {
			return InjectOut{}, err
		}
		if count <= c.in.MaxTokens {
			return c.result(text, ids, count), nil
		}
		c.dropLast()
	}
}

// dropLast gives up the group that was taken last: nothing before needs it.
func (c *choice) dropLast() {
	last := c.groups[len(c.groups)-1]
	c.groups = c.groups[:len(c.groups)-1]
	for _, a := range last {
		delete(c.taken, a.ID)
	}
	c.leave(last[len(last)-1].ID, tooLong)
}

func (c *choice) result(text string, ids []string, count int) InjectOut {
	left := slices.DeleteFunc(c.leftOut, func(l LeftOut) bool { return c.taken[l.AbilityID] })
	return InjectOut{
		AgentID: c.in.AgentID, InjectedAbilities: ids, CombinedContent: text, TokenCount: count,
		Truncated: slices.ContainsFunc(left, func(l LeftOut) bool { return l.Reason == tooLong }),
		LeftOut:   left[:min(len(left), maxLeftOut)],
	}
}

func (c *choice) join() (text string, ids []string) {
	ids = []string{}
	var parts []string
	for _, group := range c.groups {
		for _, a := range group {
			ids = append(ids, a.ID)
			part := a.text()
			if c.in.IncludeMetadata {
				part = strings.TrimRight(a.heading()+part, "\n")
			}
			if part != "" {
				parts = append(parts, part)
			}
		}
	}
	return strings.Join(parts, rule), ids
}
