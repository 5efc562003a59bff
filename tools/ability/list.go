package ability

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/workspace"
)

// List lists abilities, one page at a time.
func (s *Service) List(ctx context.Context, in ListIn) (ListOut, error) {
	after, err := parseCursor(in.Cursor)
	if err != nil {
		return ListOut{}, err
	}
	l, err := s.library(ctx)
	if err != nil {
		return ListOut{}, err
	}
	out := ListOut{Abilities: []Item{}}
	if after == nil { // only on the first page
		out.Broken = workspace.Brief(Folder, l.broken)
	}
	list := slices.DeleteFunc(l.sort(), func(a Ability) bool {
		tagged := len(in.Tags) == 0 || slices.ContainsFunc(in.Tags, func(tag string) bool { return slices.Contains(a.Tags, tag) })
		return !tagged || in.Category != "" && in.Category != a.Category || in.Enabled != nil && *in.Enabled != a.Enabled
	})
	out.Total = len(list)
	list = slices.DeleteFunc(list, func(a Ability) bool { return after != nil && byPriority(a, *after) <= 0 })
	list, out.Paged = toolfold.CutPage(list, in.Limit, func(last Ability) string {
		return toolfold.CursorOf(strconv.Itoa(last.Priority) + " " + last.ID)
	})
	for _, a := range list {
		out.Abilities = append(out.Abilities, Item{
			AbilityID: a.ID, DisplayName: a.DisplayName, Description: callctx.Brief(ctx, "abilities.description", a.Description),
			Category: a.Category, Tags: a.Tags, Priority: a.Priority, Enabled: a.Enabled, Trusted: s.workspace.Mark(a.Source),
		})
	}
	return out, nil
}

// sort returns the abilities, highest priority first.
func (l library) sort() []Ability {
	list := make([]Ability, 0, len(l.abilities))
	for _, a := range l.abilities {
		list = append(list, a)
	}
	slices.SortFunc(list, byPriority)
	return list
}

func byPriority(a, b Ability) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.ID, b.ID))
}

// parseCursor parses a cursor of List into an Ability with the priority and id of a page's last
// ability. It returns nil for an empty cursor.
func parseCursor(text string) (*Ability, error) {
	if text == "" {
		return nil, nil
	}
	key, err := toolfold.Page{Cursor: text}.After("ability.list")
	number, id, _ := strings.Cut(key, " ")
	n, notNumber := strconv.Atoi(number)
	if err != nil || notNumber != nil || misnamed(id) != "" {
		return nil, &toolfold.Error{Code: toolfold.InvalidInput, Problems: []toolfold.Problem{{
			Path: "/cursor", Kind: toolfold.ProblemFormat, Want: "nextCursor of ability.list",
		}}}
	}
	return &Ability{ID: id, Priority: n}, nil
}
