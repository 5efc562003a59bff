package judge

import (
	"encoding/json"
	"testing"

	"github.com/toolfold/toolfold/internal/text/jsonx"
)

// A schema without $schema is checked by the draft that it is written in.
func TestDrafts(t *testing.T) {
	for _, c := range []struct{ name, schema, allowed, refused string }{
		{"definitions", `{"properties":{"a":{"$ref":"#/definitions/x"}},"definitions":{"x":{"type":"string"}}}`, `{"a":"b"}`, `{"a":1}`},
		{"beside a $ref of draft-07", `{"properties":{"a":{"$ref":"#/definitions/x","maxLength":1}},` +
			`"definitions":{"x":{"type":"string"}}}`, `{"a":"long"}`, `{"a":1}`},
		{"beside a $ref of 2020-12", `{"properties":{"a":{"$ref":"#/$defs/x","maxLength":1}},"$defs":{"x":{"type":"string"}}}`,
			`{"a":"b"}`, `{"a":"long"}`},
		{"a tuple", `{"properties":{"a":{"items":[{"type":"string"}],"additionalItems":false}}}`, `{"a":["b"]}`, `{"a":["b",1]}`},
		{"a tuple beside $defs", `{"properties":{"a":{"items":[{"$ref":"#/$defs/x"}]}},"$defs":{"x":{"type":"string"}}}`,
			`{"a":["b",1]}`, `{"a":[1]}`},
		{"a tuple of 2020-12", `{"properties":{"a":{"prefixItems":[{"type":"string"}],"items":false}}}`, `{"a":["b"]}`, `{"a":["b",1]}`},
		{"dependencies", `{"dependencies":{"a":["b"],"c":{"required":["d"]}}}`, `{"a":1,"b":1}`, `{"a":1}`},
		{"an anchor of draft-07", `{"properties":{"a":{"$ref":"#x"}},"definitions":{"x":{"$id":"#x","type":"string"}}}`,
			`{"a":"b"}`, `{"a":1}`},
		{"an anchor of 2020-12", `{"properties":{"a":{"$ref":"#x"}},"definitions":{"x":{"$anchor":"x","type":"string"}}}`,
			`{"a":"b"}`, `{"a":1}`},
		{"names that are words", `{"properties":{"definitions":{"const":{"items":[1]}},` +
			`"dependencies":{"$ref":"#/properties/n","maximum":1},"n":{"minimum":0}}}`,
			`{"definitions":{"items":[1]},"dependencies":1}`, `{"dependencies":2}`},
		{"said", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/$defs/x","maxLength":1}},` +
			`"$defs":{"x":{"type":"string"}}}`, `{"a":"long"}`, `{"a":1}`},
	} {
		f, err := Compile(c.name, json.RawMessage(c.schema))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		check := func(text string) error {
			var value any
			if err := jsonx.Decode(json.RawMessage(text), &value); err != nil {
				t.Fatal(err)
			}
			return f.Schema.Validate(value)
		}
		if err := check(c.allowed); err != nil {
			t.Errorf("%s: %s is refused: %v", c.name, c.allowed, err)
		}
		if check(c.refused) == nil {
			t.Errorf("%s: %s is allowed", c.name, c.refused)
		}
	}
}
