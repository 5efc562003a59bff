package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/tools/design/text"
)

// drizzleColumns lists the functions of drizzle-orm/pg-core that define columns,
// and the arguments after the column's name.
var drizzleColumns = map[string][2]string{
	String: {"text", ""}, Number: {"doublePrecision", ""}, Integer: {"integer", ""}, Boolean: {"boolean", ""},
	Object: {"jsonb", ""}, Array: {"jsonb", ""}, Date: {"date", ""}, DateTime: {"timestamp", ", { withTimezone: true }"},
	UUID: {"uuid", ""}, Email: {"text", ""}, URL: {"text", ""},
}

// refuseInTable returns a problem for each field that cannot be a column.
func (r record) refuseInTable() (problems []toolfold.Problem) {
	refuse := func(field int, member, want string) {
		problems = append(problems, toolfold.Problem{Path: fmt.Sprintf("/fields/%d/%s", field, member), Kind: toolfold.ProblemFormat,
			Want: want})
	}
	columns := map[string]bool{}
	for i, f := range r.Fields {
		column := strings.ToLower(f.column()) // SQLite ignores case
		if columns[column] {
			refuse(i, "name", fmt.Sprintf("name whose column is not %s, as that of another field", column))
		}
		columns[column] = true
		if f.Type == Null {
			refuse(i, "type", "type that columns have: there is no null; use nullable")
		}
		if f.isKey() && !isPrismaID(f) {
			refuse(i, "type", "required string, integer or uuid, to be the primary key")
		}
		if f.isKey() && f.value != nil && f.Type != String {
			refuse(i, "default", "no default: the database makes ids of this type")
		}
	}
	return problems
}

// drizzle writes a PostgreSQL table for Drizzle. A field called id is its
// primary key; a record without one gets it. A column is NOT NULL when its
// field is required and not nullable.
func (r record) drizzle() string {
	t := &table{record: r, imports: map[string]bool{"pgTable": true}, names: text.NewScope(text.ScriptWords...),
		Variables: map[string]string{}}
	for _, function := range strings.Fields("pgTable pgEnum index text integer doublePrecision boolean jsonb date timestamp uuid") {
		t.names.Claim(function)
	}
	t.Variables[r.TypeName] = t.names.Claim(text.Camel(r.words))
	for _, o := range r.Others {
		t.Variables[o.TypeName] = t.names.Claim(text.Camel(o.words))
		t.imports["text"] = true
	}
	t.idType = UUID
	at := slices.IndexFunc(r.Fields, field.isKey)
	if t.HasID = at >= 0; t.HasID {
		t.idType = r.Fields[at].Type
	} else {
		t.imports["uuid"] = true
	}
	for _, f := range r.Fields {
		t.Columns = append(t.Columns, t.column(f))
	}
	return fill("drizzle", t)
}

// table is a record as a table. Templates are filled with it.
type table struct {
	record
	imports   map[string]bool
	names     text.Scope
	idType    string
	HasID     bool
	Variables map[string]string // of tables, by type name
	Enums     []enum
	Columns   []string // of the fields
	Indexes   []string
}

// enum is a type of PostgreSQL that a column has.
type enum struct{ Variable, Name, Values string }

func (t *table) column(f field) string {
	column := ""
	switch kind := t.keyType(f); {
	case f.ref != "" && f.Type == Array:
		// A database would store a list of records in a table of its own. Drizzle
		// gets an array of their ids.
		column = drizzleColumn(kind, f.column(), t.imports) + ".array()"
	case f.ref == t.TypeName:
		t.imports["AnyPgColumn"] = true
		column = drizzleColumn(kind, f.column(), t.imports) + fmt.Sprintf(".references((): AnyPgColumn => %s%s)", t.key(f), onDelete(f))
	case f.ref != "":
		column = drizzleColumn(kind, f.column(), t.imports) + fmt.Sprintf(".references(() => %s%s)", t.key(f), onDelete(f))
	case len(f.EnumValues) > 0:
		t.imports["pgEnum"] = true
		variable := t.names.Claim(text.Camel(append(slices.Clone(t.words), text.Words(f.Name)...)) + "Enum")
		t.Enums = append(t.Enums, enum{variable, t.Table() + "_" + f.column(), quoted(f.EnumValues, ", ")})
		column = fmt.Sprintf("%s(%s)", variable, text.Quote(f.column()))
		if f.Type == Array {
			column += ".array()"
		}
	default:
		column = drizzleColumn(f.Type, f.column(), t.imports)
	}
	if f.isKey() {
		column += ".primaryKey()" + drizzleDefault(f.Type)
	} else if f.isSet() {
		column += ".notNull()"
	}
	switch {
	case f.isNow():
		column += ".defaultNow()"
	case f.value != nil && f.Type == DateTime:
		column += ".default(new Date(" + literal(f.value) + "))"
	case f.value != nil:
		column += ".default(" + literal(f.value) + ")"
	}
	if f.Unique && !f.isKey() {
		column += ".unique()"
	}
	if f.Index && !f.Unique && !f.isKey() { // unique columns and keys have an index
		t.imports["index"] = true
		t.Indexes = append(t.Indexes, fmt.Sprintf("index(%s).on(table[%s])", text.Quote(t.Table()+"_"+f.column()+"_idx"), text.Quote(f.Name)))
	}
	return column
}

// key spells the property for the id of the table that a field refers to. It need not be called id.
func (t *table) key(f field) string {
	for _, own := range t.Fields {
		if f.ref == t.TypeName && own.isKey() && own.Name != "id" {
			return t.Variables[f.ref] + "[" + text.Quote(own.Name) + "]"
		}
	}
	return t.Variables[f.ref] + ".id"
}

// onDelete spells the onDelete option of a reference, or returns an empty string.
func onDelete(f field) string {
	if f.OnDelete == "" {
		return ""
	}
	return ", { onDelete: " + text.Quote(f.OnDelete) + " }"
}

// keyType is the type of the ids that a field refers to.
func (t *table) keyType(f field) string {
	if f.ref == t.TypeName {
		return t.idType
	}
	return String
}

func drizzleColumn(kind, name string, imports map[string]bool) string {
	column := drizzleColumns[kind]
	imports[column[0]] = true
	return fmt.Sprintf("%s(%s%s)", column[0], text.Quote(name), column[1])
}

// drizzleDefault spells how the database generates an id of a type, or returns an empty string.
func drizzleDefault(kind string) string {
	switch kind {
	case Integer:
		return ".generatedAlwaysAsIdentity()"
	case UUID:
		return ".defaultRandom()"
	}
	return ""
}

// Imports lists the functions and types that the table needs of Drizzle.
func (t *table) Imports() string {
	var list []string
	for name := range t.imports {
		if name == "AnyPgColumn" {
			name = "type AnyPgColumn"
		}
		list = append(list, name)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
