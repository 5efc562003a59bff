// Package ask has the questions that a call may ask its client: forms for the user, and the folders
// that the client works in. To ask the client's model, see [toolfold.Sample].
package ask

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/call/judge"
	"github.com/toolfold/toolfold/internal/text/jsonx"
)

// Form is a question to the user of the client that made a call.
type Form struct {
	Name string // distinguishes the forms of a call for the client; empty = generated
	Text string // the question, for a person

	// Schema is the JSON Schema of an object without nested objects. People can fill in texts,
	// numbers, booleans and choices.
	Schema json.RawMessage
}

// Filled holds the answer of a user to a form.
type Filled struct {
	Action  string          `json:"action"`            // accept, decline or cancel
	Content json.RawMessage `json:"content,omitempty"` // the object, valid against the schema; nil unless accepted
}

// Accepted reports whether the user filled the form in.
func (f Filled) Accepted() bool { return f.Action == "accept" }

// User asks the user of the client that made the call. If the client cannot ask, the error is a
// [*toolfold.Error] with the code CLIENT_LACKS. Other errors may be shown to the caller too.
func User(ctx context.Context, f Form) (Filled, error) {
	client := callctx.ClientOf(ctx)
	if client == nil || !client.Offers(callctx.MethodElicit) {
		return Filled{}, lacking("elicitation", "cannot ask its user")
	}
	schema, err := judge.Compile("form "+f.Name, f.Schema)
	if err != nil {
		return Filled{}, err
	}
	raw, err := client.Ask(ctx, callctx.Question{Key: f.Name, Method: callctx.MethodElicit, Params: map[string]any{
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
		return Filled{}, fmt.Errorf("reading the user's answer: %w", err)
	}
	if err := schema.Schema.Validate(content); err != nil {
		return Filled{}, toolfold.Errorf(toolfold.InvalidInput, "the user's answer does not fit the form: %s", err)
	}
	return filled, nil
}

// Root is a folder or file that a client works in.
type Root struct {
	URI  string `json:"uri"`
	Name string `json:"name"` // may be empty
}

// Roots asks the client of a call for the folders and files that it works in. If the client does
// not declare roots, the error is a [*toolfold.Error] with the code CLIENT_LACKS. Other errors may
// be shown to the caller too.
func Roots(ctx context.Context) ([]Root, error) {
	client := callctx.ClientOf(ctx)
	if client == nil || !client.Offers(callctx.MethodRoots) {
		return nil, lacking("roots", "does not report its folders")
	}
	raw, err := client.Ask(ctx, callctx.Question{Key: "roots", Method: callctx.MethodRoots})
	if err != nil {
		return nil, err
	}
	var answer struct{ Roots []Root }
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, fmt.Errorf("reading the client's roots: %w", err)
	}
	return answer.Roots, nil
}

// lacking returns the error that names the capability which the client has to declare.
func lacking(capability, why string) error {
	e := toolfold.Errorf(toolfold.ClientLacks, "the connected client %s: it does not declare %s", why, capability).
		WithHint("call from a client that supports %s", capability)
	e.Lacking = capability
	return e
}
