package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolfold/toolfold/internal/jsonx"
	"github.com/toolfold/toolfold/internal/workspace"
	"github.com/toolfold/toolfold/tools"
)

// CheckInput checks the argument input of a call against the inputSchema of a
// workflow, and returns it with the defaults that the schema gives its outermost
// properties. The zero schema takes any object.
func CheckInput(ctx context.Context, workflowID string, schema workspace.Schema, raw json.RawMessage) (input map[string]any, problems []tools.Problem, err error) {
	input = map[string]any{}
	if len(raw) > 0 {
		if err := jsonx.Decode(raw, &input); err != nil {
			return nil, nil, fmt.Errorf("decoding input: %w", err)
		}
	}
	if len(schema.Text) == 0 {
		return input, nil, nil
	}
	var declared struct {
		Properties map[string]struct {
			Default json.RawMessage `json:"default"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(schema.Text, &declared) // properties may be of another shape, such as true
	for name, p := range declared.Properties {
		if _, given := input[name]; given || len(p.Default) == 0 {
			continue
		}
		var value any
		if jsonx.Decode(p.Default, &value) == nil {
			input[name] = value
		}
	}
	if !schema.Admits(input) {
		return nil, nil, tools.Errorf(tools.InvalidInput, "the input is too large to be checked against the inputSchema of %s", workflowID).
			WithHint("send less, or have the workflow take a reference to it, such as a key of memory")
	}
	problems, err = workspace.Await(ctx, func() ([]tools.Problem, error) { return tools.CheckSchema(schema.Text, input, "/input") })
	if err != nil {
		return nil, nil, fmt.Errorf("checking input: %w", err)
	}
	return input, problems, nil
}
