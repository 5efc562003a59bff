package callctx

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Client is the client that made a call, for questions of the call.
type Client interface {
	// Offers reports whether the client declares that it answers a method.
	Offers(method string) bool
	// Declared returns the members of the client's ClientCapabilities about the questions that it
	// answers.
	Declared() json.RawMessage
	// Seen returns the time of the last message that certainly came from this client.
	Seen() time.Time
	// Ask returns the result of a question. Its errors may be shown to the caller.
	Ask(ctx context.Context, q Question) (json.RawMessage, error)
}

// HTTPSession begins the ids of sessions over HTTP, which differ between all servers.
const HTTPSession = "mcp-session-"

// ErrStopped is the cause of the end of a call whose server stops. Work that others can go on with
// goes on; other ends mean that the client wants no answer.
var ErrStopped = errors.New("the server stops")

// Question is a request to a client.
type Question struct {
	Key    string // distinguishes the questions of a call; empty = generated
	Method string // one that the client offers
	Params any
}

// Log is the client's choice of log messages of other servers. The zero Log selects no messages.
type Log struct {
	Level string                       // the least level, in the protocol's words
	Tell  func(params json.RawMessage) // receives the params of a notification; nil = no messages
}

// CompletedFunc receives the params of the notification that the user is done with a page. It may be
// called after the call has ended.
type CompletedFunc func(params json.RawMessage)

// Meta is the _meta of a call for other servers: an object without reserved names. Nil = no _meta.
type Meta json.RawMessage

// The methods.
const (
	MethodElicit = "elicitation/create"
	MethodSample = "sampling/createMessage"
	MethodRoots  = "roots/list"
)

// WithClient returns a context for calls of a client.
func WithClient(ctx context.Context, c Client) context.Context { return With(ctx, c) }

// ClientOf returns the client that made a call; nil if it answers no questions.
func ClientOf(ctx context.Context) Client { return Of[Client](ctx) }

// WithoutUser returns a context in which calls cannot ask the client's user. Runs use it for their
// steps, because the user asked for the run as a whole.
func WithoutUser(ctx context.Context) context.Context {
	c := ClientOf(ctx)
	if c == nil {
		return ctx
	}
	return WithClient(ctx, unattendedClient{c})
}

// unattendedClient is a client whose user is not available.
type unattendedClient struct{ Client }

// Offers implements [Client].
func (u unattendedClient) Offers(method string) bool {
	return method != MethodElicit && u.Client.Offers(method)
}

// Declared implements [Client].
func (u unattendedClient) Declared() json.RawMessage {
	var declared map[string]json.RawMessage
	_ = json.Unmarshal(u.Client.Declared(), &declared) // an object
	delete(declared, "elicitation")
	return ordered.MustJSON(declared)
}
