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

// name is a legacy name found in a text, or a pattern that matches legacy names.
type name struct {
	start, end int
	place      int    // offset of the start in the file, which identifies its edits
	prefix     string // added by a host, such as mcp__toolfold__
	suffix     string // added by a host: the bracket of toolfold(memory_store)
	word       string // the name itself, or the pattern
	old        toolfold.OldName
	action     *toolfold.Action
	matched    []*migration.Tool // the tools that a pattern matches; nil for a name
}

// as returns the name of another tool with the host's prefix and suffix.
func (n name) as(tool string) string { return n.prefix + tool + n.suffix }

func (n name) tool() string { return entry.Select(n.action).Tool }

// exact returns the tool name of an action with --fold=none.
func exact(a *toolfold.Action) string {
	return consolidate.Entries(a.Family, consolidate.None)[indexOf(a)].Tool
}

func indexOf(a *toolfold.Action) int { return slices.Index(a.Family.Actions, a) }

// common reports whether a name is also usual in other software. It only counts with a server
// prefix.
func (n name) common() bool { return n.action.Family.Category == callctx.Discovery && n.prefix == "" }

// word matches a run of characters that may be a tool name or a pattern of names.
var word = regex.Lazy(`[A-Za-z0-9_*][A-Za-z0-9_*-]*`)

// names returns the legacy names in the text of a part.
func (p part) names() (list []name) {
	for _, at := range word().FindAllStringIndex(p.text, -1) {
		if n, ok := p.nameAt(at[0], at[1]); ok {
			list = append(list, n)
		}
	}
	return list
}

// maxName bounds a name with its prefix, in bytes. Longer words are not names, and matching
// patterns at each of their characters would take long.
const maxName = 256

// nameAt parses a word as a legacy name of this server.
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
			if tool == nil { // the pattern may begin later in the word
				continue
			}
			return name{}, false
		}
		if n.prefix == "" && !p.before(&n) {
			return name{}, false
		}
		if n.prefix == "" && tool != nil && (p.Foreign || p.Own[rest] || p.own[rest]) {
			p.ignored[p.offset(start)] = true
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

// serverBefore matches a server prefix outside of the word: toolfold/, @toolfold/, toolfold( and
// (toolfold:.
var serverBefore = regex.Lazy(`(?:@|\()?([A-Za-z0-9_-]+)[/(:]$`)

// before checks the text in front of a bare name. It reports whether the name may be a tool of this
// server, and includes a server prefix in n.
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
		if strings.HasSuffix(server, "_") { // a group in a regular expression
			return p.ours(server, n.word, n.start)
		}
	case ':':
		if p.text[from+m[0]] != '(' { // a key, or the start of a sentence
			return true
		}
	}
	if !p.isOurServer(server) {
		if p.text[n.start-1] == ':' {
			p.otherServers[p.offset(n.start)] = [2]string{server, n.word}
		}
		return false
	}
	start := from + m[2]
	if start > 0 && strings.ContainsRune("/.-", rune(p.text[start-1])) {
		return false // part of a path
	}
	n.prefix, n.start = p.text[start:n.start], start
	if strings.HasSuffix(n.prefix, "(") && strings.HasPrefix(p.text[n.end:], ")") {
		n.suffix = ")"
		n.end++
	}
	return true
}

// hostPrefix matches a host's prefix of a tool name: the server's name, possibly after mcp.
var hostPrefix = regex.Lazy(`^(mcp_+)?(.+?)(_+|-)$`)

// ours reports whether a prefix belongs to this server. It records the prefixes of other servers
// that have the form of a host's.
func (p part) ours(prefix, tool string, at int) bool {
	m := hostPrefix().FindStringSubmatch(prefix)
	if m == nil {
		return false
	}
	if p.isOurServer(m[2]) {
		return true
	}
	if m[1] != "" {
		p.otherServers[p.offset(at)] = [2]string{m[2], tool}
	}
	return false
}

// isOurServer reports whether a server name is one of ours. Hosts replace special characters by _,
// and plugins prepend their names.
func (s Search) isOurServer(server string) bool {
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

// plainServer returns a server's name in the form that hosts use in prefixes.
func plainServer(server string) string {
	return strings.Map(func(r rune) rune {
		if r == '*' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(server))
}

// match lists the legacy tools that a pattern matches, sorted by name.
func (s Search) match(pattern string) (list []*migration.Tool) {
	for _, old := range s.Names() {
		if globbed(pattern, old) {
			list = append(list, s.Tool(old))
		}
	}
	return list
}

// globbed reports whether a pattern matches a name. Apart from * in the pattern, both consist of
// letters, digits, _ and -.
func globbed(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
