package entry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// actionOf returns an action of another server with this input schema.
func actionOf(t *testing.T, schema string) *toolfold.Action {
	t.Helper()
	a, err := toolfold.External{Name: "x", Description: "X.", InputSchema: json.RawMessage(schema), Lenient: true}.Action()
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	f := toolfold.Family{Name: "x", Summary: "X", Apiece: true, Bare: true, Actions: []*toolfold.Action{a}}
	mounted, err := toolfold.Mount(f, func(context.Context) (int, error) { return 0, nil })
	if err != nil {
		t.Fatal(err)
	}
	return mounted.Actions[0]
}

// typeOf returns the type of p, the only parameter of a schema, in a signature.
func typeOf(t *testing.T, schema string) string {
	t.Helper()
	text := entry.New(actionOf(t, schema), "x").Parameters(entry.DetailTypes, map[string]bool{})
	if text == "(p)" {
		return "string"
	}
	return strings.TrimSuffix(strings.TrimPrefix(text, "(p:"), ")")
}

// A schema that combines other schemas is shown by the types of its values, however it is composed.
func TestTypes(t *testing.T) {
	t.Parallel()
	object := func(kind, member string) string {
		return `{"type":"object","properties":{"type":{"const":"` + kind + `"},"` + member + `":{"type":"string"}},` +
			`"required":["type","` + member + `"]}`
	}
	long := func(kind string) string { return object(kind, strings.Repeat(kind, 40)) }
	for _, c := range []struct{ name, schema, want string }{
		{"a type", `{"type":"string"}`, "string"},
		{"types", `{"type":["string","number"]}`, "string|number"},
		{"a type and null", `{"type":["string","null"]}`, "string|null"},
		{"null is the same as nothing", `{"type":["string","null"],"default":null}`, "string"},
		{"nullable", `{"type":"integer","nullable":true}`, "integer|null"},
		{"null", `{"type":"null"}`, "null"},
		{"anything", `{"description":"P."}`, "any"},
		{"true", `true`, "any"},
		{"any of types", `{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"string","maxLength":3}]}`, "string|integer"},
		{"Optional of pydantic", `{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null,"title":"P"}`, "integer"},
		{"nullable of zod", `{"anyOf":[{"type":"string","enum":["a","b"]},{"type":"null"}]}`, "a|b|null"},
		{"Optional of a union", `{"anyOf":[{"type":"string"},{"items":{"type":"string"},"type":"array"},{"type":"null"}],"default":null}`,
			"string|string[]"},
		{"one of a type and anything", `{"oneOf":[{"type":"string"},{}]}`, "any"},
		{"a union in a union", `{"anyOf":[{"type":"string"},{"oneOf":[{"type":"boolean"},{"type":["number","null"]}]}]}`,
			"string|boolean|number|null"},
		{"a reference", `{"$ref":"#/$defs/id"}`, "string|integer"},
		{"references", `{"anyOf":[{"$ref":"#/$defs/id"},{"$ref":"#/$defs/none"}]}`, "string|integer|null"},
		{"a reference that leads out", `{"$ref":"https://x.test/s"}`, "any"},
		{"a list of a union", `{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"integer"}]}}`, "(string|integer)[]"},
		{"a list of anything", `{"type":"array"}`, "any[]"},
		{"a list of anything beside a text", `{"type":["array","string"]}`, "array|string"},
		{"a tuple", `{"type":"array","prefixItems":[{"type":"number"},{"type":"string"}],"items":false}`, "(number|string)[]"},
		{"a tuple of draft-07", `{"type":"array","items":[{"type":"number"},{"type":"number"}],"minItems":2,"maxItems":2}`, "number[]"},
		{"an open tuple", `{"type":"array","prefixItems":[{"type":"number"}]}`, "any[]"},
		{"formats", `{"anyOf":[{"type":"string","format":"date"},{"type":"string","format":"date-time"}]}`, "date|date-time"},

		{"values", `{"enum":["a","b"]}`, "a|b"},
		{"values and null", `{"enum":["a",null,"b"]}`, "a|b|null"},
		{"values of several types", `{"enum":["auto",1,2.5,true]}`, "'auto'|1|2.5|true"},
		{"numbers", `{"type":"integer","enum":[1,2,3]}`, "1|2|3"},
		{"texts that read as numbers", `{"type":"string","enum":["1","2"]}`, "'1'|'2'"},
		{"texts that read as types", `{"type":"string","enum":["string","number"]}`, "'string'|'number'"},
		{"texts with a type among them", `{"type":"string","enum":["number","title"]}`, "number|title"},
		{"a value", `{"const":"page"}`, "'page'"},
		{"a number", `{"const":2}`, "2"},
		{"values by const", `{"oneOf":[{"const":"a","title":"A"},{"const":"b"}]}`, "a|b"},
		{"values and any text", `{"anyOf":[{"enum":["a","b"]},{"type":"string"}]}`, "'a'|'b'|string"},
		{"values or a number", `{"anyOf":[{"type":"number"},{"const":"auto"}]}`, "number|'auto'"},
		{"values of both", `{"type":"string","enum":["a","b"],"allOf":[{"enum":["b","c"]}]}`, "'b'"},

		{"an object", `{"type":"object","properties":{"a":{"type":"string"},"b":{"anyOf":[{"type":"integer"},{"type":"boolean"}]}},` +
			`"required":["b"]}`,
			"{b:integer|boolean,a?}"},
		{"an object of alike members", `{"type":"object","additionalProperties":{"type":["string","number"]}}`, "{[key]:string|number}"},
		{"an object by its members", `{"properties":{"a":{"type":"string"}}}`, "{a?}"},
		{"all of", `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"integer"}}}]}`,
			"{a,b?:integer}"},
		{"all of, with a part of no type", `{"type":"string","allOf":[{"minLength":1},{"pattern":"^a"}]}`, "string"},
		{"all of what excludes each other", `{"allOf":[{"type":"string"},{"type":"integer"}]}`, "string"},
		{"an integer by two types", `{"type":["number","string"],"allOf":[{"type":"integer"}]}`, "integer"},
		{"one of two members", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},` +
			`"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
			"{a,b?}|{b,a?}"},
		{"alternatives told apart", `{"oneOf":[` + object("a", "x") + `,` + object("b", "y") + `],"discriminator":{"propertyName":"type"}}`,
			"{type:'a',x}|{type:'b',y}"},
		{"alternatives told apart, long", `{"oneOf":[` + long("a") + `,` + long("b") + `,` + long("c") + `]}`, "{type:a|b|c,…}"},
		{"alternatives by reference", `{"oneOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"},{"type":"string"}]}`,
			"{type:'a',x}|{type:'b',y}|string"},
		{"alternatives, long, with nothing to tell them apart", `{"anyOf":[{"type":"object",` +
			`"properties":{"` + strings.Repeat("x", 120) + `":{}}},{"type":"object","properties":{"a":{}}},{"type":"string"}]}`, "object|string"},
		{"an object or a text", `{"anyOf":[{"type":"object","additionalProperties":true},{"type":"string"}]}`, "object|string"},
		{"many types", `{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"boolean"},` +
			`{"type":"array","items":{"type":"string"}},{"type":"object"}]}`,
			"string|integer|boolean|…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			schema := `{"type":"object","properties":{"p":` + c.schema + `},"required":["p"],"$defs":{"id":{"type":["string","integer"]},` +
				`"none":{"type":"null"},"a":` + object("a", "x") + `,"b":` + object("b", "y") + `}}`
			if got := typeOf(t, schema); got != c.want {
				t.Errorf("%s is shown as %s, want %s", c.schema, got, c.want)
			}
		})
	}
}

// Reading a schema that multiplies alternatives is cheap, and the resulting type is short.
func TestTypesAreBounded(t *testing.T) {
	t.Parallel()
	repeat := func(n int, each func(i int) string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = each(i)
		}
		return strings.Join(parts, ",")
	}
	one := func(i int) string {
		return fmt.Sprintf(`{"type":"object","properties":{"k%d":{"type":"string"}},"required":["k%[1]d"]}`, i)
	}
	pairs := `{"anyOf":[` + repeat(20, one) + `]}`
	deep := `{"type":"string"}`
	for i := range 40 {
		deep = fmt.Sprintf(`{"anyOf":[{"type":"object","properties":{"member%d":%s},"required":["member%[1]d"]},{"type":"string"}]}`, i, deep)
	}
	wide := `{"type":"object","properties":{` + repeat(500, func(i int) string { return fmt.Sprintf(`"m%d":{"type":"string"}`, i) }) + `}}`
	for name, schema := range map[string]string{
		"alternatives of alternatives": `{"allOf":[` + repeat(12, func(int) string { return pairs }) + `]}`,
		"members":                      `{"allOf":[` + repeat(100, func(int) string { return wide }) + `]}`,
		"levels":                       deep,
		"values":                       `{"anyOf":[` + repeat(4000, func(i int) string { return fmt.Sprintf(`{"const":%d}`, i) }) + `]}`,
		"objects":                      `{"anyOf":[` + repeat(4000, one) + `]}`,
	} {
		if shape := typeOf(t, `{"type":"object","properties":{"p":`+schema+`},"required":["p"]}`); name != "values" && len(shape) > 200 {
			t.Errorf("%s: %s", name, shape)
		}
	}
}

// For tools of real servers, no parameter is shown as any or object if its schema is more specific.
func TestTypesOfLists(t *testing.T) {
	t.Parallel()
	dirs := []string{filepath.Join("..", "gateway", "testdata")}
	if dir := os.Getenv("TOOLFOLD_TOOL_LISTS"); dir != "" {
		dirs = append(dirs, dir)
	}
	vague := regexp.MustCompile(`^\(*(any|object)[)\[\]]*(\|null)?$`)
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no lists: %v", dir, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var list struct {
				Tools []struct {
					Name        string
					InputSchema json.RawMessage
				}
			}
			if err := json.Unmarshal(text, &list); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, tool := range list.Tools {
				schema, _ := ordered.Read(tool.InputSchema)
				value, _ := schema.Get("properties")
				properties, _ := value.(json.RawMessage)
				members, _ := ordered.Read(properties)
				for _, m := range members {
					schema.Set("properties", ordered.Map{{Key: "p", Value: m.Value}})
					schema.Set("required", []string{"p"})
					raw := m.Value.(json.RawMessage)
					shape := typeOf(t, string(ordered.MustJSON(schema)))
					if vague.MatchString(shape) && hasMore(raw, shape) {
						t.Errorf("%s: %s of %s is shown as %s: %s", filepath.Base(file), m.Key, tool.Name, shape, raw)
					}
				}
			}
		}
	}
}

// hasMore reports whether a schema has alternatives or values that a vague type omits.
func hasMore(schema json.RawMessage, shape string) bool {
	var s struct {
		Type                any
		Items               json.RawMessage
		AnyOf, OneOf, AllOf []json.RawMessage
		Enum                []any
		Const               any
		Ref                 string `json:"$ref"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return false
	}
	if s.Items != nil {
		return hasMore(s.Items, shape)
	}
	_, types := s.Type.([]any)
	more := types || len(s.AnyOf)+len(s.OneOf)+len(s.AllOf)+len(s.Enum) > 0 || s.Const != nil || s.Ref != ""
	return more || strings.Contains(shape, string(toolfold.KindAny)) && s.Type != nil && !slices.Contains([]any{"array"}, s.Type)
}
