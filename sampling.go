package toolfold

import (
	"context"
	"encoding/json"

	"github.com/toolfold/toolfold/internal/call/callctx"
)

// Prompt is a request to the model of the client that made a call.
type Prompt struct {
	Text      string
	System    string // may be empty
	Model     string // empty = the client's choice
	MaxTokens int    // zero = the client's choice

	// Schema is the JSON Schema of the object that the answer should be; nil = plain text.
	Schema json.RawMessage
}

// Completion is a model's answer.
type Completion struct {
	Text      string
	Model     string // empty if the client does not report it
	Truncated bool   // the answer reached the maximum length
}

// Sample asks the model of the client that made the call. If the client does not support that, the
// error is an [*Error] with the code PROVIDER_NOT_CONFIGURED. Other errors may be shown to the
// caller too.
func Sample(ctx context.Context, p Prompt) (Completion, error) {
	sampler := callctx.SamplerOf(ctx)
	if sampler == nil {
		lacking := Errorf("PROVIDER_NOT_CONFIGURED", "the connected client lends no model: it does not declare sampling").
			WithHint("call from a client that supports sampling")
		lacking.Lacking = "sampling"
		return Completion{}, lacking
	}
	done, err := sampler.Sample(ctx, callctx.Prompt{
		Text: p.Text, System: p.System, Model: p.Model, MaxTokens: p.MaxTokens, Schema: p.Schema,
	})
	return Completion{Text: done.Text, Model: done.Model, Truncated: done.Truncated}, err
}
