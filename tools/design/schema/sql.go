package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/tools/design/text"
)

// maxSQLName is the longest name in PostgreSQL, in bytes. PostgreSQL truncates longer names, which can make two of them equal.
const maxSQLName = 63

// systemColumns lists the hidden columns of every table in PostgreSQL.
var systemColumns = []string{"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"}

// sqlWriter writes records as tables of a database. A field called id is the
// primary key of its table; a record without one gets it.
type sqlWriter struct {
	sqlite   bool
	tables   []*sqlTable
	byType   map[string]*sqlTable
	names    text.Scope // of tables and indexes, which share one namespace
	notes    notes
	problems []toolfold.Problem
}

// deferred makes the database check a foreign key at the end of a transaction, so that rows can refer to each other.
const deferred = " DEFERRABLE INITIALLY DEFERRED"

// sqlTable is a record as a table.
type sqlTable struct {
	record
	name    string
	keyType string // one of String, Integer and UUID
	lines   []sqlLine
	indexes []string // statements
	lists   []field  // arrays of references, which become tables
	written bool
}

// sqlLine defines a column.
type sqlLine struct{ column, comment, text string }

// writeTables writes a model and its other records as SQL.
func writeTables(m Model, format string) (Text, []toolfold.Problem) {
	w := &sqlWriter{sqlite: format == SQLite, byType: map[string]*sqlTable{}, names: text.NewScope()}
	w.add(m, "")
	for i, other := range m.Records {
		w.add(other, fmt.Sprintf("/records/%d", i))
	}
	if len(w.problems) > 0 {
		return Text{}, w.problems
	}
	return w.write(), nil
}

func (w *sqlWriter) refuse(path, want string, args ...any) {
	w.problems = append(w.problems, toolfold.Problem{Path: fmt.Sprintf(path, args...), Kind: toolfold.ProblemFormat, Want: want})
}

// add checks a record and adds its table.
func (w *sqlWriter) add(m Model, path string) {
	r, problems := resolve(m)
	if len(problems) == 0 {
		problems = r.refuseInTable()
	}
	for _, p := range problems {
		p.Path = path + p.Path
		w.problems = append(w.problems, p)
	}
	if len(problems) > 0 {
		return
	}
	t := &sqlTable{record: r, name: w.fit(r.Table()), keyType: UUID}
	switch {
	case w.byType[r.TypeName] != nil || w.names[t.name]:
		w.refuse(path+"/name", "name that no other record has")
	case w.sqlite && strings.HasPrefix(t.name+"_", "sqlite_"): // so do the names of its indexes and lists
		w.refuse(path+"/name", "name that does not begin with sqlite, as SQLite's own tables do")
	case !w.sqlite && strings.HasPrefix(t.name, "pg_"):
		w.refuse(path+"/name", "name that does not begin with pg, as PostgreSQL's own tables do")
	}
	for i, f := range r.Fields {
		if f.isKey() {
			t.keyType = f.Type
		}
		column := f.column()
		if strings.Contains(column, "\x00") || slices.ContainsFunc(f.EnumValues, func(v string) bool { return strings.Contains(v, "\x00") }) {
			w.refuse("%s/fields/%d", "texts without NUL characters, which databases cannot store", path, i)
		}
		if !w.sqlite && slices.Contains(systemColumns, column) {
			w.refuse("%s/fields/%d/name", "name other than "+strings.Join(systemColumns, ", ")+", which PostgreSQL has itself", path, i)
		}
		if target := text.Snake(text.Words(f.RefSchema)); f.ref != "" && !w.sqlite && strings.HasPrefix(target, "pg_") {
			w.refuse("%s/fields/%d/refSchema", "name that does not begin with pg, as PostgreSQL's own tables do", path, i)
		} else if f.ref != "" && w.sqlite && strings.HasPrefix(target+"_", "sqlite_") {
			w.refuse("%s/fields/%d/refSchema", "name that does not begin with sqlite, as SQLite's own tables do", path, i)
		}
	}
	if !slices.ContainsFunc(t.Fields, field.isKey) {
		t.Fields = slices.Insert(t.Fields, 0, field{Field: Field{Name: "id", Type: UUID, Required: true}})
	}
	w.names.Claim(t.name)
	w.byType[r.TypeName] = t
	w.tables = append(w.tables, t)
}

// write writes all tables. A table comes after the tables that it refers to.
func (w *sqlWriter) write() Text {
	var b strings.Builder
	w.standIns(&b)
	for _, t := range w.tables {
		for _, f := range t.Fields {
			if f.Type == Array && f.ref != "" {
				t.lists = append(t.lists, f)
			}
		}
	}
	order := w.order()
	var later []string // statements that need all tables
	for _, t := range order {
		later = append(later, w.columns(t)...)
		t.written = true
	}
	for _, t := range order {
		w.writeTable(&b, t)
	}
	for _, statement := range later {
		b.WriteString(statement + "\n")
	}
	if len(later) > 0 {
		b.WriteString("\n")
	}
	for _, t := range order {
		for _, f := range t.lists {
			w.writeList(&b, t, f)
		}
	}
	content := strings.TrimSuffix(b.String(), "\n")
	if w.sqlite && strings.Contains(content, "REFERENCES") {
		w.notes.add("SQLite checks foreign keys only on connections that ran PRAGMA foreign_keys = ON", "")
	}
	return Text{content, w.notes.texts()}
}

// standIns writes a placeholder table for each record that a field refers to and the model does not contain.
func (w *sqlWriter) standIns(b *strings.Builder) {
	for _, t := range slices.Clone(w.tables) {
		for _, o := range t.Others {
			if w.byType[o.TypeName] != nil {
				continue
			}
			table := w.fit(o.Table())
			if known := w.byName(table); known != nil { // HTTPServer and HttpServer have one table
				w.byType[o.TypeName] = known
				continue
			}
			other := &sqlTable{name: w.names.Claim(table), keyType: UUID, written: true}
			w.byType[o.TypeName] = other
			kind, strict := "uuid", ""
			if w.sqlite {
				kind, strict = "TEXT NOT NULL", " STRICT"
			}
			fmt.Fprintf(b, "-- Stands for the table of %s: put it in place of this.\n", o.TypeName)
			fmt.Fprintf(b, "CREATE TABLE IF NOT EXISTS %s (\n  \"id\" %s PRIMARY KEY\n)%s;\n\n", name(other.name), kind, strict)
			w.notes.add("a table stands for each that is not in records", o.TypeName)
		}
	}
}

// byName returns the table of a name, nil if there is no such table.
func (w *sqlWriter) byName(name string) *sqlTable {
	for _, t := range w.byType {
		if t.name == name {
			return t
		}
	}
	return nil
}

// order sorts the tables so that each comes after the tables that it refers to. A cycle starts at one of its tables.
func (w *sqlWriter) order() []*sqlTable {
	left := slices.Clone(w.tables)
	var order []*sqlTable
	for len(left) > 0 {
		next := slices.IndexFunc(left, func(t *sqlTable) bool { return len(w.awaited(t, left)) == 0 })
		if next < 0 { // some tables are in a cycle
			next = slices.IndexFunc(left, func(t *sqlTable) bool { return w.awaits(t, t, left, map[*sqlTable]bool{}) })
		}
		order = append(order, left[next])
		left = slices.Delete(left, next, next+1)
	}
	return order
}

// awaited returns the tables of a list that a table refers to, except itself.
func (w *sqlWriter) awaited(t *sqlTable, list []*sqlTable) (awaited []*sqlTable) {
	for _, f := range t.Fields {
		if target := w.byType[f.ref]; f.ref != "" && f.Type != Array && target != t && slices.Contains(list, target) {
			awaited = append(awaited, target)
		}
	}
	return awaited
}

// awaits reports whether a table refers to another, directly or through tables of the list that are not in seen.
func (w *sqlWriter) awaits(t, other *sqlTable, list []*sqlTable, seen map[*sqlTable]bool) bool {
	for _, next := range w.awaited(t, list) {
		if next == other {
			return true
		}
		if !seen[next] {
			seen[next] = true
			if w.awaits(next, other, list, seen) {
				return true
			}
		}
	}
	return false
}

// columns adds the columns and indexes of a table. It returns statements for foreign keys to tables that come later.
func (w *sqlWriter) columns(t *sqlTable) (later []string) {
	for _, f := range t.Fields {
		if f.Type == Array && f.ref != "" {
			continue
		}
		column := w.fit(f.column())
		parts := []string{name(column)}
		if f.isKey() {
			parts = append(parts, w.keyColumn(t, f))
		} else {
			parts = append(parts, w.columnType(f))
			if f.isSet() {
				parts = append(parts, "NOT NULL")
			}
			if f.Unique {
				parts = append(parts, w.constraint(t.name+"_"+column+"_key")+"UNIQUE")
			}
		}
		if f.value != nil {
			parts = append(parts, "DEFAULT "+w.standard(f))
		}
		if target := w.byType[f.ref]; f.ref != "" {
			key := fmt.Sprintf("REFERENCES %s (\"id\")", name(target.name))
			if f.OnDelete != "" {
				key += " ON DELETE " + strings.ToUpper(f.OnDelete)
			}
			switch forward := target != t && !target.written; {
			case forward && !w.sqlite:
				later = append(later, fmt.Sprintf("ALTER TABLE %s ADD FOREIGN KEY (%s) %s%s;", name(t.name), name(column), key, deferred))
			case forward:
				parts = append(parts, key+deferred)
			default:
				parts = append(parts, key)
			}
		}
		for _, check := range w.checks(f, name(column), t.name+"."+column) {
			parts = append(parts, "CHECK ("+check+")")
		}
		t.lines = append(t.lines, sqlLine{column, w.comment(f), strings.Join(parts, " ")})
		if f.Index && !f.Unique && !f.isKey() { // unique columns and keys have an index
			index := w.claim(t.name + "_" + column + "_idx")
			t.indexes = append(t.indexes, fmt.Sprintf("CREATE INDEX %s ON %s (%s);", name(index), name(t.name), name(column)))
		}
	}
	return later
}

// comment returns the description of a field, and the values and patterns that SQLite cannot check.
func (w *sqlWriter) comment(f field) string {
	comment := f.Description
	if w.sqlite && f.Type == Array && len(f.EnumValues) > 0 {
		comment += "\nItems: " + w.texts(f.EnumValues)
	}
	if w.sqlite && f.Pattern != "" {
		comment += "\nPattern: " + f.Pattern
	}
	return comment
}

// writeTable writes a table with its comments and indexes.
func (w *sqlWriter) writeTable(b *strings.Builder, t *sqlTable) {
	if w.sqlite {
		writeComment(b, "", t.Doc)
	}
	fmt.Fprintf(b, "CREATE TABLE %s (\n", name(t.name))
	for i, line := range t.lines {
		if w.sqlite {
			writeComment(b, "  ", line.comment)
		}
		end := ",\n"
		if i == len(t.lines)-1 {
			end = "\n"
		}
		b.WriteString("  " + line.text + end)
	}
	b.WriteString(")" + w.ending() + "\n")
	if !w.sqlite {
		w.writeRemark(b, "TABLE "+name(t.name), t.Doc)
		for _, line := range t.lines {
			w.writeRemark(b, "COLUMN "+name(t.name)+"."+name(line.column), line.comment)
		}
	}
	for _, index := range t.indexes {
		b.WriteString(index + "\n")
	}
	b.WriteString("\n")
}

// writeList writes the table of an array of references.
func (w *sqlWriter) writeList(b *strings.Builder, t *sqlTable, f field) {
	target := w.byType[f.ref]
	table := w.claim(t.name + "_" + f.column())
	own, other := w.fit(t.name+"_id"), w.fit(target.name+"_id")
	if own == other {
		other = w.fit(f.column() + "_id")
	}
	if own == other {
		other = w.fit("other_" + other)
	}
	action := "CASCADE"
	if f.OnDelete != "" {
		action = strings.ToUpper(f.OnDelete)
	}
	if w.sqlite {
		writeComment(b, "", f.Description)
	}
	key := func(column string, to *sqlTable, action string) {
		fmt.Fprintf(b, "  %s %s NOT NULL REFERENCES %s (\"id\") ON DELETE %s,\n", name(column),
			w.typeName(field{Field: Field{Type: to.keyType}}), name(to.name), action)
	}
	fmt.Fprintf(b, "CREATE TABLE %s (\n", name(table))
	key(own, t, "CASCADE")
	key(other, target, action)
	fmt.Fprintf(b, "  %sPRIMARY KEY (%s, %s)\n)%s\n", w.constraint(table+"_pkey"), name(own), name(other), w.ending())
	if !w.sqlite {
		w.writeRemark(b, "TABLE "+name(table), f.Description)
	}
	b.WriteString("\n")
	lost := "the order and duplicates of items"
	if f.Required || f.Nullable {
		lost += ", required and nullable"
	}
	if f.Min != nil || f.Max != nil {
		lost += ", min and max"
	}
	w.notes.add("arrays are stored in tables, without "+lost, table)
}

// ending closes a table. SQLite checks the types of values in strict tables only.
func (w *sqlWriter) ending() string {
	if w.sqlite {
		return " STRICT;"
	}
	return ";"
}

// keyColumn returns the type of the primary key, and how the database generates it.
func (w *sqlWriter) keyColumn(t *sqlTable, f field) string {
	key := w.constraint(t.name+"_pkey") + "PRIMARY KEY"
	switch {
	case f.Type == Integer && w.sqlite:
		return "INTEGER PRIMARY KEY" // SQLite numbers rows only with this spelling
	case f.Type == Integer:
		return "bigint GENERATED BY DEFAULT AS IDENTITY " + key
	case f.Type == UUID && w.sqlite:
		return "TEXT NOT NULL " + key + " DEFAULT " + sqliteUUID
	case f.Type == UUID:
		return "uuid " + key + " DEFAULT gen_random_uuid()"
	}
	return w.columnType(f) + " NOT NULL " + key
}

// sqliteUUID is an expression for a random UUID of version 4.
const sqliteUUID = "(lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-' || " +
	"substr('89AB', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))))"

// Checks of types that SQLite stores as text. %[1]s is the column. NULL passes.
const (
	sqliteIsUUID = "%[1]s LIKE '________-____-____-____-____________' AND length(replace(%[1]s, '-', '')) = 32 AND " +
		"%[1]s NOT GLOB '*[^0-9A-Fa-f-]*'"
	sqliteIsDate = "%[1]s IS date(%[1]s)"
	sqliteIsTime = "%[1]s GLOB '????-??-??T??:??*' AND date(substr(%[1]s, 1, 10)) IS substr(%[1]s, 1, 10) AND " +
		"(datetime(%[1]s) IS NULL) = (%[1]s IS NULL)"
)

var postgresTypes = map[string]string{
	String: "text", Number: "double precision", Integer: "bigint", Boolean: "boolean", Object: "jsonb", Array: "jsonb", Date: "date",
	DateTime: "timestamptz", UUID: "uuid", Email: "text", URL: "text", Enum: "text",
}

var sqliteTypes = map[string]string{
	String: "TEXT", Number: "REAL", Integer: "INTEGER", Boolean: "INTEGER", Object: "TEXT", Array: "TEXT", Date: "TEXT", DateTime: "TEXT",
	UUID: "TEXT", Email: "TEXT", URL: "TEXT", Enum: "TEXT",
}

// columnType returns the type of a field's column. A reference has the type of the key that it refers to.
func (w *sqlWriter) columnType(f field) string {
	if f.ref != "" {
		return w.typeName(field{Field: Field{Type: w.byType[f.ref].keyType}})
	}
	return w.typeName(f)
}

func (w *sqlWriter) typeName(f field) string {
	switch {
	case w.sqlite:
		return sqliteTypes[f.Type]
	case f.Type == Array && len(f.EnumValues) > 0:
		return "text[]"
	}
	return postgresTypes[f.Type]
}

// standard spells the default of a field.
func (w *sqlWriter) standard(f field) string {
	switch value := f.value.(type) {
	case string:
		switch {
		case !f.isNow():
			return w.text(value)
		case w.sqlite && f.Type == Date:
			return "(date('now'))"
		case w.sqlite:
			return "(strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))"
		case f.Type == Date:
			return "CURRENT_DATE"
		}
		return "now()"
	case json.Number:
		return string(value)
	case bool:
		if w.sqlite && value {
			return "1"
		} else if w.sqlite {
			return "0"
		}
		return fmt.Sprint(value)
	case []any:
		if !w.sqlite && len(f.EnumValues) > 0 {
			items := make([]string, len(value))
			for i, item := range value {
				items[i] = w.text(item.(string))
			}
			return "ARRAY[" + strings.Join(items, ", ") + "]::text[]"
		}
	}
	return w.text(jsonText(f.value))
}

// checks lists the CHECK conditions of a column, which notes call about. NULL passes all of them.
func (w *sqlWriter) checks(f field, column, about string) (checks []string) {
	add := func(check string, args ...any) { checks = append(checks, fmt.Sprintf(check, args...)) }
	size := column
	switch {
	case f.Type == Array && w.sqlite:
		size = "json_array_length(" + column + ")"
		add("json_valid(%[1]s) AND json_type(%[1]s) = 'array'", column)
		if len(f.EnumValues) > 0 {
			w.notes.add("SQLite does not check the items of arrays", about)
		}
	case f.Type == Array && len(f.EnumValues) > 0:
		size = "cardinality(" + column + ")"
		add("%s <@ ARRAY[%s]", column, w.texts(f.EnumValues))
	case f.Type == Array:
		size = "jsonb_array_length(" + column + ")"
		add("jsonb_typeof(%s) = 'array'", column)
	case len(f.EnumValues) > 0:
		add("%s IN (%s)", column, w.texts(f.EnumValues))
	case f.Type == Object && w.sqlite:
		add("json_valid(%[1]s) AND json_type(%[1]s) = 'object'", column)
	case f.Type == Object:
		add("jsonb_typeof(%s) = 'object'", column)
	case f.Type == Boolean && w.sqlite:
		add("%s IN (0, 1)", column)
	case f.Type == UUID && w.sqlite:
		add(sqliteIsUUID, column)
	case f.Type == Date && w.sqlite:
		add(sqliteIsDate, column)
	case f.Type == DateTime && w.sqlite:
		add(sqliteIsTime, column)
	case f.Type == Email:
		add("%s LIKE '_%%@_%%'", column)
		w.notes.add("only @ with text around it is checked of emails", about)
	case f.Type == URL:
		add("%s LIKE '_%%:_%%'", column)
		w.notes.add("only : with text around it is checked of URLs", about)
	}
	if f.Type == String || f.Type == Email || f.Type == URL {
		size = "char_length(" + column + ")"
		if w.sqlite {
			size = "length(" + column + ")"
		}
	}
	switch {
	case f.Min != nil && f.Max != nil:
		add("%s BETWEEN %s AND %s", size, number(*f.Min), number(*f.Max))
	case f.Min != nil:
		add("%s >= %s", size, number(*f.Min))
	case f.Max != nil:
		add("%s <= %s", size, number(*f.Max))
	}
	if f.Pattern != "" {
		if expression, ok := postgresPattern(f.Pattern); ok && !w.sqlite {
			add("%s ~ %s", column, w.text(expression))
		} else if w.sqlite {
			w.notes.add("SQLite has no regular expressions to check pattern", about)
		} else {
			w.notes.add("PostgreSQL cannot check pattern", about)
		}
	}
	return checks
}

// constraint spells the name of a constraint if the name that the database would choose is taken or too long.
func (w *sqlWriter) constraint(usual string) string {
	claimed := w.claim(usual)
	if w.sqlite || claimed == usual {
		return ""
	}
	return "CONSTRAINT " + name(claimed) + " "
}

// claim takes a name of a table, index or constraint. A number that makes it free counts for its length.
func (w *sqlWriter) claim(usual string) string {
	claimed := w.names.Claim(w.fit(usual))
	for w.fit(claimed) != claimed {
		claimed = w.names.Claim(w.fit(claimed))
	}
	return claimed
}

// fit shortens a name that PostgreSQL would truncate. The end becomes a hash of the whole name.
func (w *sqlWriter) fit(long string) string {
	if w.sqlite || len(long) <= maxSQLName {
		return long
	}
	sum := sha256.Sum256([]byte(long))
	end := "_" + hex.EncodeToString(sum[:4])
	start := long[:maxSQLName-len(end)]
	for !utf8.ValidString(start) && utf8.ValidString(long) {
		start = start[:len(start)-1]
	}
	short := start + end
	w.notes.add(fmt.Sprintf("longer names are shortened to PostgreSQL's %d bytes", maxSQLName), short)
	return short
}

// name quotes a name of a table or column.
func name(s string) string {
	return `"` + strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), `"`, `""`) + `"`
}

// text quotes a string literal. A backslash is an escape or not, depending on PostgreSQL's settings; E makes it one.
func (w *sqlWriter) text(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "'", "''")
	if !w.sqlite && strings.Contains(s, `\`) {
		return "E'" + strings.ReplaceAll(s, `\`, `\\`) + "'"
	}
	return "'" + s + "'"
}

func (w *sqlWriter) texts(values []string) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = w.text(v)
	}
	return strings.Join(list, ", ")
}

// writeComment writes a text as comment lines after an indent.
func writeComment(b *strings.Builder, indent, doc string) {
	for _, line := range text.Lines(doc) {
		b.WriteString(strings.TrimRight(indent+"-- "+line, " ") + "\n")
	}
}

// writeRemark writes a statement that stores a text as the comment of a table or column.
func (w *sqlWriter) writeRemark(b *strings.Builder, about, doc string) {
	if lines := text.Lines(doc); len(lines) > 0 {
		fmt.Fprintf(b, "COMMENT ON %s IS %s;\n", about, w.text(strings.Join(lines, "\n")))
	}
}
