package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/judge"
	"github.com/toolfold/toolfold/internal/call/validate"
	"github.com/toolfold/toolfold/internal/text/jsonx"
)

// CheckInput checks the argument input of a call against the inputSchema of a workflow or script. It returns
// the input with the schema's defaults of top-level properties, and with strings converted to other
// types if only these are valid. The zero schema accepts any object.
func CheckInput(ctx context.Context, id string, schema Schema, raw json.RawMessage) (input map[string]any,
	problems []toolfold.Problem, err error) {
	input = map[string]any{}
	if len(raw) > 0 {
		if err := jsonx.Decode(raw, &input); err != nil {
			return nil, nil, fmt.Errorf("decoding input: %w", err)
		}
		if input == nil { // null
			input = map[string]any{}
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
	_ = json.Unmarshal(schema.Text, &declared) // properties may have another shape, such as true
	for name, p := range declared.Properties {
		if _, present := input[name]; present || len(p.Default) == 0 {
			continue
		}
		var value any
		if jsonx.Decode(p.Default, &value) == nil {
			input[name] = value
		}
	}
	if !schema.Admits(input) {
		return nil, nil, toolfold.Errorf(toolfold.InvalidInput, "the input is too large to be checked against the inputSchema of %s", id).
			WithHint("send less, or a reference to it, such as a key of memory")
	}
	value := input // the check may go on after this call has returned
	check := func() ([]toolfold.Problem, error) { return validate.Schema(schema.Text, value, "/input") }
	problems, err = Await(ctx, check)
	if err == nil && mend(input, problems) {
		problems, err = Await(ctx, check)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("checking input: %w", err)
	}
	return input, problems, nil
}

// CheckWritten is [CheckInput] for an input that is used later. The values at the JSON pointers
// open, below /input, are not known yet: they count as present, and problems that may follow from
// them are left out.
func CheckWritten(ctx context.Context, id string, schema Schema, raw json.RawMessage, open []string) ([]toolfold.Problem, error) {
	_, problems, err := CheckInput(ctx, id, schema, raw)
	if len(open) > 0 && validate.Combines(schema.Text) {
		return nil, err
	}
	return slices.DeleteFunc(problems, func(p toolfold.Problem) bool {
		return slices.ContainsFunc(open, func(place string) bool { return jsonx.Within(p.Path, place) || jsonx.Within(place, p.Path) })
	}), err
}

// mend converts strings to the numbers, booleans or other values that the schema requires, as for
// parameters of actions. It reports whether it changed anything.
func mend(args map[string]any, problems []toolfold.Problem) bool {
	changed := false
	for _, p := range problems {
		cut := strings.LastIndex(p.Path, "/")
		holder := jsonx.Lookup(map[string]any{"input": args}, p.Path[:cut])
		value := jsonx.Lookup(map[string]any{"input": args}, p.Path)
		text, isText := value.(string)
		var read any
		if p.Kind != toolfold.ProblemType || !isText || jsonx.Decode([]byte(text), &read) != nil {
			continue
		}
		kind := jsonx.TypeName(read)
		if !slices.ContainsFunc(strings.Split(p.Want, judge.TypeOr),
			func(want string) bool { return want == kind || want == "integer" && kind == "number" }) {
			continue
		}
		last := jsonx.UnescapePointer(p.Path[cut+1:])
		switch holder := holder.(type) {
		case map[string]any:
			holder[last] = read
		case []any:
			i, _ := strconv.Atoi(last)
			holder[i] = read
		}
		changed = true
	}
	return changed
}
