package schema

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"text/template"

	"github.com/toolfold/toolfold/tools/design/text"
)

// notation spells the types of fields in a format. All members except types and separator hold %s
// for the type or name inside.
type notation struct {
	types     map[string]string // of fields that hold one value
	own       string            // the record itself
	other     string            // another record
	choice    string            // one of several values, joined by separator
	separator string
	list      string
	any       string // an item of a list of anything
	nullable  string
	optional  string

	// Suffixes of a type for its bounds and for its default; nil if the format has no such suffix.
	bounds, standard func(field) string
}

// typeScript has the types as JSON has them: dates are texts.
var typeScript = notation{
	types: map[string]string{
		String: "string", Number: "number", Integer: "number", Boolean: "boolean",
		Object: "Record<string, unknown>", Null: "null",
		Date: "string", DateTime: "string", UUID: "string", Email: "string", URL: "string",
	},
	own: "%s", other: "%s", choice: "%s", separator: " | ", list: "Array<%s>", any: "unknown",
	nullable: "%s | null", optional: "%s | undefined",
}

// zod is for Zod 4. A field of the record's own type is a getter, as the constant it
// refers to is not set yet.
var zod = notation{
	types: map[string]string{
		String: "z.string()", Number: "z.number()", Integer: "z.int()", Boolean: "z.boolean()",
		Object: "z.record(z.string(), z.unknown())", Null: "z.null()",
		Date: "z.iso.date()", DateTime: "z.iso.datetime({ offset: true })", UUID: "z.guid()", Email: "z.email()", URL: "z.url()",
	},
	own: "%sSchema", other: "%sSchema", choice: "z.enum([%s])", separator: ", ", list: "z.array(%s)", any: "z.unknown()",
	nullable: "%s.nullable()", optional: "%s.optional()", bounds: zodBounds, standard: zodDefault,
}

func zodBounds(f field) string {
	bounds := ""
	if f.Min != nil {
		bounds += ".min(" + number(*f.Min) + ")"
	}
	if f.Max != nil {
		bounds += ".max(" + number(*f.Max) + ")"
	}
	if f.Pattern != "" {
		bounds += ".regex(new RegExp(" + text.Quote(scriptPattern(f.Pattern)) + `, "u"))`
	}
	return bounds
}

func zodDefault(f field) string {
	switch {
	case f.isNow() && f.Type == Date:
		return ".default(() => new Date().toISOString().slice(0, 10))"
	case f.isNow():
		return ".default(() => new Date().toISOString())"
	}
	return ".default(" + literal(f.value) + ")"
}

// zodGetter spells the result type of a getter. TypeScript cannot infer it, because the schema contains itself.
var zodGetter = notation{
	own: "typeof %sSchema", list: "z.ZodArray<%s>", nullable: "z.ZodNullable<%s>", optional: "z.ZodOptional<%s>",
}

// script is a record in a notation. Templates are filled with it.
type script struct {
	record
	notation
}

//go:embed formats.tmpl
var formatTemplates string

// formats are the templates, by the names of formats.
var formats = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"doc": jsDoc, "key": propertyKey, "line": text.Line, "lines": text.Lines, "quote": text.Quote,
	}).Parse(formatTemplates))
})

// fill fills in a template.
func fill(name string, with any) string {
	var b strings.Builder
	// The templates and what fills them are our own.
	if err := formats().ExecuteTemplate(&b, name, with); err != nil {
		panic(fmt.Sprintf("schema: %v", err))
	}
	return b.String()
}

// Own reports whether a field is of the record's own type.
func (s script) Own(f field) bool { return f.ref == s.TypeName }

// Getter spells the result type of a field's getter.
func (s script) Getter(f field) string { return script{s.record, zodGetter}.Type(f) }

// Type spells the type of a field.
func (s script) Type(f field) string {
	inner := s.types[f.Type]
	switch {
	case s.Own(f):
		inner = fmt.Sprintf(s.own, f.ref)
	case f.ref != "":
		inner = fmt.Sprintf(s.other, f.ref)
	case len(f.EnumValues) > 0:
		inner = fmt.Sprintf(s.choice, quoted(f.EnumValues, s.separator))
	case f.Type == Array:
		inner = s.any
	}
	if f.Type == Array {
		inner = fmt.Sprintf(s.list, inner)
	}
	if s.bounds != nil {
		inner += s.bounds(f)
	}
	if f.Nullable && inner != "null" {
		inner = fmt.Sprintf(s.nullable, inner)
	}
	if f.value != nil && s.standard != nil {
		return inner + s.standard(f)
	}
	if !f.Required {
		inner = fmt.Sprintf(s.optional, inner)
	}
	return inner
}

func quoted(values []string, separator string) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = text.Quote(v)
	}
	return strings.Join(list, separator)
}
