package callctx

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Client is the client that made a call, and what the call may ask of it.
type Client interface {
	// Offers reports whether the client declares that it answers a method.
	Offers(method string) bool
	// Declared returns the members of the protocol's ClientCapabilities that say what the client
	// answers.
	Declared() json.RawMessage
	// Seen returns when the client sent its last message, as far as that is known to be of this client.
	Seen() time.Time
	// Ask returns the result of a question. Its errors may reach the caller.
	Ask(ctx context.Context, q Question) (json.RawMessage, error)
}

// Question is a request to a client.
type Question struct {
	Key    string // tells it from the others of a call; empty = one is made up
	Method string // one that the client offers
	Params any
}

// Log says which log messages of other servers the client of a call wants. The zero Log
// wants none.
type Log struct {
	Level string                       // the least, in the protocol's words
	Tell  func(params json.RawMessage) // takes the params of a notification; nil where none is wanted
}

// Completed takes the params of a notification that the user is done with a page, for the client of a call that was
// sent there. It may be called when the call has ended.
type Completed func(params json.RawMessage)

// Meta is the _meta of a call for other servers, an object without the names that are the protocol's or
// toolfold's; nil for none.
type Meta json.RawMessage

// The methods.
const (
	MethodElicit = "elicitation/create"
	MethodSample = "sampling/createMessage"
	MethodRoots  = "roots/list"
)

// WithClient returns a context whose calls are those of a client.
func WithClient(ctx context.Context, c Client) context.Context { return With(ctx, c) }

// ClientOf returns the client that made a call; nil if it can be asked nothing.
func ClientOf(ctx context.Context) Client { return Of[Client](ctx) }

// WithoutUser returns a context whose calls cannot ask the client's user: what a run does
// step by step was asked for when it was called.
func WithoutUser(ctx context.Context) context.Context {
	c := ClientOf(ctx)
	if c == nil {
		return ctx
	}
	return WithClient(ctx, unattended{c})
}

// unattended is a client whose user is not asked.
type unattended struct{ Client }

// Offers implements [Client].
func (u unattended) Offers(method string) bool {
	return method != MethodElicit && u.Client.Offers(method)
}

// Declared implements [Client].
func (u unattended) Declared() json.RawMessage {
	var declared map[string]json.RawMessage
	_ = json.Unmarshal(u.Client.Declared(), &declared) // an object
	delete(declared, "elicitation")
	return ordered.MustJSON(declared)
}
