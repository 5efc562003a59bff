package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/judge"
	"github.com/toolfold/toolfold/tools/design/text"
)

var prismaTypes = map[string]string{
	String: "String", Number: "Float", Integer: "Int", Boolean: "Boolean", Object: "Json", Array: "Json",
	Date: "DateTime", DateTime: "DateTime", UUID: "String", Email: "String", URL: "String",
}

// prismaReserved lists names that Prisma's client uses.
var prismaReserved = []string{"PrismaClient", "Prisma", "Promise", "String", "Float", "Int", "Boolean", "Json", "DateTime", "Bytes",
	"Decimal", "BigInt"}

// prismaModel is one model block.
type prismaModel struct {
	Name       string
	TypeName   string // of the record
	Lines      []string
	Indexes    []string
	fields     text.Scope
	id, idType string // of the field that identifies it
}

// prismaEnum is one enum block. A value that is not an identifier gets a name.
type prismaEnum struct {
	Name   string
	Values []struct{ Name, Value string }
}

// prismaWriter writes a record as a model, with the models that it refers to. Templates are filled with it.
type prismaWriter struct {
	record
	Own        *prismaModel
	Models     map[string]*prismaModel // by type name
	names      text.Scope              // of models and enums
	fieldNames []string                // of fields, in the model
	Enums      []prismaEnum
	problems   []toolfold.Problem
}

// prisma writes the models and enums of a Prisma schema; data source and
// generator are the project's. A record without a field id gets one, as every
// model needs it. A field that may be missing or null is optional.
func (r record) prisma() (string, []toolfold.Problem) {
	w := &prismaWriter{record: r, names: text.NewScope(prismaReserved...), Models: map[string]*prismaModel{}}
	w.Own = &prismaModel{Name: w.names.Claim(r.TypeName), fields: text.NewScope()}
	for _, o := range r.Others {
		w.Models[o.TypeName] = &prismaModel{
			Name: w.names.Claim(o.TypeName), TypeName: o.TypeName, Lines: []string{"id String @id"}, fields: text.NewScope("id"),
			id: "id", idType: "String",
		}
	}
	w.Models[r.TypeName] = w.Own
	w.giveNames()
	for i, f := range r.Fields {
		list := f.Type == Array && (f.ref != "" || len(f.EnumValues) > 0)
		if f.Type == Null {
			w.refuse(i, "type", "type that Prisma has: it has no null; use nullable")
		}
		if list && f.Nullable {
			w.refuse(i, "nullable", "false: Prisma's lists are empty, never null")
		}
		if name := w.fieldNames[i]; name == w.Own.id && f.value != nil && f.Type != String {
			w.refuse(i, "default", "no default: Prisma makes ids of this type")
		}
		if len(w.problems) == 0 {
			w.add(f, w.fieldNames[i], list)
		}
	}
	if len(w.problems) > 0 {
		return "", w.problems
	}
	return fill("prisma", w), nil
}

func (w *prismaWriter) refuse(field int, member, want string) {
	w.problems = append(w.problems, toolfold.Problem{Path: fmt.Sprintf("/fields/%d/%s", field, member), Kind: toolfold.ProblemFormat,
		Want: want})
}

// giveNames chooses the names of fields, before the names that relations
// need, and finds the id.
func (w *prismaWriter) giveNames() {
	for i, f := range w.Fields {
		words := text.Words(f.Name)
		name := f.Name
		if words == nil {
			w.refuse(i, "name", "name with letters a-z, which Prisma needs")
		} else if !isPrismaName(name) {
			name = text.Camel(words)
		}
		w.fieldNames = append(w.fieldNames, name)
		if w.Own.fields[name] {
			w.refuse(i, "name", fmt.Sprintf("name other than %s, which another field becomes in Prisma", name))
		}
		w.Own.fields.Claim(name)
		if name == "id" {
			w.Own.id, w.Own.idType = name, prismaTypes[f.Type]
			if !isPrismaID(f) {
				w.refuse(i, "type", "required string, integer or uuid, to identify a Prisma model")
			}
		}
	}
	if w.Own.id == "" {
		w.Own.id, w.Own.idType = w.Own.fields.Claim("id"), "String"
		w.Own.Lines = append(w.Own.Lines, "id String @id @default(uuid())")
	}
}

// add writes a field under the name that it was given.
func (w *prismaWriter) add(f field, name string, list bool) {
	mark, attributes := "", ""
	switch {
	case list:
		mark = "[]"
	case !f.isSet():
		mark = "?"
	}
	if name != f.Name {
		attributes = " @map(" + text.Quote(f.Name) + ")"
	}
	for _, line := range text.Lines(f.Description) {
		w.Own.Lines = append(w.Own.Lines, "/// "+line)
	}
	switch {
	case f.ref != "":
		w.relate(f, name, w.Models[f.ref], mark, list)
		return
	case len(f.EnumValues) > 0:
		enum := w.names.Claim(w.TypeName + text.Pascal(text.Words(f.Name)))
		w.Enums = append(w.Enums, enumOf(enum, f.EnumValues))
		mark = enum + mark
		attributes = w.Enums[len(w.Enums)-1].standard(f.value) + attributes
	case name == w.Own.id:
		mark, attributes = prismaTypes[f.Type], " @id"+prismaDefault(f.Type)+prismaStandard(f)+attributes
	default:
		mark, attributes = prismaTypes[f.Type]+mark, prismaStandard(f)+attributes
	}
	if f.Unique && name != w.Own.id {
		attributes = " @unique" + attributes
	}
	w.index(f, name)
	w.Own.Lines = append(w.Own.Lines, name+" "+mark+attributes)
}

// relate writes a field that refers to a model, and the field of that model that
// refers back. A list is a many-to-many relation.
func (w *prismaWriter) relate(f field, name string, target *prismaModel, mark string, list bool) {
	relation := text.Quote(name)
	backMark := "[]"
	back := target.fields.Claim(text.Camel(w.words) + text.Pascal(text.Words(name)))
	if list {
		w.Own.Lines = append(w.Own.Lines, fmt.Sprintf("%s %s[] @relation(%s)", name, target.Name, relation))
	} else {
		actions := ""
		if f.OnDelete != "" {
			actions = ", onDelete: " + text.Pascal(text.Words(f.OnDelete))
		} else if target == w.Own { // a cycle of changes, which some databases refuse
			actions = ", onDelete: NoAction"
		}
		if target == w.Own {
			actions += ", onUpdate: NoAction"
		}
		unique := ""
		if f.Unique {
			unique, backMark = " @unique", "?"
		}
		key := w.Own.fields.Claim(name + "Id")
		w.Own.Lines = append(w.Own.Lines,
			fmt.Sprintf("%s %s%s%s", key, target.idType, mark, unique),
			fmt.Sprintf("%s %s%s @relation(%s, fields: [%s], references: [%s]%s)", name, target.Name, mark, relation, key, target.id, actions))
		w.index(f, key)
	}
	target.Lines = append(target.Lines, fmt.Sprintf("%s %s%s @relation(%s)", back, w.Own.Name, backMark, relation))
}

// index adds an index of a field. Unique fields and the id already have one.
func (w *prismaWriter) index(f field, name string) {
	if f.Index && !f.Unique && name != w.Own.id {
		w.Own.Indexes = append(w.Own.Indexes, fmt.Sprintf("@@index([%s])", name))
	}
}

// isPrismaName reports whether a field or enum value can have a name.
func isPrismaName(s string) bool {
	return isPlainKey(s) && s[0] != '_' && !strings.Contains(s, "$")
}

func isPrismaID(f field) bool {
	known := f.Type == String || f.Type == Integer || f.Type == UUID
	return known && f.Required && !f.Nullable
}

// prismaDefault spells how Prisma generates an id of a type, or returns an empty string.
func prismaDefault(kind string) string {
	switch kind {
	case Integer:
		return " @default(autoincrement())"
	case UUID:
		return " @default(uuid())"
	}
	return ""
}

// prismaStandard spells the default of a field that is not an enum, or returns an empty string.
func prismaStandard(f field) string {
	value := ""
	switch {
	case f.value == nil:
		return ""
	case f.isNow():
		value = "now()"
	case f.Type == Date:
		value = text.Quote(f.value.(string) + "T00:00:00Z")
	case f.Type == Number:
		n, _ := judge.Float(f.value)
		value = strconv.FormatFloat(n, 'f', -1, 64)
	case f.Type == Array || f.Type == Object:
		value = text.Quote(jsonText(f.value))
	default:
		value = jsonText(f.value)
	}
	return " @default(" + value + ")"
}

// standard spells a default: a value of the enum or a list of values. It returns an empty string for nil.
func (e prismaEnum) standard(value any) string {
	name := func(value any) string {
		i := slices.IndexFunc(e.Values, func(v struct{ Name, Value string }) bool { return v.Value == value })
		return e.Values[i].Name
	}
	switch value := value.(type) {
	case nil:
		return ""
	case []any:
		names := make([]string, len(value))
		for i, item := range value {
			names[i] = name(item)
		}
		return " @default([" + strings.Join(names, ", ") + "])"
	}
	return " @default(" + name(value) + ")"
}

// enumOf returns the enum of some values.
func enumOf(name string, values []string) prismaEnum {
	e := prismaEnum{Name: name}
	taken := text.NewScope()
	for _, v := range values {
		if isPrismaName(v) {
			taken.Claim(v)
		}
	}
	for i, v := range values {
		value := struct{ Name, Value string }{v, v}
		if !taken[v] {
			words := text.Words(v)
			if words == nil {
				words = []string{fmt.Sprintf("value%d", i+1)}
			}
			value.Name = taken.Claim(text.Snake(words))
		}
		e.Values = append(e.Values, value)
	}
	return e
}
