package toolfold

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolfold/toolfold/internal/ordered"
)

// Caller runs an action by any accepted name, with its permissions, validation
// and traces. *call.Runner implements it.
type Caller interface {
	Call(ctx context.Context, name string, args json.RawMessage) Answer
}

// Names finds what a name means. *call.Runner implements it.
type Names interface {
	// Lookup returns the entries that a name stands for: one, or all actions
	// of a tool that takes an action argument. It is empty for an unknown name.
	Lookup(name string) []*Entry
	// Nearest returns the name closest to an unknown one, empty when none is near.
	Nearest(name string) string
}

// Do calls an action of another family and decodes its result into Out. An
// error that the action answered is returned as an [*Error].
func Do[Out any](ctx context.Context, c Caller, name string, in any) (out Out, err error) {
	args, err := ordered.JSON(in)
	if err != nil {
		return out, fmt.Errorf("encoding arguments of %s: %w", name, err)
	}
	answer := c.Call(ctx, name, args)
	if answer.Err != nil {
		return out, answer.Err
	}
	if err := json.Unmarshal(answer.Content, &out); err != nil {
		return out, fmt.Errorf("decoding result of %s: %w", name, err)
	}
	return out, nil
}

// DefaultResultLimit is the most bytes of an answer to a client when nothing
// else is said, about 8,000 tokens.
const DefaultResultLimit = 28_000

// Answer is the outcome of a call.
type Answer struct {
	Content json.RawMessage // the result object, or {"error": …}
	Err     *Error          // nil for success

	// Deprecated is set when the call used a legacy name: how to call it now.
	Deprecated *Deprecation
}

// IsError reports whether the call failed.
func (a Answer) IsError() bool { return a.Err != nil }

// Fail returns the answer to a call that failed.
func Fail(err *Error) Answer {
	return Answer{Err: err, Content: ordered.MustJSON(map[string]*Error{"error": err})}
}

// Deprecation tells a caller of a legacy name the present one.
type Deprecation struct {
	Tool   string `json:"tool"`
	Action string `json:"action,omitempty"`
}

// Forward is the result of an action that stands for another call: that call
// is run in its place, and its answer is the answer.
type Forward struct {
	Name      string
	Arguments json.RawMessage
}

// Origin is the source of a call. The zero Origin is a call from within
// the server, with all rights.
type Origin struct {
	// Session identifies the connection; empty where there is none.
	Session string

	// Client is the name that the caller gives itself, after that of its token where it
	// has one. Callers choose it: it identifies them to people only.
	Client string

	// ListGrows says that the list of the session may change: its protocol is
	// 2025-11-25 or older. Later ones forbid that a call changes a list.
	ListGrows bool

	// Rights limits what the caller may see and call; nil allows everything.
	Rights *Rights
}

type originKey struct{}

// WithOrigin returns a context for calls that come from o.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf returns where the call comes from that ctx belongs to.
func OriginOf(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}
