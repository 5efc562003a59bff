// Package text turns the names and descriptions of callers into identifiers,
// comments and literals of target languages. Nothing that it returns can end
// the comment or literal that it stands in.
//
// It is not a stable API: see docs/stability.md.
package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Words splits a name into its words, each as it was written: at every
// character that identifiers do not have, and where a capital letter starts a
// word. Letters lose their accents. It returns nil for a name that cannot be
// written in ASCII letters and digits: one that has none of them, or a letter
// of another script.
func Words(name string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, string(word))
		}
		word = nil
	}
	runes := []rune(norm.NFKD.String(name))
	for i, r := range runes {
		switch {
		case unicode.IsMark(r): // the accent of the letter before it
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			if startsWord(runes, i) {
				end()
			}
			word = append(word, r)
		case unicode.IsLetter(r) || unicode.IsNumber(r):
			return nil
		default:
			end()
		}
	}
	end()
	return words
}

// startsWord reports whether the letter at i starts a word by its case: after
// a small letter, and before one at the end of capitals, as S in HTTPServer.
func startsWord(runes []rune, i int) bool {
	if i == 0 || !unicode.IsUpper(runes[i]) {
		return false
	}
	before := runes[i-1]
	if unicode.IsUpper(before) {
		return i+1 < len(runes) && unicode.IsLower(runes[i+1])
	}
	return unicode.IsLower(before) || unicode.IsDigit(before)
}

// Pascal writes words as an identifier like OrderItem. A single word that is
// written with a capital stays as it is.
func Pascal(words []string) string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString(capital(w))
	}
	return notFirst(b.String(), 'X')
}

// Camel writes words as an identifier like orderItem.
func Camel(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i == 0 {
			b.WriteString(strings.ToLower(w))
			continue
		}
		b.WriteString(capital(w))
	}
	return notFirst(b.String(), 'x')
}

// Snake writes words as an identifier like order_item.
func Snake(words []string) string {
	return notFirst(strings.ToLower(strings.Join(words, "_")), 'x')
}

// Lower writes words as an identifier like orderitem.
func Lower(words []string) string {
	return notFirst(strings.ToLower(strings.Join(words, "")), 'x')
}

// capital writes a word with a capital first letter. Words that are capitals
// throughout keep them where they are short, as acronyms: ID, HTTP.
func capital(w string) string {
	if len(w) > 4 && strings.ToUpper(w) == w {
		w = strings.ToLower(w)
	}
	return strings.ToUpper(w[:1]) + w[1:]
}

// notFirst puts a letter before a digit, with which no identifier starts.
func notFirst(s string, letter byte) string {
	if s != "" && s[0] >= '0' && s[0] <= '9' {
		return string(letter) + s
	}
	return s
}
