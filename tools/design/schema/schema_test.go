package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolfold/toolfold/internal/test/golden"
	"github.com/toolfold/toolfold/tools/design/schema"
)

// user has a field of every type that all formats have.
func user() schema.Model {
	return schema.Model{Name: "user account", Description: "Who may sign in.\nOne each.", Fields: []schema.Field{
		{Name: "id", Type: schema.UUID, Required: true, Description: "Never changes."},
		{Name: "email", Type: schema.Email, Required: true},
		{Name: "display-name", Type: schema.String, Nullable: true, Description: "As *others* see it."},
		{Name: "age", Type: schema.Integer},
		{Name: "score", Type: schema.Number, Required: true, Nullable: true},
		{Name: "active", Type: schema.Boolean, Required: true},
		{Name: "born", Type: schema.Date},
		{Name: "seen", Type: schema.DateTime, Required: true},
		{Name: "site", Type: schema.URL},
		{Name: "role", Type: schema.Enum, EnumValues: []string{"admin", "read-only", "2fa"}, Required: true},
		{Name: "mood", Type: schema.String, EnumValues: []string{"good", "bad"}, Nullable: true},
		{Name: "settings", Type: schema.Object},
		{Name: "tags", Type: schema.Array},
		{Name: "flags", Type: schema.Array, EnumValues: []string{"a", "b"}, Required: true},
		{Name: "team", Type: schema.Ref, RefSchema: "Team", Required: true, Description: "Where it belongs."},
		{Name: "orders", Type: schema.Array, RefSchema: "order"},
		{Name: "manager", Type: schema.Ref, RefSchema: "UserAccount", Nullable: true},
	}}
}

// small are records of what user lacks: one without an id, a reference or a description, and one of
// names and an id that formats write otherwise, that refers to itself in a list.
func small() []schema.Model {
	return []schema.Model{
		{Name: "note", Fields: []schema.Field{{Name: "text", Type: schema.String, Required: true}}},
		{Name: "class", Description: "One line.", Fields: []schema.Field{
			{Name: "id", Type: schema.Integer, Required: true},
			{Name: "__proto__", Type: schema.Array, EnumValues: []string{"a", "#"}, Description: "Two\n\nlines. */"},
			{Name: "parts", Type: schema.Array, RefSchema: "class", Required: true},
			{Name: "2nd", Type: schema.Ref, RefSchema: "pgTable", Nullable: true},
			{Name: "any", Type: schema.Array, Required: true, Nullable: true},
		}},
	}
}

func generate(t *testing.T, m schema.Model, format string) string {
	t.Helper()
	text, problems := schema.Generate(m, format)
	if len(problems) > 0 {
		t.Fatalf("%s: %+v", format, problems)
	}
	if again, _ := schema.Generate(m, format); again != text {
		t.Errorf("%s: the same model gave another text", format)
	}
	return text
}

func TestGolden(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	nothing := schema.Model{Name: "nothing", Fields: []schema.Field{{Name: "a", Type: schema.Null, Nullable: true},
		{Name: "b", Type: schema.Null, Required: true}}}
	for _, format := range schema.Formats() {
		models := append([]schema.Model{user()}, small()...)
		if format != schema.Prisma && format != schema.Drizzle { // which have no null
			models = append(models, nothing)
		}
		for _, m := range models {
			fmt.Fprintf(&b, "-- %s %s --\n%s", m.Name, format, generate(t, m, format))
		}
	}
	golden.Compare(t, "testdata/schema.txtar", b.String())
}

// Everything that is said of a field changes the text, in every format.
func TestEverythingShapesTheText(t *testing.T) {
	t.Parallel()
	for _, format := range schema.Formats() {
		whole := generate(t, user(), format)
		for what, change := range map[string]func(*schema.Model){
			"name":              func(m *schema.Model) { m.Name = "person" },
			"description":       func(m *schema.Model) { m.Description = "Another." },
			"a description":     func(m *schema.Model) { m.Fields[2].Description = "Another." },
			"a field's name":    func(m *schema.Model) { m.Fields[1].Name = "mail" },
			"required":          func(m *schema.Model) { m.Fields[5].Required = false },
			"nullable":          func(m *schema.Model) { m.Fields[5].Nullable = true },
			"enumValues":        func(m *schema.Model) { m.Fields[9].EnumValues = []string{"admin", "other"} },
			"refSchema":         func(m *schema.Model) { m.Fields[14].RefSchema = "Club" },
			"values of a list":  func(m *schema.Model) { m.Fields[13].EnumValues = []string{"a", "c"} },
			"members of a list": func(m *schema.Model) { m.Fields[15].RefSchema = "Basket" },
		} {
			m := user()
			change(&m)
			if generate(t, m, format) == whole {
				t.Errorf("%s: %s changes nothing", format, what)
			}
		}
	}
}

// compile compiles a JSON Schema that asserts its formats.
func compile(text string) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("mem://x", doc); err != nil {
		return nil, err
	}
	return compiler.Compile("mem://x")
}

// What is made as JSON Schema is a schema, and judges as the fields say.
func TestJSONSchemaJudges(t *testing.T) {
	t.Parallel()
	compiled, err := compile(generate(t, user(), schema.JSONSchema))
	if err != nil {
		t.Fatal(err)
	}
	good := `{"id":"00000000-0000-4000-8000-000000000001","email":"a@example.com","score":null,"active":true,` +
		`"seen":"2026-01-02T03:04:05Z","role":"2fa","flags":["a"],"team":{}`
	for rest, want := range map[string]bool{
		`}`:                                    true,
		`,"display-name":null,"mood":null}`:    true,
		`,"manager":null,"born":"2026-01-02"}`: true,
		`,"manager":{}}`:                       false, // lacks what a user needs
		`,"age":1.5}`:                          false,
		`,"age":null}`:                         false,
		`,"mood":"sad"}`:                       false,
		`,"site":"no url"}`:                    false,
		`,"flags":["c"]}`:                      false,
		`,"settings":[]}`:                      false,
	} {
		var value any
		if err := json.Unmarshal([]byte(good+rest), &value); err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(value); (err == nil) != want {
			t.Errorf("%s is valid: %v, want %v", rest, err, want)
		}
	}
}

func FuzzJSONSchema(f *testing.F) {
	for _, text := range []string{"a", `"`, "\\", "*/", "__proto__", "$ref", "\u2028", "a/b~c", "%", "#"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m := schema.Model{Name: "x", Description: s, Fields: []schema.Field{
			{Name: s, Type: schema.Enum, EnumValues: []string{s, "b"}, Description: s, Required: true, Nullable: true},
		}}
		text, problems := schema.Generate(m, schema.JSONSchema)
		if len(problems) > 0 {
			t.Skip()
		}
		compiled, err := compile(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		s = strings.ToValidUTF8(s, "\ufffd")
		if err := compiled.Validate(map[string]any{s: s}); err != nil && !strings.Contains(s, "\ufffd") {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, format := range schema.Formats() {
			_, _ = schema.Generate(m, format) // never panics
		}
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		format string
		change func(*schema.Model)
		path   string
	}{
		"a name without letters": {schema.Zod, func(m *schema.Model) { m.Name = "用户" }, "/name"},
		"two fields of one name": {schema.Zod, func(m *schema.Model) { m.Fields[1].Name = "id" }, "/fields/1/name"},
		"an enum without values": {schema.Zod, func(m *schema.Model) { m.Fields[9].EnumValues = nil }, "/fields/9/enumValues"},
		"an enum with a value twice": {schema.Zod, func(m *schema.Model) {
			m.Fields[9].EnumValues = []string{"a", "a"}
		}, "/fields/9/enumValues/1"},
		"an enum with too many values": {schema.Zod, func(m *schema.Model) {
			m.Fields[9].EnumValues = make([]string, 201)
		}, "/fields/9/enumValues"},
		"values of a number":               {schema.Zod, func(m *schema.Model) { m.Fields[4].EnumValues = []string{"1"} }, "/fields/4/type"},
		"a ref to nothing":                 {schema.Zod, func(m *schema.Model) { m.Fields[14].RefSchema = "" }, "/fields/14/refSchema"},
		"a ref without letters":            {schema.Zod, func(m *schema.Model) { m.Fields[14].RefSchema = "*/" }, "/fields/14/refSchema"},
		"a target of a boolean":            {schema.Zod, func(m *schema.Model) { m.Fields[5].RefSchema = "Team" }, "/fields/5/type"},
		"a list of values and of refs":     {schema.Zod, func(m *schema.Model) { m.Fields[13].RefSchema = "Team" }, "/fields/13/refSchema"},
		"null in prisma":                   {schema.Prisma, func(m *schema.Model) { m.Fields[3].Type = schema.Null }, "/fields/3/type"},
		"a list that is null in prisma":    {schema.Prisma, func(m *schema.Model) { m.Fields[13].Nullable = true }, "/fields/13/nullable"},
		"an id of floats in prisma":        {schema.Prisma, func(m *schema.Model) { m.Fields[0].Type = schema.Number }, "/fields/0/type"},
		"an id that may miss in prisma":    {schema.Prisma, func(m *schema.Model) { m.Fields[0].Required = false }, "/fields/0/type"},
		"a name of another script, prisma": {schema.Prisma, func(m *schema.Model) { m.Fields[2].Name = "名" }, "/fields/2/name"},
		"names that become one in prisma": {schema.Prisma, func(m *schema.Model) {
			m.Fields[3].Name = "display_name"
			m.Fields[4].Name = "display name"
		}, "/fields/4/name"},
		"null in drizzle":                   {schema.Drizzle, func(m *schema.Model) { m.Fields[3].Type = schema.Null }, "/fields/3/type"},
		"an id that may be null in drizzle": {schema.Drizzle, func(m *schema.Model) { m.Fields[0].Nullable = true }, "/fields/0/type"},
		"a format that there is not":        {"yup", func(*schema.Model) {}, "/format"},
	} {
		m := user()
		test.change(&m)
		text, problems := schema.Generate(m, test.format)
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
