package schema

import (
	"fmt"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/tools/design/text"
)

var prismaTypes = map[string]string{
	String: "String", Number: "Float", Integer: "Int", Boolean: "Boolean", Object: "Json", Array: "Json",
	Date: "DateTime", DateTime: "DateTime", UUID: "String", Email: "String", URL: "String",
}

// prismaReserved are names that Prisma's client has for itself.
var prismaReserved = []string{"PrismaClient", "Prisma", "Promise", "String", "Float", "Int", "Boolean", "Json", "DateTime", "Bytes",
	"Decimal", "BigInt"}

// prismaModel is one model block.
type prismaModel struct {
	name       string
	lines      []string
	fields     text.Scope
	id, idType string // of the field that identifies it
}

// prismaWriter writes a record as a model, with what it refers to.
type prismaWriter struct {
	record
	own        *prismaModel
	others     map[string]*prismaModel // by type name
	names      text.Scope              // of models and enums
	fieldNames []string                // what fields are called in the model
	enums      strings.Builder
	problems   []toolfold.Problem
}

// prisma writes the models and enums of a Prisma schema; data source and
// generator are the project's. A record without a field id gets one, as every
// model needs it. A field that may be missing or null is optional.
func (r record) prisma() (string, []toolfold.Problem) {
	w := &prismaWriter{record: r, names: text.NewScope(prismaReserved...), others: map[string]*prismaModel{}}
	w.own = &prismaModel{name: w.names.Claim(r.typeName), fields: text.NewScope()}
	for _, o := range r.others {
		w.others[o.typeName] = &prismaModel{
			name: w.names.Claim(o.typeName), lines: []string{"  id String @id"}, fields: text.NewScope("id"), id: "id", idType: "String",
		}
	}
	w.others[r.typeName] = w.own
	w.giveNames()
	for i, f := range r.fields {
		list := f.Type == Array && (f.ref != "" || len(f.EnumValues) > 0)
		if f.Type == Null {
			w.refuse(i, "type", "type that Prisma has: it has no null; use nullable")
		}
		if list && f.Nullable {
			w.refuse(i, "nullable", "false: Prisma's lists are empty, never null")
		}
		if len(w.problems) == 0 {
			w.add(f, w.fieldNames[i], list)
		}
	}
	if len(w.problems) > 0 {
		return "", w.problems
	}
	var b strings.Builder
	for _, line := range text.Lines(r.doc) {
		b.WriteString("/// " + line + "\n")
	}
	fmt.Fprintf(&b, "model %s {\n%s\n}\n", w.own.name, strings.Join(w.own.lines, "\n"))
	b.WriteString(w.enums.String())
	for _, o := range r.others {
		other := w.others[o.typeName]
		fmt.Fprintf(&b, "\n/// Stands for the model %s: put it in place of this.\nmodel %s {\n%s\n}\n", o.typeName, other.name,
			strings.Join(other.lines, "\n"))
	}
	return b.String(), nil
}

func (w *prismaWriter) refuse(field int, member, want string) {
	w.problems = append(w.problems, toolfold.Problem{Path: fmt.Sprintf("/fields/%d/%s", field, member), Kind: toolfold.ProblemFormat,
		Want: want})
}

// giveNames decides what the fields are called, before any names that
// relations need, and which of them is the id.
func (w *prismaWriter) giveNames() {
	for i, f := range w.fields {
		words := text.Words(f.Name)
		name := f.Name
		if words == nil {
			w.refuse(i, "name", "name with letters a-z, which Prisma needs")
		} else if !isPrismaName(name) {
			name = text.Camel(words)
		}
		w.fieldNames = append(w.fieldNames, name)
		if w.own.fields[name] {
			w.refuse(i, "name", fmt.Sprintf("name other than %s, which another field becomes in Prisma", name))
		}
		w.own.fields.Claim(name)
		if name == "id" {
			w.own.id, w.own.idType = name, prismaTypes[f.Type]
			if !isPrismaID(f) {
				w.refuse(i, "type", "required string, integer or uuid, to identify a Prisma model")
			}
		}
	}
	if w.own.id == "" {
		w.own.id, w.own.idType = w.own.fields.Claim("id"), "String"
		w.own.lines = append(w.own.lines, "  id String @id @default(uuid())")
	}
}

// add writes a field under the name that it was given.
func (w *prismaWriter) add(f field, name string, list bool) {
	mark, attributes := "", ""
	switch {
	case list:
		mark = "[]"
	case f.Nullable || !f.Required:
		mark = "?"
	}
	if name != f.Name {
		attributes = " @map(" + text.Quote(f.Name) + ")"
	}
	for _, line := range text.Lines(f.Description) {
		w.own.lines = append(w.own.lines, "  /// "+line)
	}
	switch {
	case f.ref != "":
		w.relate(name, w.others[f.ref], mark, list)
		return
	case len(f.EnumValues) > 0:
		enum := w.names.Claim(w.typeName + text.Pascal(text.Words(f.Name)))
		w.enums.WriteString(prismaEnum(enum, f.EnumValues))
		mark = enum + mark
	case name == w.own.id:
		mark, attributes = prismaTypes[f.Type], " @id"+prismaDefault(f.Type)+attributes
	default:
		mark = prismaTypes[f.Type] + mark
	}
	w.own.lines = append(w.own.lines, "  "+name+" "+mark+attributes)
}

// relate writes a field that refers to a model, and the field there that leads
// back. Of a list, each may be in many.
func (w *prismaWriter) relate(name string, target *prismaModel, mark string, list bool) {
	relation := text.Quote(name)
	back := target.fields.Claim(text.Camel(w.words) + text.Pascal(text.Words(name)))
	if list {
		w.own.lines = append(w.own.lines, fmt.Sprintf("  %s %s[] @relation(%s)", name, target.name, relation))
	} else {
		actions := ""
		if target == w.own { // a cycle of changes, which some databases refuse
			actions = ", onDelete: NoAction, onUpdate: NoAction"
		}
		key := w.own.fields.Claim(name + "Id")
		w.own.lines = append(w.own.lines,
			fmt.Sprintf("  %s %s%s", key, target.idType, mark),
			fmt.Sprintf("  %s %s%s @relation(%s, fields: [%s], references: [%s]%s)", name, target.name, mark, relation, key, target.id, actions))
	}
	target.lines = append(target.lines, fmt.Sprintf("  %s %s[] @relation(%s)", back, w.own.name, relation))
}

// isPrismaName reports whether a field or enum value can be called that.
func isPrismaName(s string) bool {
	return isPlainKey(s) && s[0] != '_' && !strings.Contains(s, "$")
}

func isPrismaID(f field) bool {
	known := f.Type == String || f.Type == Integer || f.Type == UUID
	return known && f.Required && !f.Nullable
}

// prismaDefault fills in an id where its type says how.
func prismaDefault(kind string) string {
	switch kind {
	case Integer:
		return " @default(autoincrement())"
	case UUID:
		return " @default(uuid())"
	}
	return ""
}

// prismaEnum writes an enum. Values that are no identifiers are mapped.
func prismaEnum(name string, values []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nenum %s {\n", name)
	taken := text.NewScope()
	for _, v := range values {
		if isPrismaName(v) {
			taken.Claim(v)
		}
	}
	for i, v := range values {
		if taken[v] {
			b.WriteString("  " + v + "\n")
			continue
		}
		words := text.Words(v)
		if words == nil {
			words = []string{fmt.Sprintf("value%d", i+1)}
		}
		fmt.Fprintf(&b, "  %s @map(%s)\n", taken.Claim(text.Snake(words)), text.Quote(v))
	}
	b.WriteString("}\n")
	return b.String()
}
