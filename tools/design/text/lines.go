package text

import (
	"strings"
	"unicode"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Lines splits a text into its lines, without blank ones at either end. What
// some language takes for the end of a line ends one. Control characters, and
// marks that turn the direction of a line around, become spaces: compilers
// refuse them and readers do not see them. An empty text has no lines.
func Lines(s string) []string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == 0x85 || r == 0x2028 || r == 0x2029:
			return '\n'
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Noncharacter_Code_Point, r):
			return ' '
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
	lines := strings.Split(strings.Trim(clean, "\n "), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// Line writes a text on one line.
func Line(s string) string {
	return strings.Join(strings.Fields(strings.Join(Lines(s), " ")), " ")
}

// Quote writes a text as a literal in double quotes that JSON, JavaScript and
// TypeScript read back as it was.
func Quote(s string) string {
	return string(ordered.MustJSON(s))
}
