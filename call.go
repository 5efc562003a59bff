package toolfold

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Caller runs an action by any accepted name, with its permissions, validation
// and traces. serve.Server.Caller and toolfoldtest.Runner return one.
type Caller interface {
	Call(ctx context.Context, name string, args json.RawMessage) Answer
}

// Do calls an action of any family by name and decodes its result into Out. The call has the
// rights and the origin of ctx. An error that the action answered is returned as an [*Error].
//
// A nil Caller means the server that runs the call of ctx: methods of a service pass nil and their
// own context. Outside a call, a nil Caller is an error; use serve.Server.Caller there.
func Do[Out any](ctx context.Context, c Caller, name string, in any) (out Out, err error) {
	if c == nil {
		c = callctx.Of[Caller](ctx)
	}
	if c == nil {
		return out, fmt.Errorf("calling %s: no caller is given, and the context is not of a call", name)
	}
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

// Answer is the outcome of a call.
type Answer struct {
	Content json.RawMessage // the result object, or {"error": …}
	Err     *Error          // nil for success

	// Reply is the CallToolResult that clients get in place of Content, if another MCP server gave the answer.
	// Nil for all other answers.
	Reply json.RawMessage

	// Failed reports that the request failed, and that Content shows its partial result, see [Failing].
	Failed bool

	// Typed answers go to clients as structured content too, because the tool that was called lists
	// an output schema. Errors are text only.
	Typed bool

	// TaskID names the task that will have the answer, if the client accepts tasks. Empty if this
	// is the answer.
	TaskID string

	// RestID is the id under which tools.rest reads the whole of a truncated answer. Empty for all other answers.
	RestID string

	// Deprecated shows how to call the action now, if the call used a legacy name.
	Deprecated *Deprecation
}

// IsError reports whether a client gets the answer as a failed call.
func (a Answer) IsError() bool { return a.Err != nil || a.Failed }

// A Failing result may report a failure, such as a run that made something before one of its steps
// failed. Clients get it as a failed call. Steps and tasks read the result instead.
type Failing interface {
	Failed() bool
}

// Deprecation names the current tool and action for a caller of a legacy name.
type Deprecation struct {
	Tool   string `json:"tool"`
	Action string `json:"action,omitempty"`
}

// Origin is the source of a call. The zero Origin is a call from within
// the server, with all rights.
type Origin struct {
	// Session identifies the connection; empty if there is no connection.
	Session string

	// Token identifies the bearer token of the caller; empty if the server requires no token.
	Token string

	// Client is the name that the client gives itself, after the name of its token if it has one.
	// Clients choose it freely: use it for display only.
	Client string

	// Caller is the name of the caller's token; empty if the server requires no token, or the token
	// has no name.
	Caller string

	// ListGrows reports whether the list of the session may change: its protocol is 2025-11-25 or older. Later
	// protocols forbid that a call changes a list.
	ListGrows bool

	// Rights limits what the caller may see and call; nil allows everything.
	Rights *Rights

	// OnlyReads reports whether the server, or the caller, may only read, see [Action.Restrains].
	OnlyReads bool
}

// OriginOf returns the origin of the call that ctx belongs to.
func OriginOf(ctx context.Context) Origin { return callctx.Of[Origin](ctx) }
