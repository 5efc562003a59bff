package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/call/validate"
	"github.com/toolfold/toolfold/internal/run/expression"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/jsonx"
)

// answerShape describes the answer that a prompt asks for: an object that
// satisfies a JSON Schema.
type answerShape struct {
	schema workspace.Schema
}

func newAnswerShape(raw json.RawMessage) (*answerShape, error) {
	schema, err := workspace.BoundSchema(raw)
	if err != nil {
		return nil, err
	}
	var root struct {
		Type any `json:"type"`
	}
	if json.Unmarshal(raw, &root) != nil || root.Type != "object" {
		return nil, errors.New(`its "type" must be "object"`)
	}
	if _, err := validate.Schema(raw, map[string]any{}, ""); err != nil {
		return nil, err
	}
	return &answerShape{schema}, nil
}

// read parses an answer. If wrong is not empty, it lists the faults that the
// model has to repair. An error ends the prompt.
func (s *answerShape) read(ctx context.Context, answer string) (value any, wrong string, err error) {
	answer = strings.TrimSpace(answer)
	if inner, fenced := strings.CutPrefix(answer, "```"); fenced { // models fence JSON even if asked not to
		_, inner, _ = strings.Cut(inner, "\n")
		answer = strings.TrimSpace(strings.TrimSuffix(inner, "```"))
	}
	var object map[string]any
	if err := jsonx.Decode([]byte(answer), &object); err != nil || object == nil {
		return nil, "it is not one JSON object", nil
	}
	if !s.schema.Admits(object) {
		return nil, "it is too large to be checked", nil
	}
	problems, err := workspace.Await(ctx, func() ([]toolfold.Problem, error) { return validate.Schema(s.schema.Text, object, "") })
	if err != nil {
		return nil, "", err
	}
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = p.Text()
	}
	return expression.Value(object), strings.Join(texts, "; "), nil
}

// mend returns the message to a model whose answer has faults.
func (s *answerShape) mend(wrong string) string {
	return "The answer does not have the form that was asked for: " + wrong + ".\n" + askFor(s.schema.Text)
}

// askFor returns the request for an answer that satisfies a schema.
func askFor(schema json.RawMessage) string {
	return "Answer with one JSON object and nothing else. It has to satisfy this JSON Schema:\n" + string(schema)
}

// inWords adds the schema of the answer to the system prompt, for providers
// that take no schema.
func inWords(p callctx.Prompt) callctx.Prompt {
	if p.Schema != nil {
		p.System = strings.TrimSpace(p.System + "\n\n" + askFor(p.Schema))
	}
	return p
}

// promptText returns a prompt and its turns as one text, for providers that take no
// messages.
func promptText(p callctx.Prompt) string {
	texts := []string{p.Text}
	for _, turn := range p.Turns {
		texts = append(texts, "You answered:\n"+turn.Text, turn.Reply)
	}
	return strings.Join(texts, "\n\n")
}
