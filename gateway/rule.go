package gateway

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/pattern"
	"github.com/toolfold/toolfold/internal/text/regex"
)

// Servers choose the names of their tools. A rule that denies matches a tool by any of its names. A
// rule that allows matches only names that a server cannot choose to fit a rule for something else:
// SERVER.tool, the family names that derive from the server, and the tool's own name if it is plain and
// unique.

// aliases returns the aliases of a tool: SERVER.tool, the server's own name, and SERVER.tool as rules
// spell it, if that differs.
func (l *link) aliases(tool string) []string {
	list := []string{l.Name + "." + tool, tool}
	if ruleName := l.ruleName(tool); ruleName != list[0] {
		list = append(list, ruleName)
	}
	return list
}

// ruleName returns SERVER.tool as rules spell it.
func (l *link) ruleName(tool string) string { return l.titles[0] + "." + pattern.Name(tool) }

// titles returns the names of a server in rules. If its name is one of ours, rules that begin with the
// name are for ours; the first title is then another name.
func (g *Gateway) titles(server string) []string {
	name := pattern.Name(server)
	if _, is := slices.BinarySearch(g.ours, name); is {
		return []string{name + "_mcp", name}
	}
	return []string{name}
}

// matchesTitle reports whether a pattern matches SERVER.rest.
func (l *link) matchesTitle(p pattern.Pattern, rest string) bool {
	return slices.ContainsFunc(l.titles, func(title string) bool { return p.Match(title + "." + rest) })
}

// grants returns the [toolfold.Action.Grants] of a tool. Its results change with the servers' lists.
func (l *link) grants(tool string) func(*toolfold.Action, string) bool {
	spelling := pattern.Name(tool)
	return func(a *toolfold.Action, text string) bool {
		p := pattern.AsIs(text)
		family, joined := a.Family.Name, a.Family.Name+"_"+a.Name
		var named, folded bool
		if !a.Family.Bare || l.gateway.owner(family) == l { // otherwise the server has chosen the name
			named = p.Match(a.FullName()) || p.Match(family) || p.Match(a.ToolByEffect())
			folded = p.Match(joined) || p.Match(a.Joined())
		}
		switch {
		case named, (folded || l.matchesTitle(p, spelling)) && !l.folds(p, tool):
			return !l.isOfferRule(p) && !l.gateway.belongsToOther(p, l)
		case p == pattern.Pattern(tool), a.Family.Bare && p == pattern.Pattern(family):
			return !l.gateway.belongsToOther(p, l) && l.gateway.only(l, tool, string(p))
		}
		return false
	}
}

// anyTool stands for the tools of a server whose list is not known yet. Rights include it if they may include one of them.
func (l *link) anyTool() *toolfold.Action {
	a := &toolfold.Action{Name: "any", Effect: toolfold.Reads, Definition: json.RawMessage(`{}`)}
	a.Family = &toolfold.Family{Name: l.base, Also: l.titles[0], Server: l.Name, Category: l.category(), Actions: []*toolfold.Action{a}}
	a.Grants = func(_ *toolfold.Action, text string) bool {
		p := pattern.AsIs(text)
		start := p.Start()
		begun := !p.Exact() && (strings.HasPrefix(l.titles[0], start) || strings.HasPrefix(l.base, start))
		return (begun || l.claim(start) > 0) && !l.gateway.belongsToOther(p, l)
	}
	return a
}

// isOfferRule reports whether a pattern is for prompts or resources of the server.
func (l *link) isOfferRule(p pattern.Pattern) bool {
	start := p.Start()
	return slices.ContainsFunc(l.titles, func(title string) bool {
		return begins(start, title+"."+promptKind+"s", ".") || begins(start, title+"."+resourceKind+"s", ".")
	})
}

// begins reports whether text is name, or name followed by one of the separators.
func begins(text, name, separators string) bool {
	rest, found := strings.CutPrefix(text, name)
	return found && (rest == "" || strings.ContainsRune(separators, rune(rest[0])))
}

// folds reports whether a pattern without * is the full name of a tool other than tool.
func (l *link) folds(p pattern.Pattern, tool string) bool {
	return p.Exact() && l.has(tool, func(family, action, _ string, bare bool) bool {
		return bare && family == string(p) || !bare && family+"."+action == string(p)
	})
}

// has reports whether is holds for a planned tool other than except.
func (l *link) has(except string, is func(family, action, tool string, bare bool) bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.record.Plan.Families {
		for _, a := range f.Actions {
			if a.Tool != except && is(f.Name, a.Name, a.Tool, f.Bare) {
				return true
			}
		}
	}
	return false
}

// namesOf returns all names of the actions of families, sorted.
func namesOf(families []*toolfold.Family) (names []string) {
	for _, f := range families {
		for _, a := range f.Actions {
			names = append(names, append(a.Names(), f.Name+"_write")...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// oursMatch reports whether a pattern matches a name of ours.
func (g *Gateway) oursMatch(p pattern.Pattern) bool {
	start := p.Start()
	from, _ := slices.BinarySearch(g.ours, start)
	for _, name := range g.ours[from:] {
		if !strings.HasPrefix(name, start) {
			return false
		}
		if p.Match(name) {
			return true
		}
	}
	return false
}

// claim rates how closely the beginning of a pattern names the server; 0 = not at all.
func (l *link) claim(start string) int {
	if name := l.titles[len(l.titles)-1]; begins(start, name, ".") {
		return 2*len(name) + 1
	}
	if begins(start, l.base, "._") {
		return 2 * len(l.base)
	}
	return 0
}

// owner returns the server that text names most closely; nil if it names no server, or several equally.
func (g *Gateway) owner(text string) (owner *link) {
	most := 0
	for _, l := range g.links {
		switch claim := l.claim(text); {
		case claim > most:
			owner, most = l, claim
		case claim == most:
			owner = nil
		}
	}
	return owner
}

// belongsToOther reports whether a pattern is for something of ours or of another server than l. A * at its
// beginning, or inside the server's name, matches any server.
func (g *Gateway) belongsToOther(p pattern.Pattern, l *link) bool {
	start := p.Start()
	own := l.claim(start)
	switch {
	case start == "":
		return false
	case g.oursMatch(p):
		return true
	case !p.Exact() && own == 0 && (strings.HasPrefix(l.titles[0], start) || strings.HasPrefix(l.base, start)):
		return false
	}
	return slices.ContainsFunc(g.links, func(other *link) bool {
		if other == l {
			return false
		}
		if !p.Exact() && len(start) > len(l.base) && strings.HasPrefix(other.base, start) {
			return true // git_h*, if there are git and git-hub
		}
		return other.claim(start) > 0 && other.claim(start) >= own
	})
}

// plainTool matches names of tools that have no other meaning in a rule.
var plainTool = regex.Lazy(`^[A-Za-z0-9_-]+$`)

// only reports whether a name chosen by a server belongs to this tool alone. It must not be a name of
// ours, nor begin with one. It must not be another tool of any server, offered or not. While a server
// has not listed its tools, no name is known to be unique.
func (g *Gateway) only(l *link, tool, name string) bool {
	if !plainTool().MatchString(name) {
		return false
	}
	name = alike(name)
	for i, c := range name + "_" {
		if c != '_' {
			continue
		}
		if _, is := slices.BinarySearch(g.ours, name[:i]); is {
			return false
		}
	}
	for _, other := range g.links {
		except := ""
		if other == l {
			except = tool
		} else if !other.hasTools() || begins(name, other.base, "_") {
			return false
		}
		if other.has(except, func(family, action, tool string, _ bool) bool {
			return name == alike(tool) || name == family || name == family+"_"+action
		}) {
			return false
		}
	}
	return true
}

// alike normalizes a name for comparison.
func alike(name string) string { return strings.ReplaceAll(strings.ToLower(name), "-", "_") }
