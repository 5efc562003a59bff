package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// fanOut returns a schema of a few bytes per level whose references double with each level.
func fanOut(levels int, defs string) string {
	s := `{"$ref":"#/` + defs + `/l0","` + defs + `":{`
	for i := range levels {
		s += fmt.Sprintf(`"l%d":{"anyOf":[{"$ref":"#/%s/l%d"},{"$ref":"#/%s/l%d"}]},`, i, defs, i+1, defs, i+1)
	}
	return s + fmt.Sprintf(`"l%d":{"type":"null"}}}`, levels)
}

func TestBoundSchema(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ why, schema, want string }{
		{"plain", `{"type":"object","properties":{"a":{"type":"string","pattern":"^[a-z]+$"}},"required":["a"]}`, ""},
		{"true", `true`, ""},
		{"references", `{"properties":{"a":{"$ref":"#/$defs/x"},"b":{"$ref":"#/$defs/x"},"c":{"$ref":"#y"}},"$defs":{"x":{"type":"string"},` +
			`"y":{"$anchor":"y"}}}`, ""},
		{"into a list, escaped", `{"properties":{"a":{"$ref":"#/$defs/x~1y%20z/anyOf/1"}},"$defs":{"x/y z":{"anyOf":[true,{"type":"string"}]}}}`,
			""},
		{"a few levels", fanOut(8, "$defs"), ""},
		{"data that looks like a reference", `{"default":{"$ref":"#/nothing"},"enum":[{"$ref":"x"}]}`, ""},
		{"not JSON", `{`, "it is not JSON"},
		{"fan-out", fanOut(22, "$defs"), "with its references written out"},
		{"endless fan-out", fanOut(60, "definitions"), "with its references written out"},
		{"fan-out below a property called default", strings.Replace(fanOut(22, "$defs"), `{"$ref":"#/$defs/l0"`,
			`{"properties":{"default":{"$ref":"#/$defs/l0"}}`, 1), "with its references written out"},
		{"circle", `{"properties":{"a":{"$ref":"#"}}}`, "leads back to itself"},
		{"circle of two", `{"$ref":"#/$defs/a","$defs":{"a":{"items":{"$ref":"#/$defs/b"}},"b":{"not":{"$ref":"#/$defs/a"}}}}`,
			"leads back to itself"},
		{"out of it", `{"$ref":"file:///etc/passwd"}`, "leads to nothing in the schema"},
		{"nowhere", `{"$ref":"#/$defs/x"}`, "leads to nothing in the schema"},
		{"dynamic", `{"$dynamicRef":"#x"}`, "$dynamicRef is not supported"},
		{"recursive", `{"items":{"$recursiveRef":"#"}}`, "$recursiveRef is not supported"},
		{"an old draft, whose ids change what references mean", `{"$schema":"http://json-schema.org/draft-04/schema#"}`, "draft-04"},
		{"deep", strings.Repeat(`{"not":`, 200) + `true` + strings.Repeat(`}`, 200), tooDeep},
		{"wide", `{"enum":[` + strings.Repeat(`1,`, 3000) + `1]}`, "more than 2000 values"},
		{"long patterns", `{"pattern":"` + strings.Repeat(`a{1000}`, 3) + `"}`, "2000 steps of patterns"},
		{"patterns of names", `{"patternProperties":{"` + strings.Repeat(`a{1000}`, 3) + `":true}}`, "2000 steps of patterns"},
	} {
		_, err := BoundSchema(json.RawMessage(test.schema))
		if got := fmt.Sprint(err); (err == nil) != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %s, want %q", test.why, got, test.want)
		}
	}
}

// The cost of a check grows with the value.
func TestAdmits(t *testing.T) {
	t.Parallel()
	list := func(n int) []any { return make([]any, n) }
	for _, test := range []struct {
		why, schema string
		value       any
		want        bool
	}{
		{"a small value", `{"type":"object"}`, map[string]any{"a": "b", "c": list(10)}, true},
		{"a long list", `{"items":{"type":"null"}}`, list(100_000), true},
		{"a list whose items are compared", `{"uniqueItems":true}`, list(1000), true},
		{"a long list whose items are compared", `{"uniqueItems":true}`, list(100_000), false},
		{"a long text and a long pattern", `{"pattern":"(a{0,300}b{0,300}){1}$"}`, strings.Repeat("a", 1<<20), false},
		{"a long text", `{"type":"string"}`, strings.Repeat("a", 1<<20), true},
		{"a long list and a large schema", fanOut(9, "$defs"), list(100_000), false},
	} {
		s, err := BoundSchema(json.RawMessage(test.schema))
		if err != nil {
			t.Fatal(test.why, err)
		}
		if got := s.Admits(test.value); got != test.want {
			t.Errorf("%s: %v", test.why, got)
		}
	}
}

// A check that continues does not delay its call.
func TestAwait(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	defer close(hold)
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	go func() { <-started; cancel() }()
	_, err := Await(ctx, func() (int, error) { close(started); <-hold; return 1, nil })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n, err := Await(t.Context(), func() (int, error) { return 7, nil }); n != 7 || err != nil {
		t.Error(n, err)
	}
}
