package ability

import (
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/tokens"
)

// rule separates two texts.
const rule = "\n\n---\n\n"

// text returns the content for a result.
func (a Ability) text() string { return strings.Trim(a.Content, "\r\n") }

// above returns the lines before a text: a heading if metadata is requested, and the file's path if
// the text is from the workspace. The author of such a file need not be the user.
func (c *choice) above(a Ability) string {
	heading := ""
	if c.in.IncludeMetadata {
		heading = "## " + a.ID + "\n\n"
		if title := a.title(); title != a.ID {
			heading = "## " + title + " (" + a.ID + ")\n\n"
		}
	}
	if a.File != "" {
		heading += "(From the workspace file " + a.File + ")\n\n"
	}
	return heading
}

// cost returns the tokens that abilities add to a result.
func (c *choice) cost(abilities []Ability) (int, error) {
	total := 0
	for i, a := range abilities {
		n, err := c.index.count(a)
		if err != nil {
			return 0, err
		}
		around := ""
		if i > 0 || len(c.groups) > 0 {
			around = rule
		}
		around += c.above(a)
		extra, err := tokens.Count(around)
		if err != nil {
			return 0, err
		}
		total += n + extra
	}
	return total, nil
}

// finish joins the taken texts. The joined text may have slightly more tokens than its parts, so it
// is counted, and its last groups are dropped if necessary.
func (c *choice) finish() (InjectOut, error) {
	for {
		text, ids := c.join()
		count, err := tokens.Count(text)
		if err != nil {
			return InjectOut{}, err
		}
		if count <= c.in.MaxTokens {
			left := slices.DeleteFunc(c.leftOut, func(l LeftOut) bool {
				_, in := c.taken[l.AbilityID]
				return in
			})
			injected := make([]InjectedAbility, len(ids))
			for i, id := range ids {
				injected[i] = c.taken[id]
				if injected[i].Tokens, err = c.index.count(c.library.abilities[id]); err != nil {
					return InjectOut{}, err
				}
			}
			return InjectOut{
				AgentID: c.in.AgentID, InjectedAbilities: ids, Injected: injected, CombinedContent: text, TokenCount: count,
				Truncated: slices.ContainsFunc(left, func(l LeftOut) bool { return l.Reason == tooLong }),
				LeftOut:   left[:min(len(left), maxLeftOut)],
			}, nil
		}
		// Earlier groups do not need the last one.
		last := c.groups[len(c.groups)-1]
		c.groups = c.groups[:len(c.groups)-1]
		for _, a := range last {
			delete(c.taken, a.ID)
		}
		c.leave(LeftOut{AbilityID: last[len(last)-1].ID, Reason: tooLong})
	}
}

func (c *choice) join() (text string, ids []string) {
	ids = []string{}
	var parts []string
	for _, group := range c.groups {
		for _, a := range group {
			ids = append(ids, a.ID)
			part := a.text()
			if part != "" || c.in.IncludeMetadata {
				part = strings.TrimRight(c.above(a)+part, "\n")
			}
			if part != "" {
				parts = append(parts, part)
			}
		}
	}
	return strings.Join(parts, rule), ids
}
