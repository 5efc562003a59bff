package toolfold

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/regex"
)

// hostPrefix is put by hosts in front of the names of a server's tools.
var hostPrefix = regex.Lazy(`^(mcp_+)?toolfold[_.\-/]+`)

// Matches reports whether a pattern matches the action under any of its names:
// a name in which * stands for any characters, as hosts spell it too.
func (a *Action) Matches(pattern string) bool {
	pattern = hostPrefix().ReplaceAllString(strings.TrimSpace(pattern), "")
	expression, err := regexp.Compile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
	return err == nil && slices.ContainsFunc(a.Names(), expression.MatchString)
}

// Names lists all names of the action, and those of the tools that it belongs
// to. An action goes before a tool of the same name.
func (a *Action) Names() []string {
	list := []string{a.FullName(), a.Family.Name + "_" + a.Name, a.Family.Name}
	tool := a.ToolByEffect()
	if !slices.ContainsFunc(a.Family.Actions, func(other *Action) bool { return a.Family.Name+"_"+other.Name == tool }) {
		list = append(list, tool)
	}
	for _, old := range a.Legacy {
		list = append(list, old.Name)
	}
	return append(list, a.Aliases...)
}
