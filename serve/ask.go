package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// capabilities list what a client declares.
type capabilities struct{ mcp.ClientCapabilities }

// Offers reports whether the client declares that it answers a method.
func (c capabilities) Offers(method string) bool {
	switch method {
	case callctx.MethodElicit:
		return c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
	case callctx.MethodSample:
		return c.Sampling != nil
	}
	return method == callctx.MethodRoots && c.Roots != nil
}

// answers returns the capabilities to answer questions, or nil.
func (c capabilities) answers() json.RawMessage {
	if !c.Offers(callctx.MethodElicit) && !c.Offers(callctx.MethodSample) && !c.Offers(callctx.MethodRoots) {
		return nil
	}
	return c.Declared()
}

// Declared implements [callctx.Client]. It omits roots.listChanged: such notifications are not
// passed on.
func (c capabilities) Declared() json.RawMessage {
	answers := mcp.ClientCapabilities{Sampling: c.Sampling}
	if c.Offers(callctx.MethodElicit) {
		answers.Elicitation = c.Elicitation
	}
	if c.Roots != nil {
		roots := *c.Roots
		roots.ListChanged = false
		answers.Roots = &roots
	}
	return ordered.MustJSON(answers)
}

// in returns a context in which a call may ask its client.
func (c capabilities) in(ctx context.Context, client callctx.Client) context.Context {
	ctx = callctx.WithClient(ctx, client)
	if c.Sampling != nil {
		ctx = callctx.WithSampler(ctx, clientSampler{client, c.Sampling})
	}
	return ctx
}

// sessionClient sends requests to the client during its call, for protocols up to 2025-11-25.
type sessionClient struct {
	server  *Server
	request *request
}

// Offers implements [callctx.Client].
func (a sessionClient) Offers(method string) bool { return a.request.Offers(method) }

// Declared implements [callctx.Client].
func (a sessionClient) Declared() json.RawMessage { return a.request.declared().Declared() }

// Seen implements [callctx.Client].
func (a sessionClient) Seen() time.Time { return time.Unix(0, a.request.questions.seen.Load()) }

// Ask implements [callctx.Client].
func (a sessionClient) Ask(ctx context.Context, q callctx.Question) (json.RawMessage, error) {
	ctx, done, err := a.server.pendingCalls.prompts.wait(ctx, a.request.clientKey())
	if err != nil {
		return nil, err
	}
	defer done()
	defer pause(ctx)()
	return a.request.questions.ask(ctx, a.request, q)
}

// TaskQuestion is a question to the client of a call that runs as a task.
type TaskQuestion struct {
	// Key names the question in the client's answer. In a question of the call, Key distinguishes
	// it from the call's other questions, and may be empty.
	Key    string
	Method string          // of the protocol
	Params json.RawMessage // an object
}

// WithClient returns a context in which a task call may ask its client. client is
// [TaskCall.Client]. ask stores a question with its task and returns the client's answer, see
// [Tasks.Answer]. Its errors may be shown to the client.
func WithClient(
	ctx context.Context, client json.RawMessage, ask func(ctx context.Context, q TaskQuestion) (json.RawMessage, error),
) (context.Context, error) {
	var declared mcp.ClientCapabilities
	if err := json.Unmarshal(client, &declared); err != nil {
		return ctx, fmt.Errorf("reading the capabilities of a task's client: %w", err)
	}
	c := taskClient{capabilities{declared}, ask}
	return c.in(ctx, c), nil
}

// taskClient is the client of a call that runs as a task.
type taskClient struct {
	capabilities
	ask func(ctx context.Context, q TaskQuestion) (json.RawMessage, error)
}

// Seen implements [callctx.Client]. It is unknown for the client of a task.
func (taskClient) Seen() time.Time { return time.Time{} }

// Ask implements [callctx.Client].
func (r taskClient) Ask(ctx context.Context, q callctx.Question) (json.RawMessage, error) {
	question := TaskQuestion{Key: q.Key, Method: q.Method, Params: json.RawMessage(`{}`)}
	if q.Params != nil {
		var err error
		if question.Params, err = ordered.JSON(q.Params); err != nil {
			return nil, fmt.Errorf("encoding a question: %w", err)
		}
	}
	return r.ask(ctx, question)
}
