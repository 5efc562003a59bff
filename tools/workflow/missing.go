package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/ask"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// formMembers are the members of a property that forms support too.
var formMembers = []string{"type", "title", "description", "enum", "default", "minimum", "maximum", "minLength", "maxLength"}

// missing returns a form for the missing input of a run. It returns nil if the input has other
// problems, or if a person cannot type the missing values.
func (w workflow) missing(problems []toolfold.Problem) *ask.Form {
	var schema struct{ Properties map[string]map[string]any }
	if len(problems) == 0 || jsonx.Decode(w.InputSchema, &schema) != nil {
		return nil
	}
	fields, names := ordered.Map{}, []string{}
	for _, p := range problems {
		name, below := strings.CutPrefix(p.Path, "/input/")
		name = jsonx.UnescapePointer(name)
		property := schema.Properties[name]
		kind, _ := property["type"].(string)
		if p.Kind != toolfold.ProblemMissing || !below || !slices.Contains([]string{"string", "integer", "number", "boolean"}, kind) {
			return nil
		}
		field := ordered.Map{}
		for _, member := range formMembers {
			if value, set := property[member]; set {
				field.Set(member, value)
			}
		}
		fields.Set(name, field)
		names = append(names, name)
	}
	return &ask.Form{
		Name: "input", Text: fmt.Sprintf("Workflow %s needs %s.", w.Name, strings.Join(names, ", ")),
		Schema: ordered.MustJSON(ordered.Map{
			{Key: "type", Value: "object"}, {Key: "properties", Value: fields}, {Key: "required", Value: names},
		}),
	}
}

// complete asks the user for the missing input of a run, and returns the completed input.
func (w workflow) complete(ctx context.Context, input json.RawMessage, form ask.Form) (json.RawMessage, error) {
	filled, err := ask.User(ctx, form)
	if err == nil {
		err = filled.Refused("run")
	}
	if err != nil {
		return nil, err
	}
	var whole, given ordered.Map
	if len(input) > 0 {
		if err := json.Unmarshal(input, &whole); err != nil {
			return nil, fmt.Errorf("decoding input: %w", err)
		}
	}
	if err := json.Unmarshal(filled.Content, &given); err != nil {
		return nil, fmt.Errorf("decoding the filled-in form: %w", err)
	}
	for _, member := range given {
		whole.Set(member.Key, member.Value)
	}
	return ordered.MustJSON(whole), nil
}
