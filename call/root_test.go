package call_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/toolfoldtest"
)

// callForeign calls a tool of another server with a schema. The tool returns its arguments.
func callForeign(t *testing.T, schema, args string) (content string, failed bool) {
	t.Helper()
	f, err := toolfold.External{
		Name: "x", Description: "X.", Category: "c", Lenient: true, InputSchema: json.RawMessage(schema),
		Run: func(_ context.Context, args json.RawMessage) (json.RawMessage, error) { return args, nil },
	}.Family()
	if err != nil {
		t.Fatal(err)
	}
	return answer(t, toolfoldtest.Runner(f), "x", args)
}

// Errors about keywords for the arguments as a whole describe the correction.
func TestProblemsOfAllArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, args, want string }{
		{`{"minProperties":1}`, `{}`, `at least 1 parameters must be given, got 0`},
		{`{"maxProperties":1}`, `{"a":1,"b":2}`, `at most 1 parameters must be given, got 2`},
		{`{"not":{"required":["a","b"]}}`, `{"a":1,"b":2}`, `the arguments must be a value that satisfies not {"required":["a","b"]}`},
		{`{"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":1,"b":2}`,
			`the arguments must be a value that satisfies only one of [{"required":["a"]},{"required":["b"]}]`},
		{`{"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, `a is missing; b is missing`},
		{`{"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"b":1}`, ``},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `b is missing`},
		{`{"dependencies":{"a":["b"]}}`, `{"a":1}`, `b is missing`},
		{`{"propertyNames":{"pattern":"^[a-z]+$"}}`, `{"A1":1}`,
			`the arguments must be a value with names that satisfy {"pattern":"^[a-z]+$"}, as "A1" does not`},
		{`{"const":{"a":1}}`, `{"a":2}`, `the arguments must be one of its allowed values, got "object"`},
		{`{"const":{"a":1}}`, `{"a":2}`, `{"a":1}`},
		{`{"enum":[{},{"a":1}]}`, `{"a":2}`, `{"a":1}`},
		{`{"allOf":[{"type":"array"}]}`, `{}`, `the arguments must be array, got object`},
		{`{"allOf":[false]}`, `{}`, `no arguments are allowed`},
	} {
		content, failed := callForeign(t, c.schema, c.args)
		content = strings.ReplaceAll(content, `\"`, `"`)
		if failed != (c.want != "") || !strings.Contains(content, c.want) {
			t.Errorf("%s %s: %s, want %q", c.schema, c.args, content, c.want)
		}
	}
}

// Schemas that fit no object, and schemas that do not compile, are not checked.
func TestSchemasOfNoObject(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		`false`, `{"type":"array"}`, `{"type":["string","null"]}`, `{"$ref":"#"}`, `{"allOf":[{"$ref":"#"}]}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}`,
		`{"if":{"$ref":"#"}}`, `{"dependentSchemas":{"a":{"$ref":"#"}}}`, `{"dependencies":{"a":{"$ref":"#"}},"definitions":{}}`,
		`{"$dynamicAnchor":"x","$dynamicRef":"#x"}`, `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveRef":"#"}`,
		`{"properties":{"a":{"$ref":"#/properties/a"}}}`, `{"type":"nothing"}`,
	} {
		for _, args := range []string{`{}`, `{"a":{"b":1}}`} {
			if content, failed := callForeign(t, schema, args); failed || content != args {
				t.Errorf("%s %s: %s", schema, args, content)
			}
		}
	}
	for _, schema := range []string{ // references from parts of the value
		`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["b"]}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"required":["b"],"additionalProperties":{"$ref":"#/$defs/a"}}}}`,
		`{"type":["object","null"],"required":["b"],"propertyNames":{"$ref":"#"}}`,
	} {
		if content, failed := callForeign(t, schema, `{"a":{"b":1}}`); !failed {
			t.Errorf("%s is not checked: %s", schema, content)
		}
	}
}

// FuzzRootSchema calls a tool whose root has random keywords with random arguments. The call
// passes, or its error describes the correction.
func FuzzRootSchema(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := roots{rand.New(rand.NewPCG(seed, 1))}
		schema := string(ordered.MustJSON(r.schema(3)))
		for range 10 {
			args := string(ordered.MustJSON(r.object(2)))
			content, failed := callForeign(t, schema, args)
			var got struct{ Error toolfold.Error }
			if err := json.Unmarshal([]byte(content), &got); err != nil {
				t.Fatalf("%s %s: %s: %v", schema, args, content, err)
			}
			if !failed {
				continue
			}
			hasReasons := len(got.Error.Problems) > 0 && !slices.ContainsFunc(got.Error.Problems, func(p toolfold.Problem) bool {
				return strings.HasSuffix(p.Text(), " is wrong") || strings.Contains(p.Text(), "must be ,")
			})
			if got.Error.Code != toolfold.InvalidInput || !hasReasons {
				t.Fatalf("%s %s: %s", schema, args, content)
			}
		}
	})
}

// roots makes random schemas and arguments with few names.
type roots struct{ *rand.Rand }

func (r roots) name() string { return []string{"a", "b", "A1", "", "a/b"}[r.IntN(5)] }

func (r roots) names() []string { return []string{r.name(), r.name()} }

// object returns arguments with some levels.
func (r roots) object(depth int) map[string]any {
	object := map[string]any{}
	for range r.IntN(4) {
		object[r.name()] = r.value(depth)
	}
	return object
}

func (r roots) value(depth int) any {
	if depth > 0 && r.IntN(3) == 0 {
		if r.IntN(2) == 0 {
			return []any{r.value(depth - 1), r.value(depth - 1)}
		}
		return r.object(depth - 1)
	}
	return []any{nil, true, 1, -2.5, json.Number("1e300"), "x", "17", "[1]", `{"a":1}`, "", []any{}}[r.IntN(11)]
}

// schema returns a schema with some levels that may refer to its root.
func (r roots) schema(depth int) any {
	if r.IntN(12) == 0 {
		return r.IntN(3) > 0
	}
	schema := map[string]any{}
	for range 1 + r.IntN(3) {
		if keyword, value := r.keyword(depth); keyword != "" {
			schema[keyword] = value
		}
	}
	return schema
}

func (r roots) keyword(depth int) (keyword string, value any) {
	plain := []func() (string, any){
		func() (string, any) {
			return "type", []string{"object", "array", "string", "integer", "null"}[r.IntN(5)]
		},
		func() (string, any) { return "type", []string{"object", "number"} },
		func() (string, any) { return "required", r.names()[:1] },
		func() (string, any) { return "minProperties", r.IntN(3) },
		func() (string, any) { return "maxProperties", r.IntN(3) },
		func() (string, any) { return "dependentRequired", map[string]any{r.name(): r.names()[:1]} },
		func() (string, any) { return "const", r.value(2) },
		func() (string, any) { return "enum", []any{r.object(1), r.value(1)} },
		func() (string, any) { return "minimum", r.IntN(3) },
		func() (string, any) { return "pattern", "^[a-z]+$" },
		func() (string, any) { return "multipleOf", 2 },
		func() (string, any) { return "uniqueItems", true },
		func() (string, any) { return "$ref", "#" },
	}
	if depth == 0 {
		return plain[r.IntN(len(plain))]()
	}
	part := func() any { return r.schema(depth - 1) }
	parts := func() any { return []any{part(), part()} }
	named := func() any { return map[string]any{r.name(): part(), r.name(): part()} }
	deeper := []func() (string, any){
		func() (string, any) { return []string{"allOf", "anyOf", "oneOf"}[r.IntN(3)], parts() },
		func() (string, any) {
			return []string{"not", "if", "then", "else", "propertyNames", "additionalProperties", "unevaluatedProperties"}[r.IntN(7)], part()
		},
		func() (string, any) { return []string{"properties", "dependentSchemas"}[r.IntN(2)], named() },
		func() (string, any) { return "patternProperties", map[string]any{"^[ab]": part()} },
		func() (string, any) { return []string{"items", "contains"}[r.IntN(2)], part() },
		func() (string, any) { return "prefixItems", parts() },
		func() (string, any) { return "$id", fmt.Sprintf("https://x.test/%d", r.IntN(3)) },
	}
	return slices.Concat(plain, deeper)[r.IntN(len(plain)+len(deeper))]()
}
