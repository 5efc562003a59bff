// Package pattern matches names with what rules name.
package pattern

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// hostPrefix is put by hosts in front of the names of a server's tools.
var hostPrefix = regex.Lazy(`^(mcp_+)?toolfold[_.\-/]+`)

// Pattern is what a rule names: a name in which * stands for any characters.
type Pattern string

// Parse reads a pattern as users write it, also with the prefix that hosts put in
// front of names.
func Parse(text string) Pattern {
	text = strings.TrimSpace(text)
	if strings.Contains(text, "toolfold") {
		text = hostPrefix().ReplaceAllString(text, "")
	}
	return Pattern(text)
}

// AsIs reads a pattern in which settings may have a name with blanks and commas.
func AsIs(text string) Pattern { return Pattern(escaped(text, "")) }

// Name returns a name as rules write it: * and %, what separates rules and what is not seen, as in URLs.
func Name(name string) string { return escaped(name, "*%") }

// escaped returns a text in which commas, blanks, characters that are not seen, and more, are
// written as in URLs.
func escaped(text, more string) string {
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

// Start returns the text before the first *, which is the whole of a pattern without one.
func (p Pattern) Start() string {
	start, _, _ := strings.Cut(string(p), "*")
	return start
}

// Exact reports whether the pattern has no *, and so matches one name.
func (p Pattern) Exact() bool { return !strings.Contains(string(p), "*") }

// Match reports whether the pattern matches the whole of a name.
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
