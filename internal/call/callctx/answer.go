package callctx

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Forward is the result of an action that forwards to another call. That call runs, and its answer
// becomes the answer.
type Forward struct {
	Name      string
	Arguments json.RawMessage

	// Save receives the whole result of the call, unless the call fails. Nil = the result becomes the answer.
	Save Save
}

// Save stores a result and returns the object that becomes the answer in its place. After an error,
// whose text is for the caller, the result becomes the answer as usual.
type Save func(ctx context.Context, result Whole) (answer any, err error)

// Whole is a result without a limit, in the form of a file.
type Whole struct {
	MimeType string
	Data     []byte
	Items    int // of a list, with all its pages; zero for other results
}

// TypeJSON and TypeText are the media types of results that are not encoded bytes.
const (
	TypeJSON = "application/json"
	TypeText = "text/plain"
)

// DefaultRoom is the default maximum of bytes of an answer to a client, about 8,000 tokens.
const DefaultRoom = 28_000

// room is the maximum number of bytes of an answer.
type room int

// WithRoom returns a context with the maximum number of bytes of the call's answer; 0 = no limit.
func WithRoom(ctx context.Context, bytes int) context.Context { return With(ctx, room(bytes)) }

// Room returns the maximum number of bytes of the call's answer; 0 = no limit. It is set for lists
// only, whose entries must not be cut.
func Room(ctx context.Context) int { return int(Of[room](ctx)) }

// fields are the paths of the result fields that a call selects.
type fields []string

// WithFields returns a context with the result fields that a call selects, as dotted paths. No
// paths select all fields.
func WithFields(ctx context.Context, paths []string) context.Context {
	if len(paths) == 0 {
		return ctx
	}
	return With(ctx, fields(paths))
}

// Wants reports whether the call selected a result field, or a member of it. Actions check it for
// members that are omitted by default.
func Wants(ctx context.Context, field string) bool {
	return slices.ContainsFunc(Of[fields](ctx), func(path string) bool {
		return path == field || strings.HasPrefix(path, field+".")
	})
}

// LeavesOut reports whether the call selected result fields, but not this one. Actions check it for members that
// cost time.
func LeavesOut(ctx context.Context, field string) bool {
	return len(Of[fields](ctx)) > 0 && !Wants(ctx, field)
}

// briefLength limits a long text in a list, in characters.
const briefLength = 160

// Brief returns a text for a list, shortened with a mark, or complete if the call selected its
// field.
func Brief(ctx context.Context, field, text string) string {
	if Wants(ctx, field) {
		return text
	}
	return shorten.To(text, briefLength)
}

// Notice receives a line about an answer for a person, such as the number of entries written to a
// file. The answer has the same information.
type Notice func(line string)

// Notify passes a line to the [Notice] of a call, if it has one.
func Notify(ctx context.Context, line string) {
	if notice := Of[Notice](ctx); notice != nil {
		notice(line)
	}
}

// Warning receives a warning about a call for its caller. The answer has it beside the result.
type Warning func(text string)

// Warn passes a text to the [Warning] of a call, if it has one.
func Warn(ctx context.Context, text string) {
	if warn := Of[Warning](ctx); warn != nil {
		warn(text)
	}
}
