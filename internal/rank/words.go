package rank

import (
	"strings"
	"unicode"
)

// unspaced are the scripts that do not put spaces between words.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// sentences splits text where a sentence or a line ends. The last of at most
// limit sentences holds all the rest.
func sentences(text string, limit int) []string {
	var all []string
	start, runes := 0, []rune(text)
	for i, r := range runes {
		if len(all) < limit-1 && endsSentence(r, runes[i+1:]) {
			all = append(all, string(runes[start:i]))
			start = i + 1
		}
	}
	return append(all, string(runes[start:]))
}

// endsSentence reports whether r ends a sentence in front of rest; the stop
// in note.create and 3.5 does not.
func endsSentence(r rune, rest []rune) bool {
	switch r {
	case '\n', ';', '。', '！', '？', '；', '؟':
		return true
	case '.', '!', '?':
		return len(rest) == 0 || unicode.IsSpace(rest[0])
	}
	return false
}

// chunks splits text at everything that is not a letter or digit. A rune of
// an unspaced script is a chunk of its own.
func chunks(text string) []string {
	var all []string
	start := -1
	end := func(i int) {
		if start >= 0 {
			all = append(all, text[start:i])
			start = -1
		}
	}
	for i, r := range text {
		switch {
		case r >= unicode.MaxLatin1 && unicode.In(r, unspaced...):
			end(i)
			all = append(all, string(r))
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			if start < 0 {
				start = i
			}
		default:
			end(i)
		}
	}
	end(len(text))
	return all
}

// fold makes letters equal that differ in case only, such as the three sigmas.
func fold(s string) string { return strings.ToLower(strings.ToUpper(s)) }

// parts splits a chunk where its letters change case, as in getPDFFile, and
// between letters and digits, and folds them.
func parts(chunk string) []string {
	runes := []rune(chunk)
	var all []string
	start := 0
	for i := 1; i < len(runes); i++ {
		if bound(runes, i) {
			all = append(all, fold(string(runes[start:i])))
			start = i
		}
	}
	return append(all, fold(string(runes[start:])))
}

// bound reports whether a new part begins at i. Two lower-case letters must
// follow the last of several capitals, so that IDs stays whole.
func bound(runes []rune, i int) bool {
	before, here := runes[i-1], runes[i]
	if unicode.IsDigit(before) != unicode.IsDigit(here) {
		return true
	}
	if !unicode.IsUpper(here) {
		return false
	}
	if unicode.IsLower(before) {
		return true
	}
	return unicode.IsUpper(before) && i+2 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsLower(runes[i+2])
}
