package permission

import (
	"fmt"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Lapse is an allow rule that matches tools of other servers only by names that do not count for
// allow rules.
type Lapse struct {
	Rule    string `json:"rule"`
	Tool    string `json:"tool"`              // the first tool that the rule does not allow
	More    int    `json:"more,omitempty"`    // number of further tools that Instead allows
	Instead string `json:"instead,omitempty"` // a rule that allows them
}

// String implements [fmt.Stringer].
func (l Lapse) String() string {
	return fmt.Sprintf("rule %q no longer allows %s", shorten.Quoted(l.Rule), l.Advice())
}

// Advice names the tools, and a rule that allows them.
func (l Lapse) Advice() string {
	if l.More > 0 {
		return fmt.Sprintf("%s and %d more: to allow them, write %q", shorten.Quoted(l.Tool), l.More, l.Instead)
	}
	return fmt.Sprintf("%s: to allow it, write %q", shorten.Quoted(l.Tool), l.Instead)
}

// Lapses lists the allow rules that match tools of other servers which no rule allows.
func (r Rules) Lapses(families []*toolfold.Family) (lapses []Lapse) {
	at := map[[2]string]int{}
	for _, f := range families {
		for _, a := range f.Actions {
			if setting, _ := r.Reason(a); a.Grants == nil || setting != "allow" {
				continue
			}
			for _, rule := range r.Allow {
				if !a.Matches(rule) {
					continue
				}
				key := [2]string{rule, suggestRule(a, rule)}
				if i, known := at[key]; known {
					lapses[i].More++
					continue
				}
				at[key] = len(lapses)
				lapses = append(lapses, Lapse{Rule: rule, Tool: toolOf(a), Instead: key[1]})
			}
		}
	}
	return lapses
}

// toolOf returns SERVER.tool for a tool, or the name of another action of a server.
func toolOf(a *toolfold.Action) string {
	if len(a.Aliases) > 2 { // in the form of rules
		return a.Aliases[2]
	}
	return a.Aliases[0]
}

// longestRule limits a suggested rule, in bytes.
const longestRule = 100

// suggestRule returns a rule that allows an action, as close as possible to rule.
func suggestRule(a *toolfold.Action, rule string) string {
	if len(a.Aliases) > 1 {
		server := strings.TrimSuffix(a.Aliases[0], a.Aliases[1])
		for _, better := range []string{server + rule, a.Aliases[0], toolOf(a)} {
			if len(better) <= longestRule && !strings.ContainsAny(better, ", \t\r\n") && a.AllowedBy(better) {
				return better
			}
		}
	}
	return a.FullName()
}
