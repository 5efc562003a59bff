package callctx

import (
	"context"
	"encoding/json"
	"errors"
)

// Prompt is one request to a model: a text, optionally continued as a conversation.
type Prompt struct {
	Text      string
	System    string // may be empty
	Model     string // empty = the provider's default
	MaxTokens int    // zero = the provider's default

	// Tools may be called by the model before it answers, except if Final is set: then it has to
	// answer now. Turns follow Text.
	Tools []Offer
	Turns []Turn
	Final bool

	// Schema is the JSON Schema of the object that the answer should be; nil = plain text.
	Schema json.RawMessage
}

// Offer is an action in the form in which a model may call it.
type Offer struct {
	Name        string // valid for every provider, such as memory_store
	Description string
	Schema      json.RawMessage // of the arguments
}

// Turn is an answer of a model, and the reply to it.
type Turn struct {
	Text  string      // may be empty if there are calls
	Calls []UsedOffer // with their results
	Reply string      // the next message to the model; empty after calls
}

// UsedOffer is a call made by a model.
type UsedOffer struct {
	ID, Name  string
	Arguments json.RawMessage // as the model wrote them; may be invalid JSON

	Result json.RawMessage // nil until it has run
	Failed bool            // Result is an error
}

// Completion is a model's answer.
type Completion struct {
	Text                      string
	Calls                     []UsedOffer // to run before the model answers
	Model                     string      // empty if the provider does not report it
	InputTokens, OutputTokens int         // zero if the provider does not report them
	Truncated                 bool        // the answer reached the maximum length
}

// ErrNoTools is the error for a prompt with tools if the client's model cannot call tools.
var ErrNoTools = errors.New("the connected client's model cannot call tools: it does not declare sampling.tools")

// Sampler asks the model of the connected client. Its errors may be shown to the caller.
type Sampler interface {
	Sample(ctx context.Context, p Prompt) (Completion, error)
}

// WithSampler returns a context in which calls may ask the model of their client.
func WithSampler(ctx context.Context, s Sampler) context.Context { return With(ctx, s) }

// SamplerOf returns the Sampler of the client that made a call; nil if the client has no model.
func SamplerOf(ctx context.Context) Sampler { return Of[Sampler](ctx) }
