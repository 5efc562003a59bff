package judge

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

func plain(t *testing.T, schema string) string {
	t.Helper()
	var object ordered.Map
	if err := json.Unmarshal([]byte(schema), &object); err != nil {
		t.Fatal(err)
	}
	return string(ordered.MustJSON(Plain(object)))
}

// References are replaced by their targets, joined with the keywords next to them. References that
// are recursive or have no local target stay, with the type if it is known.
func TestPlain(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"nothing to do", `{"properties":{"a":{"type":["string","null"]}},"$defs":{"x":{}}}`,
			`{"properties":{"a":{"type":["string","null"]}},"$defs":{"x":{}}}`},
		{"$defs", `{"properties":{"a":{"$ref":"#/$defs/x","description":"Mine."}},` +
			`"$defs":{"x":{"type":"string","description":"Its.","enum":["p","q"]}}}`,
			`{"properties":{"a":{"description":"Mine.","type":"string","enum":["p","q"]}}}`},
		{"definitions, escaped", `{"properties":{"a":{"$ref":"#/definitions/x~1y%20z"}},"definitions":{"x/y z":{"type":"integer"}}}`,
			`{"properties":{"a":{"type":"integer"}}}`},
		{"an anchor, a list", `{"properties":{"a":{"type":"array","items":{"$ref":"#n"}},"b":{"$ref":"#/$defs/l/oneOf/1"}},` +
			`"$defs":{"m":{"$anchor":"n","type":"number"},"l":{"oneOf":[{"type":"string"},{"type":"boolean"}]}}}`,
			`{"properties":{"a":{"type":"array","items":{"$anchor":"n","type":"number"}},"b":{"type":"boolean"}}}`},
		{"by another", `{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"$ref":"#/$defs/y"},` +
			`"y":{"properties":{"n":{"$ref":"#/$defs/z"}}},"z":{"type":"string"}}}`,
			`{"properties":{"a":{"properties":{"n":{"type":"string"}}}}}`},
		{"back to where it stands", `{"properties":{"a":{"$ref":"#/$defs/x"}},` +
			`"$defs":{"x":{"type":"object","properties":{"up":{"$ref":"#/$defs/x"},"all":{"type":"array","items":{"$ref":"#"}}}}}}`,
			`{"properties":{"a":{"type":"object","properties":{"up":{"$ref":"#/$defs/x","type":"object"},` +
				`"all":{"type":"array","items":{"$ref":"#"}}}}}}`},
		{"to itself", `{"properties":{"a":{"$ref":"#/$defs/x"},"b":{"$ref":"#/properties/b"}},` +
			`"$defs":{"x":{"$ref":"#/$defs/y"},"y":{"$ref":"#/$defs/x"}}}`,
			`{"properties":{"a":{"$ref":"#/$defs/x"},"b":{"$ref":"#/properties/b"}}}`},
		{"nowhere and out", `{"properties":{"a":{"$ref":"#/$defs/none"},"b":{"$ref":"other.json#/x"},` +
			`"c":{"$ref":"#/$defs/t"},"d":{"$ref":"#no"}},"$defs":{"t":true}}`,
			`{"properties":{"a":{"$ref":"#/$defs/none"},"b":{"$ref":"other.json#/x"},` +
				`"c":{"$ref":"#/$defs/t"},"d":{"$ref":"#no"}}}`},
		{"words that differ", `{"properties":{"a":{"$ref":"#/$defs/x","minimum":3}},"$defs":{"x":{"type":"integer","minimum":1}}}`,
			`{"properties":{"a":{"$ref":"#/$defs/x","minimum":3,"type":"integer"}}}`},
		{"one besides null", `{"properties":{"a":{"anyOf":[{"$ref":"#/$defs/x"},{"type":"null"}],"default":null},` +
			`"b":{"allOf":[{"$ref":"#/$defs/x"}],"title":"B"},` +
			`"c":{"anyOf":[{"type":"string"},{"type":"integer"}]},` +
			`"d":{"type":"string","oneOf":[{"type":"null"},{"type":"integer"}]}},"$defs":{"x":{"enum":["p"]}}}`,
			`{"properties":{"a":{"default":null,"enum":["p"]},"b":{"title":"B","enum":["p"]},` +
				`"c":{"anyOf":[{"type":"string"},{"type":"integer"}]},"d":{"type":"string","oneOf":[{"type":"null"},{"type":"integer"}]}}}`},
		{"null besides none", `{"properties":{"a":{"oneOf":[{"enum":["p"]},{"type":"null"}]}}}`,
			`{"properties":{"a":{"enum":["p"],"oneOf":[{"enum":["p"]},{"type":"null"}]}}}`},
		{"names and values that look so", `{"properties":{"$ref":{"$ref":"#/$defs/x"},"default":{"$ref":"#/$defs/x"},` +
			`"c":{"const":{"$ref":"#/$defs/x"}}},` +
			`"$defs":{"x":{"type":"string"}}}`,
			`{"properties":{"$ref":{"type":"string"},"default":{"type":"string"},"c":{"const":{"$ref":"#/$defs/x"}}}}`},
		{"relative to itself", `{"properties":{"a":{"$id":"https://x.test/a","$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`,
			`{"properties":{"a":{"$id":"https://x.test/a","$ref":"#/$defs/x"}}}`},
	} {
		if got := plain(t, c.schema); got != c.want {
			t.Errorf("%s: %s\nis %s\nwant %s", c.name, c.schema, got, c.want)
		}
	}
}

// Multiplying references and deep schemas are read only up to the limits.
func TestPlainIsBounded(t *testing.T) {
	var doubling strings.Builder
	for i := range 40 {
		fmt.Fprintf(&doubling, `"l%d":{"type":"object","properties":{"a":{"$ref":"#/$defs/l%d"},"b":{"$ref":"#/$defs/l%d"}}},`, i, i+1, i+1)
	}
	wide := fmt.Sprintf(`"x":{"type":"string","description":%q}`, strings.Repeat("y", maxTargets/3))
	for name, schema := range map[string]string{
		"doubling": `{"properties":{"a":{"$ref":"#/$defs/l0"}},"$defs":{` + doubling.String() + `"l40":{"type":"string"}}}`,
		"wide": `{"properties":{"a":{"$ref":"#/$defs/x"},"b":{"$ref":"#/$defs/x"},"c":{"$ref":"#/$defs/x"},"d":{"$ref":"#/$defs/x"}},` +
			`"$defs":{` + wide + `}}`,
		"deep": strings.Repeat(`{"items":`, 5000) + `{"$ref":"#"}` + strings.Repeat(`}`, 5000),
	} {
		if got := plain(t, schema); len(got) > maxTargets+len(schema) || !strings.Contains(got, `"$ref"`) {
			t.Errorf("%s: %d bytes become %d", name, len(schema), len(got))
		}
	}
}
