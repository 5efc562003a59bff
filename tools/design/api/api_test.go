package api_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/toolfold/toolfold/internal/test/golden"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/tools/design/api"
)

// orders has something in every field of the model.
func orders() api.Model {
	return api.Model{
		Name: "Orders", Description: "Takes orders.\nAnd tells of them.", BaseURL: "https://api.example.com/v1/", Version: "2.1.0",
		Endpoints: []api.Endpoint{
			{
				Path: "/orders/:id", Method: "GET", Summary: "Get an order", Tags: []string{"orders", "read", "orders"},
				Parameters: []api.Parameter{
					{Name: "id", Description: "Its id."}, {Name: "fields", Type: "array"},
					{Name: "X-Trace", In: "header", Required: true, Description: "Of the call."},
				},
				ResponseBody: json.RawMessage(`{"type":["object","null"],"properties":{"z":{"type":"string"},"a":{"type":"number",` +
					`"minimum":1.50}},"required":["z"]}`),
			},
			{
				Path: "/orders", Method: "POST", Summary: "Place an order", Description: "Answers at once.", Tags: []string{"orders"},
				RequestBody:  json.RawMessage(`{"type":"object","properties":{"lines":{"type":"array","items":{"type":"object"}}}}`),
				ResponseBody: json.RawMessage(`{"type":"object"}`),
			},
			{Path: "/orders/{id}", Method: "DELETE", Summary: "Drop an order"},
		},
	}
}

// shop has named schemas that refer to each other, security, and, where the format knows
// statuses, other answers than 200.
func shop(format string) api.Model {
	named := func(name string) json.RawMessage {
		return json.RawMessage(`{"$ref":"#/components/schemas/` + name + `"}`)
	}
	m := api.Model{
		Name: "Shop", Version: "1", BaseURL: "https://shop.example.com", Security: []string{"bearer", "apiKey", "basic"},
		Schemas: ordered.MustJSON(ordered.Map{
			{Key: "Item", Value: json.RawMessage(`{"type":"object","properties":{"parts":{"type":"array","items":{"$ref":"#/schemas/Item"}},` +
				`"price":{"$ref":"#/components/schemas/Price"}}}`)},
			{Key: "Price", Value: json.RawMessage(`{"type":"number"}`)}, {Key: "Problem", Value: json.RawMessage(`{"type":"object"}`)},
		}),
		Endpoints: []api.Endpoint{
			{Path: "/items/{id}", Method: "GET", Summary: "Get an item", ResponseBody: named("Item"), Public: true},
			{Path: "/items", Method: "POST", Summary: "Add an item", RequestBody: named("Item")},
			{Path: "/items/{id}", Method: "DELETE", Summary: "Drop an item"},
		},
	}
	if format == api.OpenAPI {
		m.Endpoints[0].Responses = ordered.MustJSON(ordered.Map{{Key: "default", Value: named("Problem")}, {Key: "404", Value: named("Problem")}})
		m.Endpoints[1].Responses = ordered.MustJSON(ordered.Map{{Key: "201", Value: named("Item")}, {Key: "4XX", Value: named("Problem")}})
		m.Endpoints[2].Responses = ordered.MustJSON(ordered.Map{{Key: "204", Value: json.RawMessage(`{}`)}})
	}
	return m
}

func generate(t *testing.T, m api.Model, format string, asYAML bool) string {
	t.Helper()
	text, problems := api.Generate(m, format, asYAML)
	if len(problems) > 0 {
		t.Fatalf("%s: %+v", format, problems)
	}
	if again, _ := api.Generate(m, format, asYAML); again != text {
		t.Errorf("%s: the same model gave another text", format)
	}
	return text
}

func TestGolden(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, format := range api.Formats() {
		fmt.Fprintf(&b, "-- %s.json --\n%s-- %s.yaml --\n%s", format, generate(t, orders(), format, false), format,
			generate(t, orders(), format, true))
		fmt.Fprintf(&b, "-- %s of named schemas.yaml --\n%s", format, generate(t, shop(format), format, true))
	}
	golden.Compare(t, "testdata/api.txtar", b.String())
}

// hostile are texts that end comments, literals or lines somewhere, and
// scalars that YAML reads as something else.
var hostile = []string{
	`"; drop`, "line\nbreak\r\n\ttab", "- item", "? key: value", "# no comment", "&a *a !!str", "yes", "~", "1e3", "0x1f", "2020-01-01",
	"{a}", "[b]", "|", ">", "%YAML", "@at", "`tick`", "'single'", "\u0085\u2028\u2029", "日本語 🎉", "\x00\x07\x7f\u0080", "a: b #c", " lead",
	"trail ", "\ufeff", "\\", "<<",
}

// models are sensible models with names, texts and schemas of all kinds.
func models() []api.Model {
	list := []api.Model{orders(), {Name: "bare", Version: "1", Endpoints: []api.Endpoint{{Path: "/", Method: "GET", Summary: "s"}}}}
	for _, text := range hostile {
		body, _ := json.Marshal(map[string]any{"type": "object", "description": text,
			"properties": map[string]any{text: map[string]any{"const": text, "type": "string"}}})
		m := api.Model{Name: "n " + text, Version: "v" + text, Description: text}
		for i, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			e := api.Endpoint{
				Path: fmt.Sprintf("/日本/%d/{a}/b-{c_d}", i%2), Method: method, Summary: text, Description: text, Tags: []string{text, "plain"},
				Parameters: []api.Parameter{
					{Name: "a", Description: text}, {Name: "h", In: "header", Description: text, Type: "integer"},
				},
				ResponseBody: body,
			}
			if method != "GET" {
				e.RequestBody = body
			}
			m.Endpoints = append(m.Endpoints, e)
		}
		list = append(list, m)
	}
	return list
}

// The schema is the official one of OpenAPI 3.1, of 3 August 2026.
func TestOpenAPIIsValid(t *testing.T) {
	t.Parallel()
	checkDocuments(t, api.OpenAPI, "../contract/schemas/openapi-3.1.json.gz")
}

// The schema is the official one of AsyncAPI 3.0.0, from @asyncapi/specs.
func TestAsyncAPIIsValid(t *testing.T) {
	t.Parallel()
	checkDocuments(t, api.AsyncAPI, "../contract/schemas/asyncapi-3.0.json.gz")
}

// checkDocuments holds what is made of every model to the official schema of
// its format.
func checkDocuments(t *testing.T, format, path string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	unzip, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	official, err := jsonschema.UnmarshalJSON(unzip)
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("mem://official", official); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("mem://official")
	if err != nil {
		t.Fatal(err)
	}
	if schema.Validate(map[string]any{format: "3.0.0"}) == nil {
		t.Fatal("the schema lets everything through")
	}
	for _, m := range append(models(), shop(format)) {
		var document any
		text := generate(t, m, format, false)
		if err := json.Unmarshal([]byte(text), &document); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(document); err != nil {
			t.Errorf("%q: %#v\n%s", m.Name, err, text)
		}
		checkReferences(t, document, document)
	}
}

// checkReferences follows every reference of a document.
func checkReferences(t *testing.T, root, part any) {
	t.Helper()
	switch part := part.(type) {
	case []any:
		for _, inner := range part {
			checkReferences(t, root, inner)
		}
	case map[string]any:
		if target, ok := part["$ref"].(string); ok {
			at := root
			for _, step := range strings.Split(strings.TrimPrefix(target, "#/"), "/") {
				holder, _ := at.(map[string]any)
				at = holder[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
			}
			if at == nil {
				t.Errorf("%s leads nowhere", target)
			}
		}
		for _, inner := range part {
			checkReferences(t, root, inner)
		}
	}
}

func TestOperationIDsAreUnique(t *testing.T) {
	t.Parallel()
	m := api.Model{Name: "n", Version: "1"}
	for _, path := range []string{"/a-b", "/a/b", "/a_b", "/日本", "/中国", "/x/{y}", "/x/by/y", "/"} {
		m.Endpoints = append(m.Endpoints, api.Endpoint{Path: path, Method: "GET", Summary: "s"})
	}
	seen := map[string]bool{}
	for line := range strings.Lines(generate(t, m, api.OpenAPI, true)) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "operationId: "); ok {
			if seen[id] {
				t.Errorf("%s is there twice", id)
			}
			seen[id] = true
		}
	}
	if len(seen) != len(m.Endpoints) {
		t.Errorf("%d operations have %d ids", len(m.Endpoints), len(seen))
	}
}

// The document in YAML is the one that JSON has.
func FuzzYAML(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	for length := 1020; length < 1028; length++ { // about as long as a key in front of a colon may be
		f.Add(strings.Repeat("k", length))
	}
	f.Add(strings.Repeat("long: ", 200))
	f.Add(strings.Repeat("😀", 600))
	f.Fuzz(func(t *testing.T, text string) {
		body, err := json.Marshal(map[string]any{"const": text, "default": map[string]any{text: []any{text, 1, nil, true, map[string]any{},
			[]any{}, map[string]any{text: []any{text}, "of": map[string]any{text: text}}}}})
		if err != nil {
			t.Fatal(err)
		}
		m := api.Model{Name: "n" + text, Version: "1", Description: text, Endpoints: []api.Endpoint{{
			Path: "/x", Method: "GET", Summary: text, Tags: []string{text}, ResponseBody: body,
		}}}
		asJSON, problems := api.Generate(m, api.OpenAPI, false)
		if len(problems) > 0 {
			t.Skip(problems)
		}
		asYAML := generate(t, m, api.OpenAPI, true)
		var want any
		if err := json.Unmarshal([]byte(asJSON), &want); err != nil {
			t.Fatal(err)
		}
		var got any
		if err := yaml.Unmarshal([]byte(asYAML), &got); err != nil {
			t.Fatalf("%v\n%s", err, asYAML)
		}
		if diff := cmp.Diff(normal(t, want), normal(t, got)); diff != "" {
			t.Fatalf("another document is read: %s\n%s", diff, asYAML)
		}
	})
}

// normal is a document as JSON with sorted members.
func normal(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	body := json.RawMessage(`{"type":"object"}`)
	for what, test := range map[string]struct {
		format string
		change func(*api.Model)
		path   string
	}{
		"a $ref to nothing that is named": {"openapi", func(m *api.Model) {
			m.Endpoints[1].RequestBody = json.RawMessage(`{"items":{"$ref":"#/components/schemas/Order"}}`)
		}, "/endpoints/1/requestBody"},
		"a named schema of no name": {"openapi", func(m *api.Model) {
			m.Schemas = ordered.MustJSON(ordered.Map{{Key: "a b", Value: body}})
		}, "/schemas/a b"},
		"a named schema that is none": {"openapi", func(m *api.Model) {
			m.Schemas = ordered.MustJSON(ordered.Map{{Key: "A", Value: json.RawMessage(`{"type":"text"}`)}})
		}, "/schemas/A"},
		"a status of none": {"openapi", func(m *api.Model) { m.Endpoints[1].Responses = ordered.MustJSON(ordered.Map{{Key: "ok", Value: body}}) },
			"/endpoints/1/responses/ok"},
		"two bodies of 200": {"openapi", func(m *api.Model) {
			m.Endpoints[1].Responses = ordered.MustJSON(ordered.Map{{Key: "200", Value: body}})
		},
			"/endpoints/1/responses/200"},
		"statuses in asyncapi": {"asyncapi", func(m *api.Model) {
			m.Endpoints[1].Responses = ordered.MustJSON(ordered.Map{{Key: "404", Value: body}})
		},
			"/endpoints/1/responses"},
		"public without security":      {"openapi", func(m *api.Model) { m.Endpoints[1].Public = true }, "/endpoints/1/public"},
		"no name":                      {"openapi", func(m *api.Model) { m.Name = " \n" }, "/name"},
		"no version":                   {"openapi", func(m *api.Model) { m.Version = "" }, "/version"},
		"a url without host":           {"openapi", func(m *api.Model) { m.BaseURL = "mailto:a@b" }, "/baseUrl"},
		"a url with a password":        {"openapi", func(m *api.Model) { m.BaseURL = "https://u:p@h" }, "/baseUrl"},
		"a url with variables":         {"openapi", func(m *api.Model) { m.BaseURL = "https://{h}.example.com" }, "/baseUrl"},
		"a url of a broker in openapi": {"openapi", func(m *api.Model) { m.BaseURL = "mqtt://h" }, "/baseUrl"},
		"a path that is relative":      {"openapi", func(m *api.Model) { m.Endpoints[1].Path = "orders" }, "/endpoints/1/path"},
		"a path with a query":          {"openapi", func(m *api.Model) { m.Endpoints[1].Path = "/a?b=c" }, "/endpoints/1/path"},
		"a path with a stray brace":    {"openapi", func(m *api.Model) { m.Endpoints[1].Path = "/a/{b" }, "/endpoints/1/path"},
		"a path with a line break":     {"openapi", func(m *api.Model) { m.Endpoints[1].Path = "/a\n/b" }, "/endpoints/1/path"},
		"a parameter that is no name":  {"openapi", func(m *api.Model) { m.Endpoints[1].Path = "/a/{b c}" }, "/endpoints/1/path"},
		"a parameter twice in a path":  {"openapi", func(m *api.Model) { m.Endpoints[1].Path = "/a/{b}/{b}" }, "/endpoints/1/path"},
		"the same operation twice":     {"openapi", func(m *api.Model) { m.Endpoints[2].Method = "GET" }, "/endpoints/2/path"},
		"a path spelt in two ways":     {"openapi", func(m *api.Model) { m.Endpoints[2].Path = "/orders/{key}" }, "/endpoints/2/path"},
		"a body in GET":                {"openapi", func(m *api.Model) { m.Endpoints[0].RequestBody = body }, "/endpoints/0/method"},
		"a body in the answer to HEAD": {"openapi", func(m *api.Model) { m.Endpoints[0].Method = "HEAD" }, "/endpoints/0/method"},
		"a body that is no schema": {"openapi", func(m *api.Model) {
			m.Endpoints[1].RequestBody = json.RawMessage(`{"type":"banana"}`)
		}, "/endpoints/1/requestBody"},
		"a body that is an example": {"openapi", func(m *api.Model) {
			m.Endpoints[1].RequestBody = json.RawMessage(`{"email":"a@example.com","age":3}`)
		}, "/endpoints/1/requestBody"},
		"a body with a keyword that there is not": {"asyncapi", func(m *api.Model) {
			m.Endpoints[1].ResponseBody = json.RawMessage(`{"type":"object","requried":["id"]}`)
		}, "/endpoints/1/responseBody"},
		"a body that refers": {"openapi", func(m *api.Model) {
			m.Endpoints[1].RequestBody = json.RawMessage(`{"items":{"$ref":"file:///etc/passwd"}}`)
		}, "/endpoints/1/requestBody"},
		"a body that is too deep": {"openapi", func(m *api.Model) {
			m.Endpoints[1].RequestBody = json.RawMessage(strings.Repeat(`{"not":`, 30) + "{}" + strings.Repeat("}", 30))
		}, "/endpoints/1/requestBody"},
		"a header that is said elsewhere": {"openapi", func(m *api.Model) {
			m.Endpoints[0].Parameters[2].Name = "Content-Type"
		}, "/endpoints/0/parameters/2/name"},
		"a header with a space": {"openapi", func(m *api.Model) {
			m.Endpoints[0].Parameters[2].Name = "a b"
		}, "/endpoints/0/parameters/2/name"},
		"a parameter not in the path": {"openapi", func(m *api.Model) {
			m.Endpoints[0].Parameters[1].In = "path"
		}, "/endpoints/0/parameters/1/name"},
		"a parameter twice": {"openapi", func(m *api.Model) {
			m.Endpoints[0].Parameters[1].Name = "id"
		}, "/endpoints/0/parameters/1/name"},
		"a place that there is not": {"openapi", func(m *api.Model) {
			m.Endpoints[0].Parameters[1].In = "body"
		}, "/endpoints/0/parameters/1/in"},
		"a type that there is not": {"openapi", func(m *api.Model) {
			m.Endpoints[0].Parameters[1].Type = "file"
		}, "/endpoints/0/parameters/1/type"},
		"HEAD in asyncapi":                 {"asyncapi", func(m *api.Model) { m.Endpoints[2].Method = "HEAD" }, "/endpoints/2/method"},
		"OPTIONS in asyncapi":              {"asyncapi", func(m *api.Model) { m.Endpoints[2].Method = "OPTIONS" }, "/endpoints/2/method"},
		"a query without http in asyncapi": {"asyncapi", func(m *api.Model) { m.BaseURL = "mqtt://h:1883" }, "/endpoints/0/parameters"},
		"a cookie in asyncapi": {"asyncapi", func(m *api.Model) {
			m.Endpoints[0].Parameters[1].In = "cookie"
		}, "/endpoints/0/parameters"},
		"a number in a path of asyncapi": {"asyncapi", func(m *api.Model) {
			m.Endpoints[0].Parameters[0].Type = "integer"
		}, "/endpoints/0/parameters"},
		"a format that there is not": {"raml", func(*api.Model) {}, "/format"},
	} {
		m := orders()
		test.change(&m)
		text, problems := api.Generate(m, test.format, false)
		if text != "" {
			t.Errorf("%s: there is a text beside the problems", what)
		}
		var paths []string
		for _, p := range problems {
			paths = append(paths, p.Path)
		}
		if diff := cmp.Diff([]string{test.path}, paths); diff != "" {
			t.Errorf("%s: %s %+v", what, diff, problems)
		}
	}
}
