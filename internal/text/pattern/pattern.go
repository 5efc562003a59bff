// Package pattern matches names with the patterns in rules.
package pattern

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// hostPrefix matches the prefix that hosts add to the names of our tools.
var hostPrefix = regex.Lazy(`^(mcp_+)?toolfold[_.\-/]+`)

// Pattern is a name in which * stands for any characters.
type Pattern string

// Parse parses a pattern as users write it, with or without a host's prefix.
func Parse(text string) Pattern {
	text = strings.TrimSpace(text)
	if strings.Contains(text, "toolfold") {
		text = hostPrefix().ReplaceAllString(text, "")
	}
	return Pattern(text)
}

// AsIs parses a pattern that may contain spaces and commas.
func AsIs(text string) Pattern { return Pattern(escape(text, "")) }

// Name returns a name as rules write it: *, %, separators and invisible characters are escaped as
// in URLs.
func Name(name string) string { return escape(name, "*%") }

// escape escapes commas, spaces, unprintable characters and those in more, as in URLs.
func escape(text, more string) string {
	plain := func(r rune) bool { return r != ' ' && r != ',' && unicode.IsPrint(r) && !strings.ContainsRune(more, r) }
	if !strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if plain(r) {
			b.WriteRune(r)
			continue
		}
		for _, octet := range []byte(string(r)) {
			fmt.Fprintf(&b, "%%%02X", octet)
		}
	}
	return b.String()
}

// Start returns the text before the first *, or the whole pattern if it has no *.
func (p Pattern) Start() string {
	start, _, _ := strings.Cut(string(p), "*")
	return start
}

// Exact reports whether the pattern has no *, so that it matches one name.
func (p Pattern) Exact() bool { return !strings.Contains(string(p), "*") }

// Match reports whether the pattern matches a whole name.
func (p Pattern) Match(name string) bool {
	part, rest, more := strings.Cut(string(p), "*")
	if !more {
		return name == part
	}
	name, found := strings.CutPrefix(name, part)
	for found {
		if part, rest, more = strings.Cut(rest, "*"); !more {
			return strings.HasSuffix(name, part)
		}
		_, name, found = strings.Cut(name, part)
	}
	return false
}
