package toolfold

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolfold/toolfold/internal/carried"
	"github.com/toolfold/toolfold/internal/client"
	"github.com/toolfold/toolfold/internal/jsonx"
	"github.com/toolfold/toolfold/internal/judge"
)

// Form is a question to the user of the client that made a call.
type Form struct {
	Name string // tells it from other forms of the call, as the client sees them; empty = one is made up
	Text string // what is asked, for a person

	// Schema is the JSON Schema of an object with no objects within: what a person can
	// fill in is texts, numbers, booleans and choices.
	Schema json.RawMessage
}

// Filled is what a user made of a form.
type Filled struct {
	Action  string          `json:"action"`            // accept, decline or cancel
	Content json.RawMessage `json:"content,omitempty"` // the object, valid against the schema; nil unless accepted
}

// Accepted reports whether the user filled the form in.
func (f Filled) Accepted() bool { return f.Action == "accept" }

// Elicit asks the user of the client that made the call. A client that cannot ask is
// an [*Error] with the code CLIENT_LACKS; other errors may reach the caller too.
func Elicit(ctx context.Context, f Form) (Filled, error) {
	asked := carried.Of[client.Client](ctx)
	if asked == nil || !asked.Offers(client.Elicit) {
		return Filled{}, lacking(Errorf(ClientLacks, "the connected client cannot ask its user: it does not declare elicitation").
			WithHint("call from a client that supports elicitation"), "elicitation")
	}
	schema, err := judge.Compile("form "+f.Name, f.Schema)
	if err != nil {
		return Filled{}, err
	}
	raw, err := asked.Ask(ctx, client.Question{Key: f.Name, Method: client.Elicit, Params: map[string]any{
		"message": f.Text, "requestedSchema": f.Schema,
	}})
	if err != nil {
		return Filled{}, err
	}
	var filled Filled
	if err := json.Unmarshal(raw, &filled); err != nil {
		return Filled{}, fmt.Errorf("reading the user's answer: %w", err)
	}
	if !filled.Accepted() {
		return Filled{Action: filled.Action}, nil
	}
	var content any
	if err := jsonx.Decode(filled.Content, &content); err != nil {
		return Filled{}, fmt.Errorf("reading what the user filled in: %w", err)
	}
	if err := schema.Schema.Validate(content); err != nil {
		return Filled{}, Errorf(InvalidInput, "what the user filled in does not fit the form: %s", err)
	}
	return filled, nil
}

// lacking names the capability that a client would have to declare.
func lacking(e *Error, capability string) *Error {
	e.Lacking = capability
	return e
}
