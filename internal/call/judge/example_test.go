package judge

import (
	"encoding/json"
	"testing"
)

// An example stays short and quick for schemas that would need many values.
func TestExamplesAreBounded(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","required":["a","b","c","d","e","f"],"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"$ref":"#"},` +
			`"d":{"$ref":"#"},"e":{"$ref":"#"},"f":{"$ref":"#"}}}`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"array","minItems":200,"items":{"type":"array","minItems":200,` +
			`"items":{"type":"array","minItems":20}}}}}`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"array","minItems":190,"items":{"const":"twenty characters, no"}}}}`,
	} {
		if got := Example(json.RawMessage(schema)); got != nil {
			t.Errorf("the example of %s has %d bytes", schema, len(got))
		}
	}
	tree := `{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","required":["name","children"],"properties":{"name":{"type":"string"},` +
		`"children":{"type":"array","items":{"$ref":"#/$defs/node"}}}}}}`
	if got := Example(json.RawMessage(tree)); got == nil {
		t.Error("a tree has no example")
	}
}
