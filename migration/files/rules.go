package files

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/text/regex"
)

// Rule says what stands for a rule of a host. The names have in front what the rule
// has there.
type Rule struct {
	// Exact is the rule for the same actions, no more and no fewer, where the server
	// runs with --fold=none. It has several names where a pattern has no other one.
	Exact []string `json:"exact"`

	// ByEffect is the tool of the actions with --fold=effect, and AlsoByEffect the
	// actions beyond the rule's that it has there. Both are empty for patterns over
	// several tools.
	ByEffect     string   `json:"byEffect,omitempty"`
	AlsoByEffect []string `json:"alsoByEffect,omitempty"`

	// Tool is the tool of the actions as listed by default, and Also the actions
	// beyond the rule's that it has. With them in --deny the tool permits what the rule
	// does.
	Tool string   `json:"tool,omitempty"`
	Also []string `json:"also,omitempty"`

	// Deny is the --deny that the server has to be started with so that what the rule
	// forbids stays forbidden, however tools are listed. Only of rules that forbid.
	Deny string `json:"deny,omitempty"`

	// Actions are the full names of the actions that the rule is about, as the server's
	// own agents, steps and rules call them.
	Actions []string `json:"actions"`
}

// actions lists the actions that a name or pattern stands for.
func (n name) actions() (list []*toolfold.Action) {
	for _, tool := range n.matched {
		list = append(list, tool.Action)
	}
	if n.matched == nil {
		list = append(list, n.action)
	}
	return list
}

// rule returns what stands for a rule.
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
		if a.ToolByEffect() != n.action.ToolByEffect() { // the one that does more has both
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

// keeps reports whether a pattern matches, of the names that --fold=none lists, those of
// the same actions.
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

// govern is the effect of a rule on a name, by the words around it.
type govern string

const (
	nothingSaid govern = ""
	permits     govern = "permits"
	asks        govern = "asks"
	forbids     govern = "forbids"
)

func (g govern) kind() Kind {
	if g == nothingSaid {
		return Mentions
	}
	return Kind(g)
}

// The words of keys, variables and options that say what happens to the tools that are
// listed there.
var (
	forbidding = regex.Lazy(`(?i)^(deny|denie[sd]|denylist|disallow\w*|disabled?|disables|block\w*|exclud\w*|forbid\w*|reject\w*|` +
		`never|ban|banned|blacklist\w*|prohibit\w*|prevent\w*|without|except|remove|hidden|hide)$`)
	asking     = regex.Lazy(`(?i)^(ask|asks|confirm\w*|prompt|require[sd]?|approval)$`)
	permitting = regex.Lazy(`(?i)^(allow\w*|permit\w*|approve[sd]?|includ\w*|enable[sd]?|trust\w*|whitelist\w*|available|always|core|` +
		`accept\w*|grant\w*|tools?|auto)$`)
	aboutTools = regex.Lazy(`(?i)^(tools?|toolset|allow\w*|deny|denied|disallow\w*|permissions?|autoapprove|approve[sd]?|mcp)$`)
)

// wordsOf splits a key, a variable or an option: disallowedTools, disallowed_tools.
func wordsOf(key string) []string {
	return strings.FieldsFunc(camel().ReplaceAllString(key, "${1} ${2}"), func(r rune) bool {
		return r != '*' && (r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z')
	})
}

var camel = regex.Lazy(`([a-z0-9])([A-Z])`)

// says returns what a key says of the tools that are listed under it. What forbids
// counts more than what asks, and that more than what permits.
func says(key string) govern {
	g := nothingSaid
	for _, w := range wordsOf(key) {
		switch {
		case forbidding().MatchString(w):
			return forbids
		case asking().MatchString(w):
			g = asks
		case permitting().MatchString(w) && g == nothingSaid:
			g = permits
		}
	}
	return g
}

// saysOfTools reports whether a key is about tools by its own words.
func saysOfTools(key string) bool {
	return slices.ContainsFunc(wordsOf(key), func(w string) bool { return aboutTools().MatchString(w) })
}

// ruled adds a rule, which is kept: nothing but the user's word makes it permit more.
func (p part) ruled(n name, g govern) {
	kind := g.kind()
	rule := p.rule(n, kind)
	u := Use{Kind: kind, Now: strings.Join(rule.Exact, ", "), Rule: rule, ByHand: true}
	if p.Exact {
		p.ruledExactly(n, u)
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
	p.found(n, u)
}

// ofTests matches the path of a test, or of what it expects.
var ofTests = regex.Lazy(`(?i)(^|/)(tests?|__tests__|__snapshots__|specs?|fixtures|testdata)/|[._-](test|spec)s?\.[^/]*$|(^|/)test_[^/]*$`)

// ruledExactly handles a rule for a server with --fold=none: it holds as it is, or under
// another name. What forbids is not written even then.
func (p part) ruledExactly(n name, u Use) {
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
	p.found(n, u)
}

// wider says what the names of the other folds would permit beyond a rule.
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

// brief lists names of actions without their family; the full list is in the rule.
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

// compared leaves a name that something is done by to the user.
func (p part) compared(n name) {
	kept := n.as(exact(n.action))
	if p.Exact && kept == p.text[n.start:n.end] {
		return
	}
	p.found(n, Use{Kind: Compares, Now: n.call(), ByHand: true, Note: "a name is compared: hosts send " + n.as(n.tool()) +
		" with the action in its arguments; serve --fold=none keeps the name " + kept})
}

// mentioned leaves a name in code to the user.
func (p part) mentioned(n name) {
	p.found(n, Use{Kind: Mentions, Now: n.call(), ByHand: true, Note: "code is changed by hand"})
}

// called rewrites the name of a call whose arguments stand elsewhere: the full
// name of the action takes them as the legacy name did, unless a parameter is
// called otherwise.
func (p part) called(n name) {
	u := Use{Kind: Calls, Now: n.action.FullName()}
	if renames := n.renames(); renames != "" {
		u.ByHand, u.Note = true, "rename its parameters too: "+renames
	} else {
		p.edit(n, n.start, n.end, n.action.FullName())
	}
	p.found(n, u)
}

// listed rewrites a name in a list of our own agents and steps, where the name of an
// action permits just that.
func (p part) listed(n name) {
	p.found(n, Use{Kind: Permits, Now: n.action.FullName(), Rule: p.rule(n, Permits)})
	p.edit(n, n.start, n.end, n.action.FullName())
}

// renames says which parameters have another name now; empty when none has.
func (n name) renames() string {
	var list []string
	for _, rename := range n.old.Renames {
		list = append(list, rename.Was+" → "+rename.Field.Param().Name)
	}
	return strings.Join(list, ", ")
}

// selected returns how an action is called by its family's tool.
func (n name) selected() *entry.Entry { return entry.Select(n.action) }
