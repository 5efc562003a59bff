package toolfold

import (
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/pattern"
)

// Matches reports whether a pattern matches the action under any of its names, as in deny rules. In
// a pattern, * stands for any characters.
func (a *Action) Matches(text string) bool {
	return slices.ContainsFunc(a.Names(), pattern.Parse(text).Match)
}

// AllowedBy reports whether an allow rule with this pattern allows the action.
func (a *Action) AllowedBy(text string) bool {
	if a.Grants != nil {
		return a.Grants(a, string(pattern.Parse(text)))
	}
	return a.Matches(text)
}

// Names lists all names of the action and of the tools that it belongs to. Names of actions win
// over tools of the same name.
func (a *Action) Names() []string {
	list := []string{a.FullName(), a.Family.Name + "_" + a.Name, a.Family.Name}
	if joined := a.Joined(); joined != list[1] {
		list = append(list, joined)
	}
	tool := a.ToolByEffect()
	if !slices.ContainsFunc(a.Family.Actions, func(other *Action) bool { return a.Family.Name+"_"+other.Name == tool }) {
		list = append(list, tool)
	}
	for _, old := range a.Legacy {
		list = append(list, old.Name)
	}
	list = append(list, a.Aliases...)
	if also := a.Family.Also; also != "" {
		for _, name := range slices.Clone(list) {
			if rest, is := strings.CutPrefix(name, a.Family.Name); is {
				list = append(list, also+rest)
			}
		}
	}
	return list
}
