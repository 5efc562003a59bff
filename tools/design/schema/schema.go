// Package schema writes the fields of a record as Zod, JSON Schema,
// TypeScript, Prisma or Drizzle source, or as SQL. The same model gives the same text.
//
// It is not a stable API: see docs/stability.md.
package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/tools/design/text"
)

// The formats.
const (
	Zod        = "zod"
	JSONSchema = "json-schema"
	TypeScript = "typescript"
	Prisma     = "prisma"
	Drizzle    = "drizzle"
	SQL        = "sql" // of PostgreSQL
	SQLite     = "sqlite"
)

// Formats lists the formats.
func Formats() []string { return []string{Zod, JSONSchema, TypeScript, Prisma, Drizzle, SQL, SQLite} }

// The types of a field.
const (
	String   = "string"
	Number   = "number"
	Integer  = "integer"
	Boolean  = "boolean"
	Array    = "array"
	Object   = "object"
	Null     = "null"
	Date     = "date"
	DateTime = "datetime"
	UUID     = "uuid"
	Email    = "email"
	URL      = "url"
	Enum     = "enum"
	Ref      = "ref"
)

// Types lists the types of a field.
func Types() []string {
	return []string{String, Number, Integer, Boolean, Array, Object, Null, Date, DateTime, UUID, Email, URL, Enum, Ref}
}

// Actions lists what a database can do with a record when the record that it refers to is deleted.
func Actions() []string { return []string{Cascade, Restrict, SetNull, NoAction} }

// The actions.
const (
	Cascade  = "cascade"
	Restrict = "restrict"
	SetNull  = "set null"
	NoAction = "no action"
)

// Now is the default of a date or datetime that the database or validator sets to the current time.
const Now = "now"

// Model is a record.
type Model struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Fields      []Field `json:"fields"`

	// Records are more records, which fields may refer to. Only the SQL formats accept them. Their own Records are ignored.
	Records []Model `json:"-"`
}

// Field is one member of a record. It may be left out unless it is Required,
// and is null only if it is Nullable.
type Field struct {
	Name        string   `json:"name"`
	Type        string   `json:"type"`
	Description string   `json:"description"`
	Required    bool     `json:"required"`
	Nullable    bool     `json:"nullable"`
	EnumValues  []string `json:"enumValues"` // of an enum, or of the items of an array
	RefSchema   string   `json:"refSchema"`  // of a ref, or of the items of an array
	Details
}

// MaxValues limits the values of an enum.
const MaxValues = 200

// Text is a model in a format.
type Text struct {
	Content string
	Notes   []string // what the format cannot express, a note for each reason
}

// Generate writes a model in a format. If the model is invalid, or the format
// cannot express a field, it returns problems with paths into the model and no text.
func Generate(m Model, format string) (Text, []toolfold.Problem) {
	if format == SQL || format == SQLite {
		return writeTables(m, format)
	}
	r, problems := resolve(m)
	if len(m.Records) > 0 {
		problems = append(problems, toolfold.Problem{Path: "/records", Kind: toolfold.ProblemRefused,
			Want: "format sql or sqlite, or a call for each record"})
	}
	if problems = append(problems, r.refuseIntegers(format)...); len(problems) > 0 {
		return Text{}, problems
	}
	content := ""
	switch format {
	case Zod:
		content = fill("zod", script{r, zod})
	case JSONSchema:
		content = r.jsonSchema()
	case TypeScript:
		content = fill("typescript", script{r, typeScript})
	case Prisma:
		content, problems = r.prisma()
	case Drizzle:
		if problems = r.refuseInTable(); len(problems) == 0 {
			content = r.drizzle()
		}
	default:
		problems = []toolfold.Problem{{Path: "/format", Kind: toolfold.ProblemEnum, Got: format, Allowed: Formats()}}
	}
	if len(problems) > 0 {
		return Text{}, problems
	}
	return Text{content, r.missing(format)}, nil
}

// record is a valid model: each field has the members that its type requires.
type record struct {
	TypeName string // Pascal case
	words    []string
	Doc      string
	Fields   []field

	// Others are the records that fields refer to, in the order of first use.
	// The text has a placeholder for each.
	Others []externalRecord
}

type field struct {
	Field
	ref   string // type name of the record that it refers to, which may be its own; empty for no reference
	value any    // decoded default; nil for no default
}

// isKey reports whether the field is the primary key of a table.
func (f field) isKey() bool { return f.column() == "id" }

// column returns the name of the field's column in snake case. A name that consists of a-z, 0-9 and _, or that cannot be
// written in ASCII letters, stays as it is.
func (f field) column() string {
	words := text.Words(f.Name)
	if words == nil || strings.Trim(f.Name, "abcdefghijklmnopqrstuvwxyz0123456789_") == "" {
		return f.Name
	}
	return text.Snake(words)
}

// isSet reports whether the field's column is NOT NULL.
func (f field) isSet() bool { return !f.Nullable && (f.Required || f.value != nil) }

// externalRecord is a record that is defined elsewhere.
type externalRecord struct {
	TypeName string
	words    []string
}

// Table is the name of the record's table.
func (r record) Table() string { return text.Snake(r.words) }

// Table is the name of the record's table.
func (o externalRecord) Table() string { return text.Snake(o.words) }

// resolve checks the rules that all formats share. A string with enumValues
// counts as an enum.
func resolve(m Model) (record, []toolfold.Problem) {
	var problems []toolfold.Problem
	refuse := func(want, path string, args ...any) {
		problems = append(problems, toolfold.Problem{Path: fmt.Sprintf(path, args...), Kind: toolfold.ProblemFormat, Want: want})
	}
	words := text.Words(m.Name)
	if words == nil {
		refuse("name with letters a-z, to make a type name of", "/name")
	}
	r := record{TypeName: text.Pascal(words), words: words, Doc: m.Description}
	seen := map[string]bool{}
	for i, f := range m.Fields {
		if seen[f.Name] || f.Name == "" {
			refuse("name that no other field has, not empty", "/fields/%d/name", i)
		}
		seen[f.Name] = true
		if f.Type == String && len(f.EnumValues) > 0 {
			f.Type = Enum
		}
		hasValues, hasRef := len(f.EnumValues) > 0, f.RefSchema != ""
		switch {
		case f.Type == Enum && !hasValues:
			refuse("list of values, which type enum needs", "/fields/%d/enumValues", i)
		case hasValues && f.Type != Enum && f.Type != Array:
			refuse("type enum, string or array, as there are enumValues", "/fields/%d/type", i)
		case hasValues && hasRef:
			refuse("single choice: enumValues or refSchema, not both", "/fields/%d/refSchema", i)
		case f.Type == Ref && !hasRef:
			refuse("name of another schema, which type ref needs", "/fields/%d/refSchema", i)
		case hasRef && f.Type != Ref && f.Type != Array:
			refuse("type ref or array, as there is a refSchema", "/fields/%d/type", i)
		}
		if len(f.EnumValues) > MaxValues {
			refuse(fmt.Sprintf("list of at most %d values", MaxValues), "/fields/%d/enumValues", i)
			continue
		}
		for j, value := range f.EnumValues {
			if slices.Contains(f.EnumValues[:j], value) {
				refuse("value that is not in the list before", "/fields/%d/enumValues/%d", i, j)
			}
		}
		resolved := field{Field: f}
		resolved.value = f.check(func(member, want string) { refuse(want, "/fields/%d/%s", i, member) })
		if hasRef {
			target := text.Words(f.RefSchema)
			if target == nil {
				refuse("name with letters a-z, to make a type name of", "/fields/%d/refSchema", i)
			}
			resolved.ref = text.Pascal(target)
			known := resolved.ref == r.TypeName ||
				slices.ContainsFunc(r.Others, func(o externalRecord) bool { return o.TypeName == resolved.ref })
			if !known {
				r.Others = append(r.Others, externalRecord{resolved.ref, target})
			}
		}
		r.Fields = append(r.Fields, resolved)
	}
	return r, problems
}

// propertyKey writes the name of a property of an object literal or type.
// __proto__ would set the prototype of a literal.
func propertyKey(name string) string {
	if name == "__proto__" {
		return `["__proto__"]`
	}
	if isPlainKey(name) {
		return name
	}
	return text.Quote(name)
}

func isPlainKey(name string) bool {
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || r == '$'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// jsDoc writes a text as a JSDoc comment, each line after the indent. It returns
// an empty string for an empty text.
func jsDoc(indent, doc string) string {
	lines := text.Lines(strings.ReplaceAll(doc, "*/", "*\\/"))
	switch len(lines) {
	case 0:
		return ""
	case 1:
		return indent + "/** " + lines[0] + " */\n"
	}
	var b strings.Builder
	b.WriteString(indent + "/**\n")
	for _, line := range lines {
		b.WriteString(strings.TrimRight(indent+" * "+line, " ") + "\n")
	}
	b.WriteString(indent + " */\n")
	return b.String()
}
