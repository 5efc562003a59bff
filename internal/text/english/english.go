// Package english helps to build sentences: numbers with their nouns, singulars, and capitalization.
package english

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Count returns a number with its noun, optionally followed by a verb. one is the form for 1.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Grouped returns a non-negative number with a comma before every three digits.
func Grouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// UpperFirst returns a text with an upper-case first letter.
func UpperFirst(text string) string { return withFirst(text, unicode.ToUpper) }

// LowerFirst returns a text with a lower-case first letter.
func LowerFirst(text string) string { return withFirst(text, unicode.ToLower) }

func withFirst(text string, change func(rune) rune) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 || first == utf8.RuneError {
		return text
	}
	return string(change(first)) + text[size:]
}

// Singular cuts the ending of a plural noun.
func Singular(noun string) string {
	if stem, ok := strings.CutSuffix(noun, "ies"); ok {
		return stem + "y"
	}
	return strings.TrimSuffix(noun, "s")
}
