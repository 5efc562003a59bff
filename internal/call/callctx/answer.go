package callctx

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Forward is the result of an action that stands for another call. That call runs in its
// place, and its answer is the answer.
type Forward struct {
	Name      string
	Arguments json.RawMessage
}

// DefaultRoom is the most bytes of an answer to a client when nothing else is
// said, about 8,000 tokens.
const DefaultRoom = 28_000

// room is the most bytes of an answer.
type room int

// WithRoom returns a context that carries how many bytes the answer of a call
// may have; 0 is no bound.
func WithRoom(ctx context.Context, bytes int) context.Context { return With(ctx, room(bytes)) }

// Room returns how many bytes the answer of a call may have; 0 is no bound. It
// is known to lists only, for entries that must not be cut.
func Room(ctx context.Context) int { return int(Of[room](ctx)) }

// fields are the paths of the result fields that a call names.
type fields []string

// WithFields returns a context that carries the result fields that a call keeps, as dotted
// paths. No paths keep all fields.
func WithFields(ctx context.Context, paths []string) context.Context {
	if len(paths) == 0 {
		return ctx
	}
	return With(ctx, fields(paths))
}

// Wants reports whether the call named a result field, or something in it. Actions ask for
// members that are left out unless the call names them.
func Wants(ctx context.Context, field string) bool {
	return slices.ContainsFunc(Of[fields](ctx), func(path string) bool {
		return path == field || strings.HasPrefix(path, field+".")
	})
}

// briefLength is the most characters of a long text in a list.
const briefLength = 160

// Brief returns the beginning of a text for a list, marked where it is cut, or
// the whole text if the call named its field.
func Brief(ctx context.Context, field, text string) string {
	if Wants(ctx, field) {
		return text
	}
	return shorten.To(text, briefLength)
}

// Notice takes a line about an answer for the person who reads beside it, such as how many
// entries went into a file. Nothing in the line is missing from the answer.
type Notice func(line string)

// Notify hands a line to the [Notice] of a call; without one it does nothing.
func Notify(ctx context.Context, line string) {
	if notice := Of[Notice](ctx); notice != nil {
		notice(line)
	}
}
