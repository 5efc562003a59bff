package memory

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// maxWord is how many characters of a word count: an encoded image is one
// word, and databases limit the length of a word.
const maxWord = 64

// unspaced are the scripts that are written without spaces between words.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
}

// kind is what a character is to the splitter.
type kind int

const (
	separator kind = iota
	letter         // part of a word
	ideograph      // part of a run without spaces
	symbol         // a word of its own, such as an emoji
)

// kindOf tells what r is after a character of kind before: accents and vowel
// signs belong to the word they stand in.
func kindOf(r rune, before kind) kind {
	switch {
	case r < utf8.RuneSelf:
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return letter
		}
		return separator
	case unicode.In(r, unspaced...) || r == 'ー':
		return ideograph
	case unicode.IsLetter(r) || unicode.IsNumber(r):
		return letter
	case unicode.Is(unicode.Variation_Selector, r):
		return separator
	case unicode.In(r, unicode.Mn, unicode.Mc) && before != symbol:
		return before
	case unicode.Is(unicode.So, r) && r != utf8.RuneError:
		return symbol
	}
	return separator
}

// run is a stretch of characters of one kind, as written.
type run struct {
	text string
	kind kind
}

// runs splits text where the kind of character changes. Compatible forms of
// a character, such as the wide Latin letters, are made one first.
func runs(text string) iter.Seq[run] {
	return func(yield func(run) bool) {
		text := norm.NFKC.String(text)
		start, current := 0, separator
		for i, r := range text {
			k := kindOf(r, current)
			if k == current && k != symbol {
				continue
			}
			if current != separator && !yield(run{text[start:i], current}) {
				return
			}
			start, current = i, k
		}
		if current != separator {
			yield(run{text[start:], current})
		}
	}
}

// indexed yields the words under which a text is found: each word, the parts
// of words in camel case, and of scripts without spaces each character and
// each pair.
func indexed(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for r := range runs(text) {
			for _, w := range r.indexed() {
				if !yield(fold(w)) {
					return
				}
			}
		}
	}
}

// asked yields the words that a query asks for. Words in camel case stay
// whole: javaScript asks for what JavaScript and javascript are found under.
func asked(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for r := range runs(text) {
			for _, w := range r.asked() {
				if !yield(fold(w)) {
					return
				}
			}
		}
	}
}

func (r run) indexed() []string {
	if r.kind == ideograph {
		return r.pairs(true)
	}
	return append(camelParts(r.text), r.text)
}

func (r run) asked() []string {
	if r.kind == ideograph {
		return r.pairs(false)
	}
	return []string{r.text}
}

// pairs lists the overlapping pairs of characters, and the single characters
// too when asked for or when there is only one.
func (r run) pairs(singles bool) []string {
	chars := []rune(r.text)
	var list []string
	for i := range chars {
		if singles || len(chars) == 1 {
			list = append(list, string(chars[i:i+1]))
		}
		if i > 0 {
			list = append(list, string(chars[i-1:i+1]))
		}
	}
	return list
}

// camelParts splits deployFreeze and HTTPServer. A word in one piece has no
// parts.
func camelParts(word string) []string {
	chars := []rune(word)
	var parts []string
	start := 0
	for i := 1; i < len(chars); i++ {
		hump := unicode.IsUpper(chars[i]) &&
			(!unicode.IsUpper(chars[i-1]) || i+1 < len(chars) && unicode.IsLower(chars[i+1]))
		if hump {
			parts = append(parts, string(chars[start:i]))
			start = i
		}
	}
	if start == 0 {
		return nil
	}
	return append(parts, string(chars[start:]))
}

// fold makes letters that differ in case equal, and cuts long words.
func fold(word string) string {
	if isASCII(word) {
		word = strings.ToLower(word)
	} else {
		word = cases.Fold().String(word)
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
