package toolfold_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
)

// A schema that is invalid, or refers to files, is rejected with a reason.
func TestExternalRefuses(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`: "not followed",
		`{"type":"object","properties":{"a":{"minLength":"1"}}}`:             "compiling schema",
		`{"type":"nothing"}`: "compiling schema",
		`[]`:                 "schema of x",
	} {
		_, err := toolfold.External{Name: "x", Description: "X.", Category: "c", InputSchema: json.RawMessage(schema)}.Family()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", schema, err, want)
		}
	}
}

// ParamNames returns the names of the same parameters as Inputs.
func TestParamNames(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		`{"type":"object","properties":{"b":{},"a":{"type":"string"},"é\"":true},"required":["é\"","a","b","none"]}`,
		`{"properties":{"b":{},"a":{}},"required":["a","b"]}`, `{"type":["object","null"],"properties":{"a":{}},"required":["a"]}`,
		`{"type":"object"}`, `{}`, `true`, ``, `{"type":"object","required":["a"]}`,
		`{"oneOf":[{"properties":{"k":{"const":"x"},"a":{}},"required":["a","k"]},{"properties":{"k":{"const":"y"}},"required":["k"]}]}`,
		`{"$ref":"#/definitions/x","definitions":{"x":{"type":"object","properties":{"a":{}},"required":["a"]}}}`,
	} {
		a, err := toolfold.External{Name: "x", Description: "X.", InputSchema: json.RawMessage(schema), Lenient: true}.Action()
		if err != nil {
			t.Fatal(err)
		}
		names := func(params []toolfold.Param) (list []string) {
			for _, p := range params {
				list = append(list, p.Name)
			}
			return list
		}
		required, optional := a.Inputs()
		needed, others := a.ParamNames()
		if !slices.Equal(needed, names(required)) || !slices.Equal(others, names(optional)) {
			t.Errorf("%s has %q and %q, its parameters %q and %q", schema, needed, others, names(required), names(optional))
		}
	}
	if _, err := (toolfold.External{Name: "x", InputSchema: json.RawMessage(`{"type":`), Lenient: true}).Action(); err == nil {
		t.Error("a schema that is no JSON is taken")
	}
}
