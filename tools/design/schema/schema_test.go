package schema_test

import (
	"database/sql"
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

// detailed has every detail that fields can have.
func detailed() schema.Model {
	return schema.Model{Name: "OrderItem", Description: "What it's about: \\ and '.", Fields: []schema.Field{
		{Name: "ID", Type: schema.Integer, Required: true},
		{Name: "orderNumber", Type: schema.String, Required: true, Details: schema.Details{Pattern: `^[A-Z]{2}-\d+$`, Unique: true,
			Max: new(12.0)}},
		{Name: "productId", Type: schema.Ref, RefSchema: "Product", Required: true, Details: schema.Details{OnDelete: schema.Restrict,
			Index: true}},
		{Name: "parent", Type: schema.Ref, RefSchema: "OrderItem", Details: schema.Details{OnDelete: schema.SetNull, Unique: true}},
		{Name: "quantity", Type: schema.Integer, Details: schema.Details{Min: new(1.0), Max: new(99.0), Default: json.RawMessage(`1`),
			Index: true}},
		{Name: "price", Type: schema.Number, Required: true, Details: schema.Details{Min: new(0.01)}},
		{Name: "state", Type: schema.Enum, EnumValues: []string{"new", "it's", "2nd \\ try"},
			Details: schema.Details{Default: json.RawMessage(`"it's"`)}},
		{Name: "labels", Type: schema.Array, EnumValues: []string{"a", "b-c"}, Details: schema.Details{Max: new(2.0),
			Default: json.RawMessage(`["b-c"]`)}},
		{Name: "extra", Type: schema.Object, Details: schema.Details{Default: json.RawMessage(`{"a": ["'"], "__proto__": 1}`)}},
		{Name: "sizes", Type: schema.Array, Nullable: true, Details: schema.Details{Min: new(1.0), Default: json.RawMessage(`[1, "x"]`)}},
		{Name: "gift", Type: schema.Boolean, Details: schema.Details{Default: json.RawMessage(`false`)}},
		{Name: "note", Type: schema.String, Nullable: true, Details: schema.Details{Default: json.RawMessage(`"\\'; DROP TABLE x; --"`)}},
		{Name: "contact", Type: schema.Email, Details: schema.Details{Max: new(100.0), Index: true, Unique: true}},
		{Name: "createdAt", Type: schema.DateTime, Details: schema.Details{Default: json.RawMessage(`"now"`)}},
		{Name: "dueAt", Type: schema.DateTime, Details: schema.Details{Default: json.RawMessage(`"2026-01-02T03:04:05+02:00"`)}},
		{Name: "madeOn", Type: schema.Date, Details: schema.Details{Default: json.RawMessage(`"now"`)}},
		{Name: "dueOn", Type: schema.Date, Details: schema.Details{Default: json.RawMessage(`"2026-01-02"`)}},
		{Name: "weight", Type: schema.Number, Nullable: true, Details: schema.Details{Default: json.RawMessage(`-1.5e-3`)}},
		{Name: "related", Type: schema.Array, RefSchema: "OrderItem", Details: schema.Details{OnDelete: schema.Cascade, Max: new(5.0)}},
	}}
}

// models are the records that a format can hold.
func models(format string) []schema.Model {
	list := append([]schema.Model{user(), detailed()}, small()...)
	switch format {
	case schema.SQL:
		list[3].Fields[3].RefSchema = "Table" // PostgreSQL's own tables begin with pg
	case schema.Zod, schema.JSONSchema, schema.TypeScript: // which have null
		list = append(list, schema.Model{Name: "nothing", Fields: []schema.Field{{Name: "a", Type: schema.Null, Nullable: true},
			{Name: "b", Type: schema.Null, Required: true}}})
	}
	return list
}

// whole returns a text with its notes.
func whole(t *testing.T, m schema.Model, format string) schema.Text {
	t.Helper()
	text, problems := schema.Generate(m, format)
	if len(problems) > 0 {
		t.Fatalf("%s: %+v", format, problems)
	}
	again, _ := schema.Generate(m, format)
	if diff := cmp.Diff(text, again); diff != "" {
		t.Errorf("%s: the same model gave another text: %s", format, diff)
	}
	return text
}

func generate(t *testing.T, m schema.Model, format string) string {
	t.Helper()
	return whole(t, m, format).Content
}

func TestGolden(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, format := range schema.Formats() {
		for _, m := range models(format) {
			text := whole(t, m, format)
			fmt.Fprintf(&b, "-- %s %s --\n%s", m.Name, format, text.Content)
			for _, note := range text.Notes {
				fmt.Fprintf(&b, "note: %s\n", note)
			}
		}
	}
	golden.Compare(t, "testdata/schema.txtar", b.String())
}

// Everything that is said of a field changes the text, in every format.
func TestEverythingShapesTheText(t *testing.T) {
	t.Parallel()
	for _, format := range schema.Formats() {
		before := generate(t, user(), format)
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
			if generate(t, m, format) == before {
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
		made, problems := schema.Generate(m, schema.JSONSchema)
		if len(problems) > 0 {
			t.Skip()
		}
		text := made.Content
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

const uuidText = `"0b7f7a3e-6f0c-4d3c-9a58-0d6c3f5f8b11"`

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// What a detail says is in the text, or in the notes.
func TestEveryDetailCounts(t *testing.T) {
	t.Parallel()
	for _, format := range schema.Formats() {
		before := whole(t, detailed(), format)
		for i, f := range detailed().Fields {
			for what, change := range map[string]func(*schema.Field){
				"default": func(f *schema.Field) { f.Default = nil }, "min": func(f *schema.Field) { f.Min = nil },
				"max": func(f *schema.Field) { f.Max = nil }, "pattern": func(f *schema.Field) { f.Pattern = "" },
				"unique": func(f *schema.Field) { f.Unique = false }, "onDelete": func(f *schema.Field) { f.OnDelete = "" },
				"index": func(f *schema.Field) { f.Index = f.Index && f.Unique }, // unique columns have one
			} {
				m := detailed()
				change(&m.Fields[i])
				related := f.Name == "related" && what == "onDelete" // cascades anyway
				if related || cmp.Equal(m.Fields[i], f) {
					continue
				}
				if cmp.Equal(before, whole(t, m, format)) {
					t.Errorf("%s: %s of %s is nowhere", format, what, f.Name)
				}
			}
		}
	}
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
		"null in sql":                       {schema.SQL, func(m *schema.Model) { m.Fields[3].Type = schema.Null }, "/fields/3/type"},
		"an id of texts that may be null":   {schema.SQLite, func(m *schema.Model) { m.Fields[0].Nullable = true }, "/fields/0/type"},
		"an id with a default":              {schema.SQL, func(m *schema.Model) { m.Fields[0].Default = raw(uuidText) }, "/fields/0/default"},
		"fields of one column":              {schema.SQL, func(m *schema.Model) { m.Fields[3].Name = "displayName" }, "/fields/3/name"},
		"columns of one name to SQLite": {schema.SQLite, func(m *schema.Model) { m.Fields[3].Name, m.Fields[4].Name = "a日", "A日" },
			"/fields/4/name"},
		"fields of one column in drizzle": {schema.Drizzle, func(m *schema.Model) { m.Fields[3].Name = "display_name" }, "/fields/3/name"},
		"a system column":                 {schema.SQL, func(m *schema.Model) { m.Fields[3].Name = "xmin" }, "/fields/3/name"},
		"a system table of PostgreSQL":    {schema.SQL, func(m *schema.Model) { m.Name = "PgClass" }, "/name"},
		"a ref to one":                    {schema.SQL, func(m *schema.Model) { m.Fields[14].RefSchema = "pg class" }, "/fields/14/refSchema"},
		"a system table of SQLite":        {schema.SQLite, func(m *schema.Model) { m.Name = "sqlite schema" }, "/name"},
		"names of SQLite's indexes":       {schema.SQLite, func(m *schema.Model) { m.Name = "Sqlite" }, "/name"},
		"a ref to such a name":            {schema.SQLite, func(m *schema.Model) { m.Fields[14].RefSchema = "sqlite" }, "/fields/14/refSchema"},
		"a NUL":                           {schema.SQL, func(m *schema.Model) { m.Fields[9].EnumValues = []string{"a\x00"} }, "/fields/9"},
		"two records of one name": {schema.SQL, func(m *schema.Model) {
			m.Records = []schema.Model{{Name: "UserAccount", Fields: m.Fields[:1]}}
		}, "/records/0/name"},
		"a bad field of another record": {schema.SQL, func(m *schema.Model) {
			m.Records = []schema.Model{{Name: "Team", Fields: []schema.Field{{Name: "a", Type: schema.Enum}}}}
		}, "/records/0/fields/0/enumValues"},
		"records in zod":      {schema.Zod, func(m *schema.Model) { m.Records = []schema.Model{{Name: "Team"}} }, "/records"},
		"bounds of a boolean": {schema.Zod, func(m *schema.Model) { m.Fields[5].Min = new(1.0) }, "/fields/5/min"},
		"a length below zero": {schema.Zod, func(m *schema.Model) { m.Fields[2].Min = new(-1.0) }, "/fields/2/min"},
		"a broken length":     {schema.Zod, func(m *schema.Model) { m.Fields[12].Max = new(1.5) }, "/fields/12/max"},
		"a broken bound":      {schema.Zod, func(m *schema.Model) { m.Fields[3].Max = new(1.5) }, "/fields/3/max"},
		"bounds the wrong way": {schema.Zod, func(m *schema.Model) { m.Fields[4].Min, m.Fields[4].Max = new(2.0), new(1.0) },
			"/fields/4/max"},
		"a pattern of a number":     {schema.Zod, func(m *schema.Model) { m.Fields[4].Pattern = "a" }, "/fields/4/pattern"},
		"a pattern with lookahead":  {schema.Zod, func(m *schema.Model) { m.Fields[2].Pattern = "(?=a)" }, "/fields/2/pattern"},
		"a pattern of Go's":         {schema.Zod, func(m *schema.Model) { m.Fields[2].Pattern = `\Aa\z` }, "/fields/2/pattern"},
		"unique arrays":             {schema.SQL, func(m *schema.Model) { m.Fields[12].Unique = true }, "/fields/12/unique"},
		"an index of objects":       {schema.SQL, func(m *schema.Model) { m.Fields[11].Index = true }, "/fields/11/index"},
		"onDelete without a ref":    {schema.SQL, func(m *schema.Model) { m.Fields[3].OnDelete = schema.Cascade }, "/fields/3/onDelete"},
		"onDelete of another kind":  {schema.SQL, func(m *schema.Model) { m.Fields[14].OnDelete = "explode" }, "/fields/14/onDelete"},
		"null where there is none":  {schema.SQL, func(m *schema.Model) { m.Fields[14].OnDelete = schema.SetNull }, "/fields/14/onDelete"},
		"a default of another type": {schema.Zod, func(m *schema.Model) { m.Fields[3].Default = raw(`"1"`) }, "/fields/3/default"},
		"a default of no value":     {schema.Zod, func(m *schema.Model) { m.Fields[9].Default = raw(`"c"`) }, "/fields/9/default"},
		"a default of no item":      {schema.Zod, func(m *schema.Model) { m.Fields[13].Default = raw(`["a","c"]`) }, "/fields/13/default"},
		"a default of no day":       {schema.Zod, func(m *schema.Model) { m.Fields[6].Default = raw(`"2026-02-30"`) }, "/fields/6/default"},
		"a default of a ref":        {schema.Zod, func(m *schema.Model) { m.Fields[14].Default = raw(`"a"`) }, "/fields/14/default"},
		"a default out of bounds": {schema.Zod, func(m *schema.Model) { m.Fields[3].Max, m.Fields[3].Default = new(1.0), raw(`2`) },
			"/fields/3/default"},
		"a default off the pattern": {schema.Zod, func(m *schema.Model) { m.Fields[2].Pattern, m.Fields[2].Default = "a", raw(`"b"`) },
			"/fields/2/default"},
		"a default with a NUL": {schema.SQL, func(m *schema.Model) { m.Fields[11].Default = raw(`{"a":["\u0000"]}`) },
			"/fields/11/default"},
		"a default without end":      {schema.SQL, func(m *schema.Model) { m.Fields[12].Default = raw(`[1e999]`) }, "/fields/12/default"},
		"a year that databases lack": {schema.SQL, func(m *schema.Model) { m.Fields[6].Default = raw(`"0000-01-01"`) }, "/fields/6/default"},
		"a time before year 1": {schema.SQL, func(m *schema.Model) { m.Fields[7].Default = raw(`"0000-05-01T00:00:00Z"`) },
			"/fields/7/default"},
		"a time after year 9999": {schema.SQLite, func(m *schema.Model) { m.Fields[7].Default = raw(`"9999-12-31T23:00:00-02:00"`) },
			"/fields/7/default"},
		"an offset of no zone": {schema.SQLite, func(m *schema.Model) { m.Fields[7].Default = raw(`"2026-01-01T00:00:00+14:01"`) },
			"/fields/7/default"},
		"a decimal comma": {schema.SQL, func(m *schema.Model) { m.Fields[7].Default = raw(`"2026-01-01T00:00:00,5Z"`) },
			"/fields/7/default"},
		"a url of a scheme alone":          {schema.SQL, func(m *schema.Model) { m.Fields[8].Default = raw(`"a:"`) }, "/fields/8/default"},
		"a number too near zero":           {schema.SQL, func(m *schema.Model) { m.Fields[4].Default = raw(`-1e-400`) }, "/fields/4/default"},
		"an integer bound that is rounded": {schema.SQL, func(m *schema.Model) { m.Fields[3].Max = new(9007199254740993.0) }, "/fields/3/max"},
		"a default that JavaScript rounds": {schema.Zod, func(m *schema.Model) { m.Fields[3].Default = raw(`9007199254740992`) },
			"/fields/3/default"},
		"one in JSON":       {schema.JSONSchema, func(m *schema.Model) { m.Fields[3].Default = raw(`-9007199254740992`) }, "/fields/3/default"},
		"33 bits, prisma":   {schema.Prisma, func(m *schema.Model) { m.Fields[3].Default = raw(`3000000000`) }, "/fields/3/default"},
		"33 bits, drizzle":  {schema.Drizzle, func(m *schema.Model) { m.Fields[3].Default = raw(`-2147483649`) }, "/fields/3/default"},
		"a default of null": {schema.SQL, func(m *schema.Model) { m.Fields[2].Default = raw(`null`) }, "/fields/2/default"},
	} {
		m := user()
		test.change(&m)
		text, problems := schema.Generate(m, test.format)
		if text.Content != "" || text.Notes != nil {
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

// Defaults at the limits are written, and their databases take them.
func TestDefaultsAtTheLimits(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, format string, db *sql.DB) {
		field := func(name, kind, value string) schema.Field {
			return schema.Field{Name: name, Type: kind, Details: schema.Details{Default: raw(value)}}
		}
		made := generate(t, schema.Model{Name: "a", Fields: []schema.Field{
			field("b", schema.Date, `"0001-01-01"`), field("c", schema.DateTime, `"2026-01-01T00:00:00.5+14:00"`),
			field("d", schema.DateTime, `"2026-01-01T00:00:00-14:00"`), field("e", schema.URL, `"a:b"`), field("f", schema.Number, `0e-400`),
			field("g", schema.Number, `1e-300`), field("h", schema.Integer, `9223372036854775807`),
		}}, format)
		try(t, db, format, made, func(r trial) {
			r.must(made)
			r.must("INSERT INTO a DEFAULT VALUES")
		})
	})
	for format, value := range map[string]string{
		schema.Zod: `9007199254740991`, schema.JSONSchema: `-9007199254740991`, schema.Prisma: `2147483647`, schema.Drizzle: `-2147483648`,
	} {
		m := schema.Model{Name: "a", Fields: []schema.Field{
			{Name: "b", Type: schema.Integer, Details: schema.Details{Default: raw(value), Min: new(-9007199254740991.0)}},
		}}
		if made := generate(t, m, format); !strings.Contains(made, value) {
			t.Errorf("%s lacks %s\n%s", format, value, made)
		}
	}
}

// A refusal of a length names its limits.
func TestLengthsHaveLimits(t *testing.T) {
	t.Parallel()
	m := schema.Model{Name: "a", Fields: []schema.Field{{Name: "b", Type: schema.String, Details: schema.Details{Max: new(2147483648.0)}}}}
	_, problems := schema.Generate(m, schema.Zod)
	if len(problems) != 1 || problems[0].Want != "whole number; a length is 0 to 2147483647" {
		t.Errorf("%+v", problems)
	}
}

// Zod takes the ids that databases and JSON Schema take, and counts characters in patterns as RE2 does.
func TestZodIsNoStricter(t *testing.T) {
	t.Parallel()
	made := generate(t, schema.Model{Name: "a", Fields: []schema.Field{{Name: "id", Type: schema.UUID, Required: true},
		{Name: "b", Type: schema.String, Required: true, Details: schema.Details{Pattern: "^.$"}}}}, schema.Zod)
	for _, want := range []string{"id: z.guid(),", `b: z.string().regex(new RegExp("^[^\\n]$", "u")),`} {
		if !strings.Contains(made, want) {
			t.Errorf("lacks %s\n%s", want, made)
		}
	}
}
