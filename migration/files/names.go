package files

import (
	"path"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/migration"
)

// name is a legacy name found in a text, or a pattern that matches some.
type name struct {
	start, end int
	place      int    // of the start in the file, which tells its edits from those of other names
	prefix     string // what a host puts in front, such as mcp__toolfold__
	suffix     string // what it puts behind: the bracket of toolfold(memory_store)
	word       string // the name itself, or the pattern
	old        toolfold.OldName
	action     *toolfold.Action
	matched    []*migration.Tool // by a pattern; else nil
}

// as returns what a host makes of another name of a tool.
func (n name) as(tool string) string { return n.prefix + tool + n.suffix }

func (n name) tool() string { return entry.Select(n.action).Tool }

// exact returns the name under which --fold=none lists the action of a tool.
func exact(a *toolfold.Action) string {
	return consolidate.Entries(a.Family, consolidate.None)[indexOf(a)].Tool
}

func indexOf(a *toolfold.Action) int { return slices.Index(a.Family.Actions, a) }

// common reports whether a name is one that others use too, in what has nothing to do
// with this server: it counts only with a server's name in front.
func (n name) common() bool { return n.action.Family.Category == callctx.Discovery && n.prefix == "" }

// word is a run of characters that a tool's name or a pattern of names may have.
var word = regex.Lazy(`[A-Za-z0-9_*][A-Za-z0-9_*-]*`)

// names finds the legacy names in the text of a part.
func (p part) names() (list []name) {
	for _, at := range word().FindAllStringIndex(p.text, -1) {
		if n, ok := p.nameAt(at[0], at[1]); ok {
			list = append(list, n)
		}
	}
	return list
}

// maxName bounds a name with what hosts put in front, in bytes: what is longer is none,
// and as a pattern would be tried at each of its characters.
const maxName = 256

// nameAt reads a word as a legacy name of this server.
func (p part) nameAt(start, end int) (n name, ok bool) {
	found := p.text[start:end]
	if len(found) > maxName {
		return name{}, false
	}
	for i := range found {
		rest := found[i:]
		tool := p.Tool(rest)
		if tool == nil && (!strings.Contains(rest, "*") || !strings.Contains(rest, "_")) {
			continue
		}
		n = name{start: start, end: end, prefix: found[:i], word: rest}
		if n.prefix != "" && !p.ours(n.prefix, rest, start) {
			if tool == nil { // the pattern may begin later
				continue
			}
			return name{}, false
		}
		if n.prefix == "" && !p.before(&n) {
			return name{}, false
		}
		if n.prefix == "" && tool != nil && (p.Foreign || p.Own[rest] || p.own[rest]) {
			p.left[p.offset(start)] = true
			return name{}, false
		}
		n.place = p.offset(n.start)
		if tool != nil {
			n.old, n.action = tool.Old, tool.Action
			return n, !n.common()
		}
		if n.matched = p.match(rest); n.prefix == "" || len(n.matched) == 0 || strings.HasPrefix(rest, "*") || strings.HasPrefix(rest, "_") {
			continue
		}
		n.old, n.action = n.matched[0].Old, n.matched[0].Action
		return n, true
	}
	return name{}, false
}

// serverBefore matches what some hosts write in front of a name: toolfold/, @toolfold/,
// toolfold( and (toolfold:.
var serverBefore = regex.Lazy(`(?:@|\()?([A-Za-z0-9_-]+)[/(:]$`)

// before looks at what stands in front of a bare name. It reports whether the name may
// be a tool of this server, and takes the server's name into it.
func (p part) before(n *name) bool {
	if n.start == 0 || !strings.ContainsRune("/(:.@$-\\", rune(p.text[n.start-1])) {
		return true
	}
	from := max(0, n.start-80)
	m := serverBefore().FindStringSubmatchIndex(p.text[from:n.start])
	if m == nil {
		return p.text[n.start-1] == '(' || p.text[n.start-1] == ':' && !strings.HasSuffix(p.text[from:n.start], "//")
	}
	server := p.text[from+m[2] : from+m[3]]
	switch p.text[n.start-1] {
	case '(':
		if strings.HasSuffix(server, "_") { // a group of a regular expression
			return p.ours(server, n.word, n.start)
		}
	case ':':
		if p.text[from+m[0]] != '(' { // a key, or what a sentence begins with
			return true
		}
	}
	if !p.known(server) {
		if p.text[n.start-1] == ':' {
			p.others[p.offset(n.start)] = [2]string{server, n.word}
		}
		return false
	}
	start := from + m[2]
	if start > 0 && strings.ContainsRune("/.-", rune(p.text[start-1])) {
		return false // a path
	}
	n.prefix, n.start = p.text[start:n.start], start
	if strings.HasSuffix(n.prefix, "(") && strings.HasPrefix(p.text[n.end:], ")") {
		n.suffix = ")"
		n.end++
	}
	return true
}

// hostPrefix matches what hosts put in front of a tool's name: the name of the server,
// perhaps after mcp.
var hostPrefix = regex.Lazy(`^(mcp_+)?(.+?)(_+|-)$`)

// ours reports whether a prefix is that of this server; others that hosts put in front
// of the name at a place are noted.
func (p part) ours(prefix, tool string, at int) bool {
	m := hostPrefix().FindStringSubmatch(prefix)
	if m == nil {
		return false
	}
	if p.known(m[2]) {
		return true
	}
	if m[1] != "" {
		p.others[p.offset(at)] = [2]string{m[2], tool}
	}
	return false
}

// known reports whether a server's name is one of ours. Hosts write it with letters,
// digits and _ only, and plugins put their names in front.
func (s Search) known(server string) bool {
	server = plainServer(server)
	for _, pattern := range slices.Concat([]string{"toolfold*", "tool_fold*"}, s.Servers) {
		pattern = plainServer(pattern)
		for _, pattern := range []string{pattern, "plugin_*_" + pattern} {
			if globbed(pattern, server) {
				return true
			}
		}
	}
	return false
}

// plainServer writes a server's name as hosts do in front of its tools.
func plainServer(server string) string {
	return strings.Map(func(r rune) rune {
		if r == '*' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(server))
}

// match lists the legacy tools that a pattern stands for, in the order of names.
func (s Search) match(pattern string) (list []*migration.Tool) {
	for _, old := range s.Names() {
		if globbed(pattern, old) {
			list = append(list, s.Tool(old))
		}
	}
	return list
}

// globbed reports whether a pattern matches a name. Both have letters, digits, _ and -
// only, beside the * of the pattern.
func globbed(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
