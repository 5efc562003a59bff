// Package bounds holds the answer of a call to its size: what a list may
// fill, and the mark of texts that were cut.
package bounds

import (
	"context"
	"strconv"
	"strings"
)

// DefaultLimit is the most bytes of an answer to a client when nothing else is
// said, about 8,000 tokens.
const DefaultLimit = 28_000

type roomKey struct{}

// With returns a context that carries how many bytes the answer of a call
// may have; 0 is no bound.
func With(ctx context.Context, bytes int) context.Context {
	return context.WithValue(ctx, roomKey{}, bytes)
}

// Room returns how many bytes the answer of a call may have; 0 is no bound. It
// is known to lists only, for entries that must not be cut.
func Room(ctx context.Context) int {
	bytes, _ := ctx.Value(roomKey{}).(int)
	return bytes
}

// What stands at the end of a text that was cut, around a number.
const (
	cutMark    = "… [cut: "
	cutMarkEnd = " more characters]"
)

// CutText returns the beginning of a text that was cut, marked so that no one
// takes it for the whole; left is the number of characters that are missing.
func CutText(beginning string, left int) string {
	return beginning + cutMark + strconv.Itoa(left) + cutMarkEnd
}

// IsCut reports whether a text ends with the mark of [CutText].
func IsCut(text string) bool {
	text, marked := strings.CutSuffix(text, cutMarkEnd)
	at := strings.LastIndex(text, cutMark)
	if !marked || at < 0 {
		return false
	}
	left, err := strconv.Atoi(text[at+len(cutMark):])
	return err == nil && left > 0
}
