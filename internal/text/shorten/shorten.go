// Package shorten cuts texts to a number of characters, and marks the cut.
package shorten

import (
	"strconv"
	"strings"
)

// Quoted cuts a caller's text to 40 characters, for quoting in an error.
func Quoted(s string) string { return To(s, 40) }

// To cuts s to at most n characters and marks the cut.
func To(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}

// Words cuts s to at most n characters, after the last word that fits, and marks the cut. It cuts
// within a word if there is no space in the second half.
func Words(s string, n int) string {
	if To(s, n) == s {
		return s
	}
	cut := strings.TrimSuffix(To(s, n), "…")
	if at := strings.LastIndexByte(cut, ' '); s[len(cut)] != ' ' && at > len(cut)/2 {
		cut = cut[:at]
	}
	return strings.TrimRight(cut, " ,;:") + "…"
}

// The mark of a cut text, around a number.
const (
	cutMark    = "… [cut: "
	cutMarkEnd = " more characters]"
)

// Cut returns the beginning of a text with a mark, so that nobody mistakes it for the whole. left
// is the number of missing characters.
func Cut(beginning string, left int) string {
	return beginning + cutMark + strconv.Itoa(left) + cutMarkEnd
}

// IsCut reports whether a text ends with the mark of [Cut].
func IsCut(text string) bool {
	text, marked := strings.CutSuffix(text, cutMarkEnd)
	at := strings.LastIndex(text, cutMark)
	if !marked || at < 0 {
		return false
	}
	left, err := strconv.Atoi(text[at+len(cutMark):])
	return err == nil && left > 0
}
