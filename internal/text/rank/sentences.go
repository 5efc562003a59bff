package rank

import (
	"iter"
	"unicode"
	"unicode/utf8"
)

// sentences yields the sentences of a text, at most limit. The end of a line ends a sentence too.
// The last sentence contains all the rest.
func sentences(text string, limit int) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, n := 0, 1
		for i, r := range text {
			if n == limit {
				break
			}
			size := utf8.RuneLen(r)
			if r != utf8.RuneError && endsSentence(r, text[i+size:]) {
				if !yield(text[start:i]) {
					return
				}
				start = i + size
				n++
			}
		}
		yield(text[start:])
	}
}

// endsSentence reports whether r ends a sentence in front of rest; the stop
// in note.create and 3.5 does not.
func endsSentence(r rune, rest string) bool {
	switch r {
	case '\n', ';', '。', '！', '？', '；', '؟':
		return true
	case '.', '!', '?':
		next, _ := utf8.DecodeRuneInString(rest)
		return rest == "" || unicode.IsSpace(next)
	}
	return false
}
