package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/tools/design/text"
)

// drizzleColumns are the functions of drizzle-orm/pg-core that make columns,
// and what follows the column's name.
var drizzleColumns = map[string][2]string{
	String: {"text", ""}, Number: {"doublePrecision", ""}, Integer: {"integer", ""}, Boolean: {"boolean", ""},
	Object: {"jsonb", ""}, Array: {"jsonb", ""}, Date: {"date", ""}, DateTime: {"timestamp", ", { withTimezone: true }"},
	UUID: {"uuid", ""}, Email: {"text", ""}, URL: {"text", ""},
}

// drizzle writes a PostgreSQL table for Drizzle. A field called id is its
// primary key; a record without one gets it. A column is NOT NULL when its
// field is required and not nullable.
func (r record) drizzle() (string, []toolfold.Problem) {
	var problems []toolfold.Problem
	imports := map[string]bool{"pgTable": true}
	names := text.NewScope("pgTable", "pgEnum", "text", "integer", "doublePrecision", "boolean", "jsonb", "date", "timestamp", "uuid")
	for _, word := range jsReserved {
		names.Claim(word)
	}
	own := names.Claim(text.Camel(r.words))
	tables := map[string]string{r.typeName: own}
	for _, o := range r.others {
		tables[o.typeName] = names.Claim(text.Camel(o.words))
		imports["text"] = true
	}
	idType, hasID := String, false
	for i, f := range r.fields {
		if f.Type == Null {
			problems = append(problems, toolfold.Problem{Path: fmt.Sprintf("/fields/%d/type", i), Kind: toolfold.ProblemFormat,
				Want: "type that columns have: there is no null; use nullable"})
		}
		if f.Name == "id" {
			hasID, idType = true, f.Type
			if !isPrismaID(f) {
				problems = append(problems, toolfold.Problem{Path: fmt.Sprintf("/fields/%d/type", i), Kind: toolfold.ProblemFormat,
					Want: "required string, integer or uuid, to be the primary key"})
			}
		}
	}
	if len(problems) > 0 {
		return "", problems
	}
	w := drizzleWriter{record: r, imports: imports, names: names, tables: tables, idType: idType}
	if !hasID {
		w.idType = UUID
		imports["uuid"] = true
		w.columns.WriteString("  id: uuid(\"id\").primaryKey().defaultRandom(),\n")
	}
	for _, f := range r.fields {
		w.columns.WriteString(jsDoc("  ", f.Description))
		fmt.Fprintf(&w.columns, "  %s: %s,\n", propertyKey(f.Name), w.column(f))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "import { %s } from \"drizzle-orm/pg-core\";\n\n", strings.Join(importNames(imports), ", "))
	for _, o := range r.others {
		fmt.Fprintf(&b, "/** Stands for the table of %s: import it in place of this. */\nexport const %s = pgTable(%s, {\n  id: "+
			"text(\"id\").primaryKey(),\n});\n\n",
			o.typeName, tables[o.typeName], text.Quote(text.Snake(o.words)))
	}
	b.WriteString(w.enums.String())
	b.WriteString(jsDoc("", r.doc))
	fmt.Fprintf(&b, "export const %s = pgTable(%s, {\n%s});\n\n", own, text.Quote(text.Snake(r.words)), w.columns.String())
	fmt.Fprintf(&b, "export type %s = typeof %s.$inferSelect;\n", r.typeName, own)
	return b.String(), nil
}

// drizzleWriter writes the columns of a table, and the enums that they need.
type drizzleWriter struct {
	record
	imports        map[string]bool
	names          text.Scope
	tables         map[string]string // variables of tables, by type name
	idType         string
	enums, columns strings.Builder
}

func (w *drizzleWriter) column(f field) string {
	column := ""
	switch kind := w.keyType(f); {
	case f.ref != "" && f.Type == Array:
		// A list of others has a table of its own in a database; here it is
		// the list of their ids.
		column = drizzleColumn(kind, f.Name, w.imports) + ".array()"
	case f.ref == w.typeName:
		w.imports["AnyPgColumn"] = true
		column = drizzleColumn(kind, f.Name, w.imports) + fmt.Sprintf(".references((): AnyPgColumn => %s.id)", w.tables[f.ref])
	case f.ref != "":
		column = drizzleColumn(kind, f.Name, w.imports) + fmt.Sprintf(".references(() => %s.id)", w.tables[f.ref])
	case len(f.EnumValues) > 0:
		w.imports["pgEnum"] = true
		enum := w.names.Claim(text.Camel(append(slices.Clone(w.words), text.Words(f.Name)...)) + "Enum")
		fmt.Fprintf(&w.enums, "export const %s = pgEnum(%s, [%s]);\n\n", enum, text.Quote(text.Snake(w.words)+"_"+f.Name),
			quoted(f.EnumValues, ", "))
		column = fmt.Sprintf("%s(%s)", enum, text.Quote(f.Name))
		if f.Type == Array {
			column += ".array()"
		}
	default:
		column = drizzleColumn(f.Type, f.Name, w.imports)
	}
	if f.Name == "id" {
		return column + ".primaryKey()" + drizzleDefault(f.Type)
	}
	if f.Required && !f.Nullable {
		column += ".notNull()"
	}
	return column
}

// keyType is the type of the ids that a field refers to.
func (w *drizzleWriter) keyType(f field) string {
	if f.ref == w.typeName {
		return w.idType
	}
	return String
}

func drizzleColumn(kind, name string, imports map[string]bool) string {
	column := drizzleColumns[kind]
	imports[column[0]] = true
	return fmt.Sprintf("%s(%s%s)", column[0], text.Quote(name), column[1])
}

// drizzleDefault fills in an id where its type says how.
func drizzleDefault(kind string) string {
	switch kind {
	case Integer:
		return ".generatedAlwaysAsIdentity()"
	case UUID:
		return ".defaultRandom()"
	}
	return ""
}

func importNames(imports map[string]bool) []string {
	var list []string
	for name := range imports {
		if name == "AnyPgColumn" {
			name = "type AnyPgColumn"
		}
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// jsReserved are the words that a variable in a module cannot be called.
var jsReserved = strings.Fields(`await break case catch class const continue debugger default delete do else enum
	export extends false finally for function if implements import in instanceof interface let new null package private
	protected public return static super switch this throw true try typeof undefined var void while with yield arguments eval`)
