package judge

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Roots that hosts reject are listed as objects with the members of all parts, as written. They
// require no more than the original.
func TestObject(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"as it is", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"additionalProperties":false,"$defs":{"x":{}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"additionalProperties":false,"$defs":{"x":{}}}`},
		{"no properties", `{"type":"object","additionalProperties":false}`,
			`{"type":"object","properties":{},"additionalProperties":false}`},
		{"several types", `{"type":["object","null"],"properties":{"a":{"type":"string"}},"required":["a"]}`,
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`},
		{"anyOf", `{"type":"object","properties":{"a":{"minLength":2}},"anyOf":[{"required":["a"]},` +
			`{"required":["b"],"properties":{"b":{"type":"null"}}}],"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{"minLength":2},"b":{"type":"null"}}}`},
		{"oneOf", `{"oneOf":[{"properties":{"kind":{"const":"x"},"a":{}},"required":["kind","a"]},` +
			`{"properties":{"kind":{"const":"y"}},"required":["kind"]}]}`,
			`{"type":"object","properties":{"kind":{"type":"string","enum":["x","y"]},"a":{}},"required":["kind"]}`},
		{"allOf", `{"allOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}},"required":["b","a"]}],"description":"D"}`,
			`{"type":"object","properties":{"a":{},"b":{}},"required":["a","b"],"description":"D"}`},
		{"not, if", `{"type":"object","properties":{"a":{}},"not":{"required":["z"]},"if":{"required":["a"]},` +
			`"then":{"properties":{"t":{}},"required":["t"]},"else":true}`,
			`{"type":"object","properties":{"a":{},"t":{}}}`},
		{"$ref", `{"$ref":"#/$defs/a~1b","$defs":{"a/b":{"properties":{"n":{"$ref":"#/$defs/a~1b"}},"required":["n"]}}}`,
			`{"type":"object","properties":{"n":{"$ref":"#/$defs/a~1b"}},"required":["n"],` +
				`"$defs":{"a/b":{"properties":{"n":{"$ref":"#/$defs/a~1b"}},"required":["n"]}}}`},
		{"$ref to itself", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`,
			`{"type":"object","properties":{},"$defs":{"a":{"$ref":"#/$defs/a"}}}`},
		{"a part that is not listed", `{"oneOf":[{"properties":{"a":{"$ref":"#/oneOf/1/properties/b"}}},{"properties":{"b":{"type":"array",` +
			`"items":{"$ref":"#/oneOf/1/$defs/x~1y"}}},"$defs":{"x/y":{"properties":{"up":{"$ref":"#/oneOf/1/$defs/x~1y"}}}}}]}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/oneOf.1.properties.b"},"b":{"type":"array","items":` +
				`{"$ref":"#/$defs/oneOf.1.$defs.x~01y"}}},"$defs":{` +
				`"oneOf.1.properties.b":{"type":"array","items":{"$ref":"#/$defs/oneOf.1.$defs.x~01y"}},` +
				`"oneOf.1.$defs.x~1y":{"properties":{"up":{"$ref":"#/$defs/oneOf.1.$defs.x~01y"}}}}}`},
		{"an anchor", `{"anyOf":[{"properties":{"a":{"$ref":"#n"},"b":{"const":{"$ref":"#n"}}}},{"$anchor":"n","minProperties":1}]}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/anyOf.1"},"b":{"const":{"$ref":"#n"}}},` +
				`"$defs":{"anyOf.1":{"$anchor":"n","minProperties":1}}}`},
		{"parts that lead back", `{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"},{"$ref":"#/$defs/c"}],"required":["k"]},` +
			`"b":{"allOf":[{"$ref":"#/$defs/a"}],"properties":{"k":{"enum":["b"]}}},"c":{"$ref":"#/$defs/a","properties":{"k":{"const":"c"}}}}}`,
			`{"type":"object","properties":{"k":{"type":"string","enum":["b","c"]}},"required":["k"],` +
				`"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"},{"$ref":"#/$defs/c"}],"required":["k"]},` +
				`"b":{"allOf":[{"$ref":"#/$defs/a"}],"properties":{"k":{"enum":["b"]}}},"c":{"$ref":"#/$defs/a","properties":{"k":{"const":"c"}}}}}`},
	} {
		result, whole, ok := Object(json.RawMessage(c.schema))
		for _, m := range result {
			if _, raw := m.Value.(json.RawMessage); !raw {
				t.Errorf("%s: %s is a %T", c.name, m.Key, m.Value)
			}
		}
		if got := string(ordered.MustJSON(result)); !ok || !whole || got != c.want {
			t.Errorf("%s: %s\nis listed as %s\nwant %s", c.name, c.schema, got, c.want)
		}
	}
}

// The description of a root with too many parts reports that some are missing.
func TestCut(t *testing.T) {
	var parts []string
	for i := range 2 * maxParts {
		parts = append(parts, fmt.Sprintf(`{"properties":{"p%d":{}},"required":["all"]}`, i))
	}
	object, whole, ok := Object(json.RawMessage(`{"description":"Many.","oneOf":[` + strings.Join(parts, ",") + `]}`))
	var properties ordered.Map
	var text string
	Member(object, "properties", &properties)
	Member(object, "description", &text)
	if whole || !ok || len(properties) != maxParts-1 || text != "Many. "+Cut {
		t.Errorf("%t %t: %d members, %q", whole, ok, len(properties), text)
	}
	if required, _ := object.Get("required"); required != nil {
		t.Errorf("required: %s", required)
	}
}

// References in a nested schema keep their targets.
func TestNested(t *testing.T) {
	object, _, _ := Object(json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"#/$defs/x%20y"},"b":{"$ref":"#"},` +
		`"c":{"$ref":"other#/x"}},"$defs":{"x y":{"type":"object","properties":{"$ref":{"$ref":"#/properties/a"}}}}}`))
	const want = `{"type":"object","properties":{"a":{"$ref":"#/properties/params/$defs/x%20y"},"b":{"$ref":"#/properties/params"},` +
		`"c":{"$ref":"other#/x"}},"$defs":{"x y":{"type":"object","properties":{"$ref":{"$ref":"#/properties/params/properties/a"}}}}}`
	if got := string(ordered.MustJSON(Nested(object, "/properties/params"))); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
