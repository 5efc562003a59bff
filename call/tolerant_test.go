package call_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/judge"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
)

// Arguments that another server accepts are passed on unchanged. Wrong formats cause a warning.
func TestArgumentsOfOtherServers(t *testing.T) {
	t.Parallel()
	property := func(schema string) string {
		return `{"type":"object","properties":{"a":` + schema + `},"required":["a"]}`
	}
	for _, c := range []struct{ schema, args, warning string }{
		{property(`{"type":"string","nullable":true}`), `{"a":null}`, ""},
		{property(`{"type":["string"],"nullable":true,"enum":["x"]}`), `{"a":null}`, ""},
		{property(`{"type":"string","enum":["x",null]}`), `{"a":null}`, ""},
		{property(`{"nullable":true,"anyOf":[{"type":"string"},{"type":"integer"}]}`), `{"a":null}`, ""},
		{property(`{"nullable":true,"oneOf":[{"type":"string"},{"type":"null"}]}`), `{"a":null}`, ""},
		{property(`{"nullable":true,"allOf":[{"type":"string"}]}`), `{"a":null}`, ""},
		{`{"properties":{"a":{"nullable":true,"$ref":"#/$defs/x"}},"required":["a"],"$defs":{"x":{"type":"string"}}}`, `{"a":null}`, ""},
		{property(`{"properties":{"b":{"type":"string","nullable":true}}}`), `{"a":{"b":null}}`, ""},
		{property(`{"type":"string","format":"uri"}`), `{"a":"docs/x"}`, "a is not of format uri: passed on unchanged"},
		{property(`{"type":"string","format":"uri"}`), `{"a":"https://x.test/y"}`, ""},
		{property(`{"type":"string","format":"date-time"}`), `{"a":"2026-01-31T10:00"}`, "a is not of format date-time: passed on unchanged"},
		{property(`{"type":"string","format":"time"}`), `{"a":"10:00"}`, "a is not of format time: passed on unchanged"},
		{property(`{"type":"string","format":"duration"}`), `{"a":"5m"}`, "a is not of format duration: passed on unchanged"},
		{property(`{"type":"string","format":"email"}`), `{"a":""}`, "a is not of format email: passed on unchanged"},
		{property(`{"type":"string","format":"regex"}`), `{"a":"(?<!x)y"}`, ""},
		{property(`{"anyOf":[{"type":"integer"},{"type":"string","format":"uuid"}]}`), `{"a":"x"}`,
			"a is not of format uuid: passed on unchanged"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#",` + property(`{"type":"string","format":"uri"}`)[1:], `{"a":"x"}`,
			"a is not of format uri: passed on unchanged"},
		{property(`{"type":"string","pattern":"^(?!-)[a-z]+$"}`), `{"a":"-x"}`, ""},
		{property(`{"type":"string","pattern":"[unclosed("}`), `{"a":"x"}`, ""},
		{property(`{"patternProperties":{"^(?!x)":{"type":"integer"},"^n":{"type":"integer"}},"additionalProperties":false}`),
			`{"a":{"b":"c"}}`, ""},
	} {
		content, failed := callForeign(t, c.schema, c.args)
		want := c.args
		if c.warning != "" {
			want = fmt.Sprintf(`%s,"warnings":[%q]}`, strings.TrimSuffix(c.args, "}"), c.warning)
		}
		if failed || content != want {
			t.Errorf("%s %s: %s, want %s", c.schema, c.args, content, want)
		}
	}
	const nulls = `{"a":1,"b":null,"c":null,"d":null,"e":null,"f":null,"g":null,"h":null,"i":null,"j":null,"k":null,` +
		`"l":null,"m":null,"n":null,"o":null,"p":null,"q":null,"r":null,"s":null,"t":null,"u":null,"v":null,"w":null,"x":null,"y":null,"z":null}`
	if content, _ := callForeign(t, `{"additionalProperties":{"type":"integer"}}`, nulls); content != `{"a":1}` {
		t.Errorf("nulls that a schema refuses: %s", content)
	}
}

// Errors name the requirement of the schema.
func TestRefusalsNameTheDemand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, args, want string }{
		{`{"properties":{"a":{"pattern":"^[a-z]+$"}}}`, `{"a":"A"}`, `x: a must match ^[a-z]+$`},
		{`{"properties":{"a":false}}`, `{"a":1}`, `x: a is not allowed`},
		{`{"properties":{"a":{"exclusiveMinimum":0}}}`, `{"a":0}`, `x: a must be more than 0, got 0`},
		{`{"properties":{"a":{"exclusiveMinimum":0,"maximum":5}}}`, `{"a":0}`, `x: a must be more than 0 and at most 5, got 0`},
		{`{"properties":{"a":{"minimum":0,"exclusiveMaximum":5}}}`, `{"a":5}`, `x: a must be at least 0 and less than 5, got 5`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"minimum":0,"exclusiveMinimum":true}}}`, `{"a":0}`,
			`x: a must be more than 0, got 0`},
		{`{"properties":{"a":{"minimum":0}}}`, `{"a":-1}`, `x: a must be at least 0, got -1`},
		{`{"properties":{"a":{"type":"string","nullable":true}}}`, `{"a":1}`, `x: a must be string or null, got number`},
		{`{"properties":{"a":{"enum":["x",null,1,true,{"y":1}]}}}`, `{"a":"z"}`, `"allowed":["x","null","1","true","{\"y\":1}"]`},
		{`{"properties":{"a":{"type":["integer","string","array"]}},"required":["b"]}`, `{}`, `a?: integer|string|array`},
	} {
		content, failed := callForeign(t, c.schema, c.args)
		if !failed || !strings.Contains(content, c.want) {
			t.Errorf("%s %s: %s, want %s", c.schema, c.args, content, c.want)
		}
	}
}

// A description reports the parts of its schema that are not checked, also after a text without a
// full stop.
func TestDescriptionsNameUncheckedParts(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"int"}}}`:                              `"D. Its schema does not compile`,
		`{"type":"object","properties":{"a":{"type":"string","pattern":"^(?!-)[a-z]+$"}}}`: `"D. Not checked here: the pattern ^(?!-)[a-z]+$."`,
		`{"type":"object","properties":{"a":{"type":"string","pattern":"^[a-z]+$"}}}`:      `"D"`,
	} {
		f, err := toolfold.External{
			Name: "x", Description: "D", Category: "c", Lenient: true, InputSchema: json.RawMessage(schema),
			Run: func(_ context.Context, args json.RawMessage) (json.RawMessage, error) { return args, nil },
		}.Family()
		if err != nil {
			t.Fatal(err)
		}
		s := surface.New(surface.Options{})
		if err := s.Put(f); err != nil {
			t.Fatal(err)
		}
		described, refused := s.Discovery.View(t.Context()).Describe(f.Actions[0].FullName(), lazy.Account{})
		if refused != nil || !strings.Contains(string(described), `"description":`+want) {
			t.Errorf("%s: %s %v, want %s", schema, described, refused, want)
		}
	}
}

// Listed schemas allow every value that the original allows, except null if the schema does not
// mention it or it is the default: then null means absent.
func TestListsRefuseNothing(t *testing.T) {
	t.Parallel()
	values := []string{
		`"x"`, `"a"`, `""`, `1`, `2.5`, `-1`, `true`, `null`, `[]`, `["a"]`, `[1,"a"]`, `{}`, `{"a":"x"}`, `{"type":"a","x":"y"}`, `{"b":[1]}`,
	}
	for _, schema := range []string{
		`{"type":["string","null"]}`, `{"type":["integer","array","object"]}`, `{"type":"integer","nullable":true}`, `{"type":"null"}`,
		`{"anyOf":[{"type":"string"},{"type":"number"},{"type":"null"}]}`, `{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}`,
		`{"anyOf":[{"type":"string"},{}]}`, `{"oneOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}`,
		`{"type":"string","anyOf":[{"maxLength":1},{"minLength":1}]}`, `{"enum":["a",1,true,null]}`, `{"const":"a"}`, `{"const":{"a":"x"}}`,
		`{"oneOf":[{"const":"a"},{"const":1}]}`, `{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}]}`,
		`{"oneOf":[{"type":"object","properties":{"type":{"const":"a"}},"required":["type"]},{"type":"object","maxProperties":1}]}`,
		`{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{"allOf":[{"type":["object","string"]},{"minLength":1}]}`,
		`{"$ref":"#/$defs/d"}`, `{"type":"object","additionalProperties":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/d"}]}}`,
		`{"type":["number","string"],"allOf":[{"type":["integer","string"]}]}`, `{"not":{"type":"string"},"type":["string","number"]}`,
	} {
		whole := `{"type":"object","properties":{"p":` + schema + `},"required":["p"],"$defs":{"d":{"type":["array","boolean"]}}}`
		original, err := judge.CompileTool("x", json.RawMessage(whole))
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		f, err := toolfold.External{Name: "x", Description: "X.", Category: "c", InputSchema: json.RawMessage(whole)}.Family()
		if err != nil {
			t.Fatal(err)
		}
		for _, level := range lazy.Levels()[1:] {
			inputSchema := surface.List([]*toolfold.Family{f}, surface.Options{Level: level})[0].InputSchema
			shown, err := judge.Compile("x", inputSchema)
			if err != nil {
				t.Fatalf("%s at %s: %v", schema, level, err)
			}
			for _, value := range values {
				args := `{"p":` + value + `}`
				var decoded any
				if err := jsonx.Decode([]byte(args), &decoded); err != nil || original.Schema.Validate(decoded) != nil {
					continue
				}
				nothing := value == "null" && (strings.Contains(schema, "{}") || strings.Contains(schema, `"default":null`))
				if err := shown.Schema.Validate(decoded); err != nil && !nothing {
					t.Errorf("%s takes %s, and is listed at %s as %s: %v", schema, value, level, inputSchema, err)
				}
				if content, failed := callForeign(t, whole, args); failed || content != args {
					t.Errorf("%s takes %s, and a call is answered %s", schema, value, content)
				}
			}
		}
	}
}
