package expression

import (
	"fmt"
	"strings"
)

// The delimiters of a placeholder.
const (
	Opening = "{{"
	Closing = "}}"
)

// Placeholder finds the first placeholder of a text. It returns the source of its expression, and
// the text before and after it. If there is no placeholder, before is the whole text.
func Placeholder(text string) (before, source, after string, found bool, err error) {
	before, rest, found := strings.Cut(text, Opening)
	if !found {
		return before, "", "", false, nil
	}
	end := placeholderEnd(rest)
	if end < 0 {
		return before, "", rest, false, fmt.Errorf("%s without %s", Opening, Closing)
	}
	return before, strings.TrimSpace(rest[:end]), rest[end+len(Closing):], true, nil
}

// placeholderEnd returns the index of a placeholder's end, skipping braces and quotes of its
// expression, or -1 if it is not closed.
func placeholderEnd(s string) int {
	depth, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0:
			if c == '\\' && quote != '`' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			depth--
		case strings.HasPrefix(s[i:], Closing):
			return i
		}
	}
	return -1
}
