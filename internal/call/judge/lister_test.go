package judge

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Listed schemas are valid in 2020-12, whatever a server wrote, and unchanged if they were valid.
func TestListed(t *testing.T) {
	t.Parallel()
	property := func(schema string) string { return `{"type":"object","properties":{"a":` + schema + `}}` }
	const bare = `{"type":"object","properties":{}}`
	for _, c := range []struct{ schema, want string }{
		{property(`{"type":"integer","minimum":0,"exclusiveMinimum":true,"maximum":10}`),
			property(`{"type":"integer","exclusiveMinimum":0,"maximum":10}`)},
		{property(`{"type":"integer","exclusiveMinimum":false}`), property(`{"type":"integer"}`)},
		{property(`{"type":"string","required":true}`), property(`{"type":"string"}`)},
		{property(`{"type":"int"}`), property(`{"type":"integer"}`)},
		{property(`{"type":"any"}`), property(`{}`)},
		{property(`{"type":["String","null","str"]}`), property(`{"type":["string","null"]}`)},
		{`{"type":"object","properties":[]}`, bare},
		{`{"type":"object","properties":{"a":{}},"required":null}`, property(`{}`)},
		{`{"type":"object","properties":{"a":{}},"required":"a"}`, property(`{}`)},
		{`{"type":"object","properties":{"a":{}},"required":["a","a"]}`, `{"type":"object","properties":{"a":{}},"required":["a"]}`},
		{`{"type":"object","properties":{"a":{}},"additionalProperties":null}`, property(`{}`)},
		{property(`{"type":"string","pattern":"[unclosed("}`), property(`{"type":"string"}`)},
		{property(`{"type":"string","pattern":"^(?!-)[a-z]+$"}`), ""},
		{property(`{"type":"array","items":[{"type":"string"},{"type":"int"}],"additionalItems":false}`),
			property(`{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false}`)},
		{property(`{"type":"string","enum":[]}`), property(`{"type":"string"}`)},
		{property(`{"$ref":"#/$defs/none"}`), property(`{}`)},
		{property(`{"$ref":"file:///etc/passwd"}`), property(`{}`)},
		{property(`{"maxLength":"5","minLength":-1,"multipleOf":0,"title":5,"uniqueItems":"yes","anyOf":[]}`), property(`{}`)},
		{property(`"string"`), property(`{}`)},
		{property(`true`), ""},
		{property(`{"type":"string","format":"uri","default":{"type":5},"x-kind":[1]}`), ""},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`, ""},
		{`{"$schema":"http://json-schema.org/draft-07/schema#",` + property(`{}`)[1:], property(`{}`)},
		{`{"type":"object","description":"D","properties":{"a":{"$dynamicRef":"http://x.test/y"}}}`, bare[:len(bare)-1] + `,"description":"D"}`},
		{`{"$ref":"#"}`, bare},
	} {
		object, _, ok := Object(json.RawMessage(c.schema))
		if !ok {
			t.Fatalf("%s is no object", c.schema)
		}
		result, whole := ListedSchema(object)
		if hopeless := strings.Contains(c.schema, `"$dynamicRef"`); whole == hopeless {
			t.Errorf("%s is listed whole: %t", c.schema, whole)
		}
		got := ordered.MustJSON(result)
		if c.want == "" {
			c.want = c.schema
		}
		if string(got) != c.want {
			t.Errorf("%s is listed as\n%s, want\n%s", c.schema, got, c.want)
		}
		checkListed(t, got)
	}
	if _, _, ok := Object(json.RawMessage(`"string"`)); ok {
		t.Error("a text is an object")
	}
}

// checkListed checks a schema against the metaschema of 2020-12.
func checkListed(t *testing.T, schema json.RawMessage) {
	t.Helper()
	var doc any
	if err := jsonx.Decode(schema, &doc); err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	meta, err := jsonschema.NewCompiler().Compile("https://json-schema.org/draft/2020-12/schema")
	if err != nil {
		t.Fatal(err)
	}
	if err := meta.Validate(doc); err != nil {
		t.Errorf("%s: %v", schema, err)
	}
}

// FuzzListed lists objects of all kinds.
func FuzzListed(f *testing.F) {
	for _, seed := range []string{
		`{"properties":{"a":{"type":5,"items":[{}],"enum":{}}},"$defs":{"b":[]},"not":3}`,
		`{"anyOf":[{"required":{}},5],"patternProperties":{"(":1},"dependencies":{"a":5},"dependentRequired":{"a":1}}`,
		`{"$id":"#a","$anchor":5,"$vocabulary":{"a":1},"minimum":"1","exclusiveMaximum":true,"propertyNames":null}`,
		`{"if":1,"then":{"type":null},"$defs":{"a":{"$id":7,"$dynamicRef":"#x"}},"properties":{"x":{"$ref":"#/$defs/a"}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, schema []byte) {
		if !json.Valid(schema) {
			return
		}
		if object, _, ok := Object(schema); ok {
			result, _ := ListedSchema(object)
			checkListed(t, ordered.MustJSON(result))
		}
	})
}
