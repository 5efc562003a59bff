package schema

import (
	"strings"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// repetition matches the operator after a repeated expression.
var repetition = regex.Lazy(`^(?:[*+?]|\{\d+(?:,\d*)?\})\??`)

// divergence finds the first part of an expression of RE2 that JavaScript reads differently, or rejects with the flag u, which
// validators of JSON Schema set. It returns what to write instead, or an empty string if there is no such part. The
// expression must compile.
func divergence(pattern string) (want string) {
	afterAssertion := false
	for i := 0; i < len(pattern); {
		rest, size, assertion := pattern[i:], 1, false
		switch c := rest[0]; {
		case strings.HasPrefix(rest, `[\s\S]`) || strings.HasPrefix(rest, `[\S\s]`): // any character
			size = len(`[\s\S]`)
		case c == '[':
			size, want = class(rest)
		case c == '\\':
			size, want = 2, escape(rest[1], `bB^$\.*+?()[]{}|/dDwWfnrtv`)
			assertion = rest[1] == 'b' || rest[1] == 'B'
		case strings.HasPrefix(rest, "(?:"):
			size = len("(?:")
		case strings.HasPrefix(rest, "(?"):
			want = "groups as ( or (?: without names and flags"
		case c == '^' || c == '$':
			assertion = true
		case c == ']' || c == '}' || c == '{' && !repetition().MatchString(rest):
			want = `\` + string(c) + " in place of " + string(c) + " alone"
		case strings.IndexByte("*+?{", c) >= 0:
			size = len(repetition().FindString(rest))
			if afterAssertion {
				want = `^, $, \b and \B without repetition`
			}
		}
		if want != "" {
			return want
		}
		i += size
		afterAssertion = assertion
	}
	return ""
}

// scriptPattern writes an expression without divergence for JavaScript, whose dot excludes more line ends than that of RE2.
func scriptPattern(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); {
		rest, size := pattern[i:], 1
		switch {
		case strings.HasPrefix(rest, `[\s\S]`) || strings.HasPrefix(rest, `[\S\s]`):
			size = len(`[\s\S]`)
		case rest[0] == '[':
			size, _ = class(rest)
		case rest[0] == '\\':
			size = 2
		}
		if part := rest[:size]; part == "." {
			b.WriteString(`[^\n]`)
		} else {
			b.WriteString(part)
		}
		i += size
	}
	return b.String()
}

// class does for the class that an expression starts with what divergence does: size is its length in bytes.
func class(pattern string) (size int, want string) {
	i := len("[")
	if pattern[i] == '^' {
		i++
	}
	if pattern[i] == ']' {
		return 0, `\] in place of ] in a class`
	}
	afterSet := false
	for pattern[i] != ']' {
		set := false
		switch {
		case pattern[i] == '\\':
			i++
			want = escape(pattern[i], `^$\.*+?()[]{}|/dDwWfnrtv-`)
			set = strings.IndexByte("dDwW", pattern[i]) >= 0
		case strings.HasPrefix(pattern[i:], "[:"):
			want = `ranges such as a-z in place of a class by name, or \[:`
		case pattern[i] == '-' && afterSet && pattern[i+1] != ']':
			want = `\- in place of - in a class`
		}
		if want != "" {
			return 0, want
		}
		afterSet = set
		i++
	}
	return i + 1, ""
}

// escape returns what to write in place of a backslash and a character, or an empty string if the character is in allowed.
func escape(c byte, allowed string) (want string) {
	switch {
	case strings.IndexByte(allowed, c) >= 0:
		return ""
	case c == 's':
		return `[ \t\n\r\f] in place of \s`
	case c == 'S':
		return `[^ \t\n\r\f] in place of \S`
	case c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z':
		return `characters, ranges or anchors in place of \` + string(c)
	}
	return string(c) + ` in place of \` + string(c)
}
