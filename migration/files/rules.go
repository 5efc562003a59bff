package files

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/text/regex"
)

// Rule is the replacement of a host's rule. Its names have the same prefix as the rule.
type Rule struct {
	// Exact is the rule for exactly the same actions, if the server runs with --fold=none. It lists
	// several names if no single pattern matches them.
	Exact []string `json:"exact"`

	// ByEffect is the tool of the actions with --fold=effect, and AlsoByEffect lists the further
	// actions of that tool. Both are empty for patterns over several families.
	ByEffect     string   `json:"byEffect,omitempty"`
	AlsoByEffect []string `json:"alsoByEffect,omitempty"`

	// Tool is the tool of the actions in the default list, and Also lists the further actions of
	// that tool. If they are in --deny, the tool permits the same as the rule.
	Tool string   `json:"tool,omitempty"`
	Also []string `json:"also,omitempty"`

	// Deny is the --deny option of the server under which actions stay forbidden, however tools are
	// listed. It is only set for rules that forbid.
	Deny string `json:"deny,omitempty"`

	// Actions lists the full names of the actions. The server's own agents, steps and rules use
	// them.
	Actions []string `json:"actions"`
}

// actions lists the actions of a name or pattern.
func (n name) actions() (list []*toolfold.Action) {
	for _, tool := range n.matched {
		list = append(list, tool.Action)
	}
	if n.matched == nil {
		list = append(list, n.action)
	}
	return list
}

// rule returns the replacement of a rule.
func (s Search) rule(n name, kind Kind) *Rule {
	r := &Rule{}
	actions := n.actions()
	f := n.action.Family
	for _, a := range actions {
		r.Actions = append(r.Actions, a.FullName())
		r.Exact = append(r.Exact, n.as(exact(a)))
		if a.Family != f {
			f = nil
		}
	}
	if n.matched != nil && s.keeps(n) {
		r.Exact = []string{n.as(n.word)}
	}
	if kind == Forbids {
		r.Deny = strings.Join(r.Actions, ",")
	}
	if f == nil {
		return r
	}
	r.Tool = n.as(n.tool())
	r.ByEffect = n.as(n.action.ToolByEffect())
	for _, a := range actions {
		if a.ToolByEffect() != n.action.ToolByEffect() { // the write tool has both
			r.ByEffect = n.as(f.Name + "_write")
		}
	}
	writes := r.ByEffect != n.as(f.Name)
	for _, other := range f.Actions {
		if slices.Contains(actions, other) || other.Apart {
			continue
		}
		r.Also = append(r.Also, other.FullName())
		if writes || other.ToolByEffect() == f.Name {
			r.AlsoByEffect = append(r.AlsoByEffect, other.FullName())
		}
	}
	return r
}

// keeps reports whether a pattern matches the same actions under the names of --fold=none.
func (s Search) keeps(n name) bool {
	before := n.actions()
	for _, old := range s.Names() {
		tool := s.Tool(old)
		now := globbed(n.word, exact(tool.Action))
		if now != slices.Contains(before, tool.Action) {
			return false
		}
	}
	return true
}

// ruleEffect is the effect of a rule, judged by the words around a name.
type ruleEffect string

const (
	noEffect ruleEffect = ""
	permits  ruleEffect = "permits"
	asks     ruleEffect = "asks"
	forbids  ruleEffect = "forbids"
)

func (g ruleEffect) kind() Kind {
	if g == noEffect {
		return Mentions
	}
	return Kind(g)
}

// Words of keys, variables and options that describe the effect on the listed tools.
var (
	forbidding = regex.Lazy(`(?i)^(deny|denie[sd]|denylist|disallow\w*|disabled?|disables|block\w*|exclud\w*|forbid\w*|reject\w*|` +
		`never|ban|banned|blacklist\w*|prohibit\w*|prevent\w*|without|except|remove|hidden|hide)$`)
	asking     = regex.Lazy(`(?i)^(ask|asks|confirm\w*|prompt|require[sd]?|approval)$`)
	permitting = regex.Lazy(`(?i)^(allow\w*|permit\w*|approve[sd]?|includ\w*|enable[sd]?|trust\w*|whitelist\w*|available|always|core|` +
		`accept\w*|grant\w*|tools?|auto)$`)
	aboutTools = regex.Lazy(`(?i)^(tools?|toolset|allow\w*|deny|denied|disallow\w*|permissions?|autoapprove|approve[sd]?|mcp)$`)
)

// wordsOf splits a key, variable or option into words: disallowedTools, disallowed_tools.
func wordsOf(key string) []string {
	return strings.FieldsFunc(camel().ReplaceAllString(key, "${1} ${2}"), func(r rune) bool {
		return r != '*' && (r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z')
	})
}

var camel = regex.Lazy(`([a-z0-9])([A-Z])`)

// effectOf returns the effect of a key on the tools listed under it. Forbidding words take
// precedence over asking ones, and these over permitting ones.
func effectOf(key string) ruleEffect {
	g := noEffect
	for _, w := range wordsOf(key) {
		switch {
		case forbidding().MatchString(w):
			return forbids
		case asking().MatchString(w):
			g = asks
		case permitting().MatchString(w) && g == noEffect:
			g = permits
		}
	}
	return g
}

// isAboutTools reports whether the words of a key are about tools.
func isAboutTools(key string) bool {
	return slices.ContainsFunc(wordsOf(key), func(w string) bool { return aboutTools().MatchString(w) })
}

// reportRule reports a rule. It does not rewrite it unless the user asked to, because the rule
// could permit more afterwards.
func (p part) reportRule(n name, g ruleEffect) {
	kind := g.kind()
	rule := p.rule(n, kind)
	u := Use{Kind: kind, Now: strings.Join(rule.Exact, ", "), Rule: rule, ByHand: true}
	if p.Exact {
		p.reportExactRule(n, u)
		return
	}
	switch g {
	case forbids:
		u.Now = "toolfold serve --deny " + rule.Deny
		u.Note = "it forbids: without that it protects nothing if hosts are listed whole tools; with --fold=none it holds as " +
			strings.Join(rule.Exact, ", ")
	case asks:
		u.Note = "it asks: kept by serve --fold=none; else hosts ask for " + rule.Tool + ", for every action"
	case permits:
		u.Note = "it permits: kept by serve --fold=none" + wider(rule)
		if p.Widen && n.matched == nil && !ofTests().MatchString(p.path) {
			u.Now, u.ByHand = rule.Tool, false
			u.Note = "it permits " + brief(rule.Also) + " too from now on"
			p.edit(n, n.start, n.end, rule.Tool)
		}
	default:
		u.Note = "its effect is not clear: as a rule it is kept by serve --fold=none" + wider(rule)
	}
	p.addUse(n, u)
}

// ofTests matches the paths of tests and their expected output.
var ofTests = regex.Lazy(`(?i)(^|/)(tests?|__tests__|__snapshots__|specs?|fixtures|testdata)/|[._-](test|spec)s?\.[^/]*$|(^|/)test_[^/]*$`)

// reportExactRule handles a rule for a server with --fold=none, which needs no change or another
// name. It does not rewrite rules that forbid.
func (p part) reportExactRule(n name, u Use) {
	written := p.text[n.start:n.end]
	switch {
	case len(u.Rule.Exact) == 1 && u.Rule.Exact[0] == written:
		return
	case u.Kind == Forbids:
		u.Now = "toolfold serve --deny " + u.Rule.Deny
		u.Note = "it forbids: without that, or " + strings.Join(u.Rule.Exact, ", ") + " beside it, it protects nothing"
	case len(u.Rule.Exact) > 1 || n.matched != nil:
		u.Note = "a pattern that matches other names now: write these"
	default:
		u.ByHand = false
		p.edit(n, n.start, n.end, u.Rule.Exact[0])
	}
	p.addUse(n, u)
}

// wider describes what the tools of other folds would permit beyond a rule.
func wider(r *Rule) string {
	var b strings.Builder
	if r.ByEffect != "" && len(r.AlsoByEffect) < len(r.Also) {
		fmt.Fprintf(&b, "; with --fold=effect %s also permits %s", r.ByEffect, brief(r.AlsoByEffect))
	}
	if r.Tool != "" {
		fmt.Fprintf(&b, "; as listed by default %s also permits %s", r.Tool, brief(r.Also))
		if len(r.Also) > 0 {
			fmt.Fprintf(&b, " unless the server has --deny %s", strings.Join(r.Also, ","))
		}
	}
	return b.String()
}

// brief lists names of actions without their family, shortened. Rule has the full list.
func brief(actions []string) string {
	const shown = 6
	var list []string
	for _, a := range actions {
		_, verb, _ := strings.Cut(a, ".")
		list = append(list, verb)
	}
	switch {
	case len(list) == 0:
		return "nothing else"
	case len(list) > shown:
		return strings.Join(list[:shown], ", ") + fmt.Sprintf(" and %d more", len(list)-shown)
	}
	return strings.Join(list, ", ")
}

// reportComparison reports a name that code compares, for the user to change.
func (p part) reportComparison(n name) {
	spelling := n.as(exact(n.action))
	if p.Exact && spelling == p.text[n.start:n.end] {
		return
	}
	p.addUse(n, Use{Kind: Compares, Now: n.call(), ByHand: true, Note: "a name is compared: hosts send " + n.as(n.tool()) +
		" with the action in its arguments; serve --fold=none keeps the name " + spelling})
}

// reportMention reports a name in code, for the user to change.
func (p part) reportMention(n name) {
	p.addUse(n, Use{Kind: Mentions, Now: n.call(), ByHand: true, Note: "code is changed by hand"})
}

// rewriteName rewrites the name of a call whose arguments are elsewhere to the action's full name,
// which takes the same arguments. If parameters were renamed, it leaves the call to the user.
func (p part) rewriteName(n name) {
	u := Use{Kind: Calls, Now: n.action.FullName()}
	if renames := n.renames(); renames != "" {
		u.ByHand, u.Note = true, "rename its parameters too: "+renames
	} else {
		p.edit(n, n.start, n.end, n.action.FullName())
	}
	p.addUse(n, u)
}

// rewriteListed rewrites a name in a list of our own agents and steps, where an action's name
// permits just that action.
func (p part) rewriteListed(n name) {
	p.addUse(n, Use{Kind: Permits, Now: n.action.FullName(), Rule: p.rule(n, Permits)})
	p.edit(n, n.start, n.end, n.action.FullName())
}

// renames lists the renamed parameters, or returns "".
func (n name) renames() string {
	var list []string
	for _, rename := range n.old.Renames {
		list = append(list, rename.Was+" → "+rename.Field.Param().Name)
	}
	return strings.Join(list, ", ")
}

// selected returns the entry that calls the action by its family's tool.
func (n name) selected() *entry.Entry { return entry.Select(n.action) }
