package callctx

import (
	"context"
	"encoding/json"
	"errors"
)

// Prompt is one request to a model: a text, or a conversation that began with it.
type Prompt struct {
	Text      string
	System    string // may be empty
	Model     string // empty = the provider's
	MaxTokens int    // zero = the provider's

	// Tools may be called by the model before it answers, but not where Final
	// says that it has to answer now. Turns follow Text.
	Tools []Offer
	Turns []Turn
	Final bool

	// Schema is the JSON Schema of an object that the answer is to be, nil for
	// plain text.
	Schema json.RawMessage
}

// Offer is an action as a model may call it.
type Offer struct {
	Name        string // that every provider takes, such as memory_store
	Description string
	Schema      json.RawMessage // of the arguments
}

// Turn is an answer of a model and what was said to it.
type Turn struct {
	Text  string      // may be empty where there are calls
	Calls []UsedOffer // with their results
	Reply string      // the next message to the model; empty after calls
}

// UsedOffer is a call that a model makes.
type UsedOffer struct {
	ID, Name  string
	Arguments json.RawMessage // as the model wrote them, which may not be JSON

	Result json.RawMessage // nil until it was run
	Failed bool            // Result is an error
}

// Completion is a model's answer.
type Completion struct {
	Text                      string
	Calls                     []UsedOffer // that the model wants run before it answers
	Model                     string      // empty where the provider does not report it
	InputTokens, OutputTokens int         // zero where the provider does not report them
	Truncated                 bool        // the model came to the longest answer it may give
}

// ErrNoTools is the error of a prompt with tools to a client whose model can call
// none.
var ErrNoTools = errors.New("the connected client's model cannot call tools: it does not declare sampling.tools")

// Sampler asks the model of the client that is connected. Its errors may reach
// the caller.
type Sampler interface {
	Sample(ctx context.Context, p Prompt) (Completion, error)
}

// WithSampler returns a context whose calls may ask the model of their client.
func WithSampler(ctx context.Context, s Sampler) context.Context { return With(ctx, s) }

// SamplerOf returns what asks the model of the client that made a call; nil if the client
// lends none.
func SamplerOf(ctx context.Context) Sampler { return Of[Sampler](ctx) }
