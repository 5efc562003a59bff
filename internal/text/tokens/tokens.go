// Package tokens counts the o200k_base tokens of texts.
package tokens

import (
	"fmt"
	"unicode/utf8"
)

// Count counts the o200k_base tokens of a text. The first call unpacks the vocabulary, which takes
// about 10 ms and 5 MB until [Release]. It is safe for concurrent use.
func Count(text string) (int, error) {
	ranks, err := vocabulary.get()
	if err != nil {
		return 0, fmt.Errorf("counting tokens: %w", err)
	}
	if !utf8.ValidString(text) {
		text = string([]rune(text)) // models get U+FFFD for each invalid byte
	}
	n := 0
	for len(text) > 0 {
		end := pieceEnd(text)
		n += ranks.count(text[:end])
		text = text[end:]
	}
	return n, nil
}
