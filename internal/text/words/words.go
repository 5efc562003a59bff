// Package words splits text into words and makes words comparable: folded in
// case and accents, and reduced to English stems.
//
// Every script is split. Scripts written without spaces between words, such as
// Han, Hangul and Thai, are split into characters. Stems, irregular forms and
// stop words are English; other words compare by their folded letters.
package words

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// maxWord limits a word, in characters: an encoded image is one word, and databases limit the
// length of words.
const maxWord = 64

// Word is a word of a text.
type Word struct {
	// Text is the folded word.
	Text string

	// Parts are the folded parts of a compound such as deployFreeze, getPDFFile
	// or v2. Nil for a word in one piece.
	Parts []string

	// Char is set for a single character of a script without spaces.
	Char bool

	// Joined is set for a Char that directly follows another Char.
	Joined bool

	// Hyphened is set for a word that a hyphen joins to the word before.
	Hyphened bool
}

// Split yields the words of a text in order. All characters except letters, digits and symbols such
// as emoji only separate words.
func Split(text string) iter.Seq[Word] {
	return func(yield func(Word) bool) {
		text := norm.NFKC.String(text)
		start, current := 0, separator
		joined, hyphened, end := false, false, 0
		for i := 0; i <= len(text); {
			r, size := utf8.DecodeRuneInString(text[i:])
			next := separator
			if i < len(text) {
				next = kindOf(r, current)
			}
			if next == current && current != symbol {
				if i == len(text) {
					break
				}
				// A vowel sign or accent stays with its character.
				if current != char || unicode.In(r, unicode.Mn, unicode.Mc) {
					i += size
					continue
				}
			}
			if current != separator {
				w := Word{Text: Fold(text[start:i]), Char: current == char, Joined: joined}
				if current == letter {
					w.Parts = parts(text[start:i])
					w.Hyphened = hyphened
				}
				end = i
				if !yield(w) {
					return
				}
			}
			if i == len(text) {
				break
			}
			joined = current == char && next == char
			hyphened = next == letter && end > 0 && isHyphen(text[end:i])
			start, current = i, next
			i += size
		}
	}
}

func isHyphen(s string) bool { return s == "-" || s == "\u2010" || s == "\u2011" }

// kind is the role of a character in a text.
type kind int

const (
	separator kind = iota
	letter         // part of a word, digits included
	char           // of a script without spaces
	symbol         // a word of its own, such as an emoji
)

// unspaced are the scripts without spaces between words, and Hangul, whose
// words carry their grammar in endings.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo, unicode.Hangul,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
}

// kindOf returns the kind of r after a character of kind before.
func kindOf(r rune, before kind) kind {
	switch {
	case r < utf8.RuneSelf:
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return letter
		}
		return separator
	case unicode.Is(unicode.Variation_Selector, r):
		return separator
	case unicode.In(r, unicode.Mn, unicode.Mc) && before != symbol && before != separator:
		return before
	case unicode.In(r, unspaced...) || r == 'ー':
		return char
	case unicode.IsLetter(r) || unicode.IsNumber(r):
		return letter
	case unicode.Is(unicode.So, r) && r != utf8.RuneError:
		return symbol
	}
	return separator
}

// parts splits a word where its case changes and between letters and digits, and folds the parts.
// It returns nil if there is only one part.
func parts(word string) []string {
	if inOnePiece(word) {
		return nil
	}
	chars := []rune(word)
	var all []string
	start := 0
	for i := 1; i < len(chars); i++ {
		before, here := chars[i-1], chars[i]
		// Two lower-case letters must follow the last of several capitals, so
		// that IDs stays whole.
		bound := unicode.IsDigit(before) != unicode.IsDigit(here) && !unicode.Is(unicode.M, here) ||
			unicode.IsUpper(here) && unicode.IsLower(before) ||
			unicode.IsUpper(here) && unicode.IsUpper(before) &&
				i+2 < len(chars) && unicode.IsLower(chars[i+1]) && unicode.IsLower(chars[i+2])
		if bound {
			all = append(all, Fold(string(chars[start:i])))
			start = i
		}
	}
	if start == 0 {
		return nil
	}
	return append(all, Fold(string(chars[start:])))
}

// inOnePiece is a fast check for words that are not compounds. It may return false for such a word.
func inOnePiece(word string) bool {
	for i := 1; i < len(word); i++ {
		if word[i] < 'a' || 'z' < word[i] {
			return false
		}
	}
	return word[0] < utf8.RuneSelf && (word[0] < '0' || '9' < word[0])
}

// strokes are letters whose stroke or ligature has no decomposition.
var strokes = strings.NewReplacer("ø", "o", "ł", "l", "đ", "d", "ħ", "h", "ı", "i", "æ", "ae", "œ", "oe", "ð", "d", "þ", "th")

// Fold removes differences in case and accents, and cuts a long word to 64 characters. Marks that
// are letters, such as the vowel signs of Indic scripts, stay.
func Fold(word string) string {
	if isASCII(word) {
		word = strings.ToLower(word)
	} else {
		word = norm.NFKD.String(cases.Fold().String(word))
		word = strings.Map(func(r rune) rune {
			if 0x300 <= r && r <= 0x36f {
				return -1
			}
			return r
		}, word)
		word = strokes.Replace(norm.NFKC.String(word))
	}
	if len(word) <= maxWord {
		return word
	}
	if chars := []rune(word); len(chars) > maxWord {
		return string(chars[:maxWord])
	}
	return word
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
