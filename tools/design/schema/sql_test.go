package schema_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/tools/design/schema"
)

// databases runs a test on each database that SQL is written for.
func databases(t *testing.T, run func(t *testing.T, format string, db *sql.DB)) {
	t.Helper()
	for format, open := range map[string]func(*testing.T) (driver, address string){
		schema.SQLite: func(*testing.T) (string, string) { return "sqlite", ":memory:?_pragma=foreign_keys(1)" },
		schema.SQL:    func(t *testing.T) (string, string) { return "pgx", storagetest.Postgres(t) },
	} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			db, err := sql.Open(open(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			db.SetMaxOpenConns(1)
			run(t, format, db)
		})
	}
}

// trial runs statements in a transaction that is undone at its end.
type trial struct {
	t      *testing.T
	tx     *sql.Tx
	format string
	text   string // what it is about
}

func try(t *testing.T, db *sql.DB, format, text string, do func(trial)) {
	t.Helper()
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	do(trial{t, tx, format, text})
}

// must runs a statement that is to succeed.
func (r trial) must(statement string) {
	r.t.Helper()
	if _, err := r.tx.Exec(statement); err != nil {
		r.t.Fatalf("%v\n%s\n%s", err, statement, r.text)
	}
}

// takes reports whether a statement succeeds, and undoes it.
func (r trial) takes(statement string) bool {
	r.t.Helper()
	r.must("SAVEPOINT before")
	_, err := r.tx.Exec(statement)
	r.must("ROLLBACK TO SAVEPOINT before")
	return err == nil
}

// list returns the first column of a query.
func (r trial) list(query string) (list []string) {
	r.t.Helper()
	rows, err := r.tx.Query(query)
	if err != nil {
		r.t.Fatalf("%v\n%s", err, query)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			r.t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

func (r trial) tables() []string {
	r.t.Helper()
	if r.format == schema.SQLite {
		return r.list("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")
	}
	return r.list("SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace ORDER BY oid")
}

func (r trial) columns(table string) []string {
	r.t.Helper()
	if r.format == schema.SQLite {
		return r.list("SELECT name FROM pragma_table_info(" + quoted(table) + ") ORDER BY cid")
	}
	return r.list("SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND " +
		"table_name = " + quoted(table) + " ORDER BY ordinal_position")
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func named(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// Ids of the only row of a table, by the type of its key.
const (
	uuidKey    = "'0b7f7a3e-6f0c-4d3c-9a58-0d6c3f5f8b11'"
	integerKey = "7"
	stringKey  = "'key'"
)

// keyOf returns the id of the row of a record.
func keyOf(m schema.Model) string {
	for _, f := range m.Fields {
		if strings.EqualFold(f.Name, "id") {
			return map[string]string{schema.UUID: uuidKey, schema.Integer: integerKey, schema.String: stringKey}[f.Type]
		}
	}
	return uuidKey
}

// patterns are regular expressions with a text that fits each, of nine characters, and one that does not.
var patterns = [][3]string{
	{`^[A-Z]{2}-\d{6}$`, "AB-123456", "AB-12345x"}, {`^\w+@[^@ ]+$`, "a_b@c.com", "a_b@c com"}, {`^(?:ab|c)+$`, "abcabccab", "abcabcca"},
	{`^'\\"\$[äß].*x?$`, `'\"$äabcx`, `'\"$aabcx`}, {`\bword\b`, "a word, b", "swordfish"}, {`^[Aa][^b-y]{8}$`, "a12345zZA", "ab2345zZA"},
}

// values returns values that a field takes, and some that it does not, as literals.
func values(f schema.Field, format string) (good, bad []string) {
	least, most := 0.0, 9.0
	if f.Min != nil {
		least, most = *f.Min, *f.Min+9
	}
	if f.Max != nil {
		least, most = min(least, *f.Max), *f.Max
	}
	if f.Min == nil && (f.Type == schema.Email || f.Type == schema.URL) {
		least = 3
	}
	sized := func(unit func(n int) string) {
		good = append(good, unit(int(least)), unit(int(most)))
		if f.Min != nil && least > 0 {
			bad = append(bad, unit(int(least)-1))
		}
		if f.Max != nil {
			bad = append(bad, unit(int(most)+1))
		}
	}
	array := func(item func(int) string) func(int) string {
		return func(n int) string {
			items := make([]string, n)
			for i := range items {
				items[i] = item(i)
			}
			if len(f.EnumValues) > 0 && format == schema.SQL {
				return "ARRAY[" + strings.Join(items, ",") + "]::text[]"
			}
			return quoted("[" + strings.Join(items, ",") + "]")
		}
	}
	encoded := func(i int) string {
		text, _ := json.Marshal(f.EnumValues[i%len(f.EnumValues)])
		return string(text)
	}
	switch {
	case f.Type == schema.Array && len(f.EnumValues) > 0 && format == schema.SQL:
		sized(array(func(i int) string { return quoted(f.EnumValues[i%len(f.EnumValues)]) }))
		bad = append(bad, "ARRAY['another one']", "ARRAY[NULL]::text[]")
	case f.Type == schema.Array && len(f.EnumValues) > 0:
		sized(array(encoded))
		bad = append(bad, "'{}'", "'a'", "1")
	case f.Type == schema.Array:
		sized(array(func(int) string { return `{"a":"it\"s"}` }))
		bad = append(bad, "'{}'", `'"a"'`, "'a'", "'null'")
	case len(f.EnumValues) > 0:
		for _, v := range f.EnumValues {
			good = append(good, quoted(v))
		}
		bad = append(bad, "'another one'")
	case f.Pattern != "":
		i := slices.IndexFunc(patterns, func(p [3]string) bool { return p[0] == f.Pattern })
		good = append(good, quoted(patterns[i][1]))
		if format == schema.SQL {
			bad = append(bad, quoted(patterns[i][2]))
		}
	case f.Type == schema.String:
		sized(func(n int) string { return quoted(strings.Repeat("ä", n)) })
	case f.Type == schema.Email:
		sized(func(n int) string { return quoted(strings.Repeat("é", n-2) + "@b") })
		bad = append(bad, "'a'", "'@b'")
	case f.Type == schema.URL:
		sized(func(n int) string { return quoted(strings.Repeat("h", n-2) + ":x") })
		bad = append(bad, "'a'", "':'")
	case f.Type == schema.Integer || f.Type == schema.Number:
		good, bad = append(good, fmt.Sprint(least), fmt.Sprint(most)), append(bad, "'x'")
		if f.Type == schema.Number {
			good = append(good, fmt.Sprint(least+(most-least)/3))
		}
		if f.Min != nil {
			bad = append(bad, fmt.Sprint(least-1))
		}
		if f.Max != nil {
			bad = append(bad, fmt.Sprint(most+1))
		}
	case f.Type == schema.Boolean && format == schema.SQL:
		good, bad = []string{"true", "false"}, []string{"'maybe'"}
	case f.Type == schema.Boolean:
		good, bad = []string{"1", "0"}, []string{"2", "'maybe'"}
	case f.Type == schema.Object:
		good, bad = []string{"'{}'", `'{"a": [1, null]}'`}, []string{"'[]'", "'null'", "'{'"}
	case f.Type == schema.Date:
		good, bad = []string{"'2026-02-28'", "'2024-02-29'"}, []string{"'2026-02-30'", "'some day'"}
	case f.Type == schema.DateTime:
		good, bad = []string{"'2026-02-28T23:59:59Z'", "'2026-01-02T03:04:05.678+02:00'"}, []string{"'2026-02-30T00:00:00Z'", "'some time'"}
		if format == schema.SQLite {
			bad = append(bad, "'12:00'", "'2026-01-02'", "'2026-01-02T'", "'2026-01-02Tea'")
		}
	case f.Type == schema.UUID:
		good, bad = []string{"'ffffffff-0000-4000-8000-00000000000A'"}, []string{"'x'", "'gfffffff-0000-4000-8000-00000000000A'"}
		if format == schema.SQLite {
			bad = append(bad, "'ffffffff-0000-4000-8000-0000-000000A'", "'ffffffff-0000-4000-8000_00000000000A'")
		}
	}
	return good, bad
}

// judge makes the tables of a model, and holds what they take to what the fields say.
func judge(t *testing.T, db *sql.DB, format string, m schema.Model) {
	t.Helper()
	made := whole(t, m, format)
	try(t, db, format, made.Content, func(r trial) {
		r.must(made.Content)
		tables := r.tables()
		records := map[string]schema.Model{}
		for _, record := range append(slices.Clone(m.Records), m) {
			records[tableOf(t, record, format)] = record
		}
		keys := map[string]string{} // by the name that refs have
		for _, table := range tables {
			if record, ok := records[table]; ok {
				keys[record.Name] = keyOf(record)
			} else if columns := r.columns(table); len(columns) == 1 {
				r.must("INSERT INTO " + named(table) + " VALUES (" + uuidKey + ")")
			}
		}
		key := func(f schema.Field) string {
			for name, key := range keys {
				if strings.EqualFold(strings.ReplaceAll(name, " ", ""), f.RefSchema) || name == f.RefSchema {
					return key
				}
			}
			return uuidKey
		}
		for _, table := range tables {
			if record, ok := records[table]; ok {
				insert(r, table, record, key)
			}
		}
		if format == schema.SQL {
			r.must("SET CONSTRAINTS ALL IMMEDIATE")
		} else if broken := r.list("SELECT \"table\" FROM pragma_foreign_key_check"); len(broken) > 0 {
			t.Fatalf("references of %q lead nowhere\n%s", broken, made.Content)
		}
		for _, table := range tables {
			if record, ok := records[table]; ok {
				update(r, table, record, key)
			}
		}
	})
}

// tableOf finds the table of a record, by the text of the record alone.
func tableOf(t *testing.T, m schema.Model, format string) string {
	t.Helper()
	m.Records = nil
	names := regexp.MustCompile(`(?m)^CREATE TABLE "([^"]+)"`).FindStringSubmatch(generate(t, m, format))
	return names[1]
}

// columnsOf pairs the columns of a table with the fields of its record.
func columnsOf(r trial, table string, m schema.Model) (columns []string, fields []schema.Field) {
	r.t.Helper()
	columns = r.columns(table)
	fields = slices.DeleteFunc(slices.Clone(m.Fields), func(f schema.Field) bool { return f.Type == schema.Array && f.RefSchema != "" })
	if !slices.ContainsFunc(fields, func(f schema.Field) bool { return strings.EqualFold(f.Name, "id") }) {
		fields = slices.Insert(fields, 0, schema.Field{Name: "id", Type: schema.UUID, Required: true})
	}
	if len(columns) != len(fields) {
		r.t.Fatalf("%s has the columns %q for %d fields\n%s", table, columns, len(fields), r.text)
	}
	return columns, fields
}

// insert adds the row of a table: first one of what must be given, to see the defaults, then one with everything.
func insert(r trial, table string, m schema.Model, key func(schema.Field) string) {
	r.t.Helper()
	columns, fields := columnsOf(r, table, m)
	var needed, all, neededValues, allValues, standards []string
	for i, f := range fields {
		value := key(f)
		switch {
		case strings.EqualFold(f.Name, "id"):
			value = keyOf(m)
		case f.RefSchema == "":
			good, _ := values(f, r.format)
			value = good[0]
		}
		all, allValues = append(all, named(columns[i])), append(allValues, value)
		if f.Default != nil {
			standards = append(standards, columns[i])
		} else if f.Required && !f.Nullable {
			needed, neededValues = append(needed, named(columns[i])), append(neededValues, value)
		}
	}
	statement := func(columns, values []string) string {
		return "INSERT INTO " + named(table) + " (" + strings.Join(columns, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
	}
	r.must("SAVEPOINT standards")
	r.must(statement(needed, neededValues))
	for _, column := range standards {
		if set := r.list("SELECT count(" + named(column) + ") FROM " + named(table)); set[0] != "1" {
			r.t.Errorf("%s of %s has no default\n%s", column, table, r.text)
		}
	}
	r.must("ROLLBACK TO SAVEPOINT standards")
	r.must(statement(all, allValues))
}

// update gives each column values that it takes, and some that it does not.
func update(r trial, table string, m schema.Model, key func(schema.Field) string) {
	r.t.Helper()
	columns, fields := columnsOf(r, table, m)
	for i, f := range fields {
		if strings.EqualFold(f.Name, "id") {
			continue
		}
		good, bad := values(f, r.format)
		if f.RefSchema != "" {
			good, bad = []string{key(f)}, []string{"'11111111-1111-4111-8111-111111111111'"}
			if r.format == schema.SQLite {
				bad = nil // which judges a reference that closes a cycle at the end only
			}
		}
		if set := !f.Nullable && (f.Required || f.Default != nil); set {
			bad = append(bad, "NULL")
		} else {
			good = append(good, "NULL")
		}
		for _, value := range good {
			r.must("UPDATE " + named(table) + " SET " + named(columns[i]) + " = " + value)
		}
		for _, value := range bad {
			if r.takes("UPDATE " + named(table) + " SET " + named(columns[i]) + " = " + value) {
				r.t.Errorf("%s of %s takes %s\n%s", columns[i], table, value, r.text)
			}
		}
	}
}

// The tables of all records take what the fields say, and nothing else.
func TestTablesJudge(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, format string, db *sql.DB) {
		for _, m := range models(format) {
			for i, f := range m.Fields {
				if f.Pattern != "" { // one that values knows
					m.Fields[i].Pattern = patterns[0][0]
				}
			}
			judge(t, db, format, m)
		}
	})
}

// So do those of random records that refer to each other, in cycles too.
func TestTablesOfRandomRecords(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, format string, db *sql.DB) {
		for seed := range uint64(60) {
			random := rand.New(rand.NewPCG(seed, 1))
			records := make([]schema.Model, 1+random.IntN(4))
			for i := range records {
				records[i] = randomRecord(random, i, len(records), format)
			}
			m := records[0]
			m.Records = records[1:]
			judge(t, db, format, m)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	})
}

// recordNames are words that databases reserve, or that are too long for them.
var recordNames = []string{"order", "user table", "select", strings.Repeat("long name ", 19)}

// hostile are texts that try to end the literal, name or comment that they stand in.
var hostile = []string{
	`'; DROP TABLE canary; --`, `"; DROP TABLE canary; --`, `\'; DROP TABLE canary; --`, "\n); DROP TABLE canary; --",
	"*/ DROP TABLE canary; /*",
	"$$; DROP TABLE canary; $$", "\u2028DROP TABLE canary;", "日本 🎉", `\\'`, `E'\x27`, "%s%d%!", "?", "$1", ":name", "__proto__", "-- x",
	strings.Repeat("é", 50),
	"line\r\nbreak", "null", "\u202e",
}

// randomRecord makes the record of a number, which refers to others of so many.
func randomRecord(random *rand.Rand, number, records int, format string) schema.Model {
	text := func() string { return hostile[random.IntN(len(hostile))] }
	m := schema.Model{Name: recordNames[number], Description: text()}
	if kinds := []string{"", schema.UUID, schema.Integer, schema.String}; random.IntN(2) == 0 {
		if kind := kinds[random.IntN(4)]; kind != "" {
			m.Fields = append(m.Fields, schema.Field{Name: "id", Type: kind, Required: true})
		}
	}
	types := []string{schema.String, schema.Number, schema.Integer, schema.Boolean, schema.Array, schema.Object, schema.Date, schema.DateTime,
		schema.UUID, schema.Email, schema.URL, schema.Enum, schema.Ref}
	for i := range 3 + random.IntN(12) {
		f := schema.Field{Name: fmt.Sprintf("f%d", i), Type: types[random.IntN(len(types))], Description: text(), Required: random.IntN(2) == 0,
			Nullable: random.IntN(3) == 0}
		if random.IntN(3) == 0 {
			f.Name = fmt.Sprintf("%s%s日%d", text(), strings.Repeat("x", random.IntN(40)), i)
		}
		enum := f.Type == schema.Enum || f.Type == schema.Array && random.IntN(2) == 0
		if enum {
			f.EnumValues = []string{text(), "plain"}
		}
		if f.Type == schema.Ref || f.Type == schema.Array && !enum && random.IntN(2) == 0 {
			f.RefSchema = recordNames[random.IntN(records)]
			if random.IntN(4) == 0 {
				f.RefSchema = "Elsewhere"
			}
			f.OnDelete = []string{"", schema.Cascade, schema.Restrict, schema.NoAction, schema.SetNull}[random.IntN(5)]
			if f.OnDelete == schema.SetNull && (f.Required && !f.Nullable || f.Type == schema.Array) {
				f.OnDelete = ""
			}
		}
		detail(random, &f, format)
		m.Fields = append(m.Fields, f)
	}
	return m
}

// detail gives a field random details.
func detail(random *rand.Rand, f *schema.Field, format string) {
	bounded := f.Type == schema.Number || f.Type == schema.Integer || f.Type == schema.String || f.Type == schema.Email ||
		f.Type == schema.URL || f.Type == schema.Array && f.RefSchema == ""
	if bounded && random.IntN(2) == 0 {
		f.Min = new(float64(3 + random.IntN(4)))
	}
	if bounded && random.IntN(2) == 0 {
		f.Max = new(float64(9 + random.IntN(4)))
	}
	if f.Type == schema.String && random.IntN(2) == 0 {
		f.Pattern = patterns[random.IntN(len(patterns))][0]
	}
	if column := f.Type != schema.Array && f.Type != schema.Object; column {
		f.Index, f.Unique = random.IntN(3) == 0, random.IntN(5) == 0
	}
	if f.RefSchema == "" && random.IntN(3) == 0 {
		f.Default = defaultOf(*f)
	}
}

// defaultOf returns a default that a field takes; nil for those that have none.
func defaultOf(f schema.Field) json.RawMessage {
	least := 5
	if f.Min != nil {
		least = int(*f.Min)
	}
	var value any
	switch {
	case f.Type == schema.Array:
		list := make([]string, least)
		for i := range list {
			list[i] = `it's \ "so"`
			if len(f.EnumValues) > 0 {
				list[i] = f.EnumValues[i%len(f.EnumValues)]
			}
		}
		value = list
	case len(f.EnumValues) > 0:
		value = f.EnumValues[0]
	case f.Pattern != "":
		i := slices.IndexFunc(patterns, func(p [3]string) bool { return p[0] == f.Pattern })
		value = patterns[i][1]
	case f.Type == schema.String:
		value = strings.Repeat("'", least)
	case f.Type == schema.Integer || f.Type == schema.Number:
		value = least
	case f.Type == schema.Boolean:
		value = true
	case f.Type == schema.Object:
		value = map[string]any{`'; DROP TABLE canary; --`: []any{`\`, nil, 1e300}}
	case f.Type == schema.Date || f.Type == schema.DateTime:
		value = schema.Now
	case f.Type == schema.UUID:
		value = strings.Trim(uuidKey, "'")
	default:
		return nil
	}
	encoded, _ := json.Marshal(value)
	return encoded
}

// No text gets out of the place where it stands, whatever PostgreSQL takes backslashes for.
func TestTablesHoldHostileTexts(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, format string, db *sql.DB) {
		for _, setting := range []string{"on", "off"} {
			for _, text := range hostile {
				standard, _ := json.Marshal(text)
				m := schema.Model{Name: "a", Description: text, Fields: []schema.Field{
					{Name: text, Type: schema.String, Description: text, Details: schema.Details{Default: standard, Index: true, Unique: true}},
					{Name: "x" + text + "日", Type: schema.Enum, EnumValues: []string{text}, Required: true, Description: text,
						Details: schema.Details{Default: standard, Index: true}},
					{Name: "list", Type: schema.Array, EnumValues: []string{text}},
					{Name: "refs" + text, Type: schema.Array, RefSchema: "b", Description: text},
					{Name: "object", Type: schema.Object, Details: schema.Details{Default: fmt.Appendf(nil, `{%s:%[1]s}`, standard)}},
				}}
				made := generate(t, m, format)
				try(t, db, format, made, func(r trial) {
					r.must("CREATE TABLE canary (x integer)")
					if format == schema.SQL {
						r.must("SET LOCAL standard_conforming_strings = " + setting)
					}
					r.must(made)
					if tables := r.tables(); len(tables) != 4 || !slices.Contains(tables, "canary") {
						t.Errorf("%q: there are the tables %q\n%s", text, tables, made)
					}
					r.must("INSERT INTO a DEFAULT VALUES")
					columns := r.columns("a")
					for _, column := range columns[1:3] {
						if got := r.list("SELECT " + named(column) + " FROM a"); got[0] != text {
							t.Errorf("the default of %q is %q, want %q", column, got[0], text)
						}
					}
				})
			}
		}
	})
}

// PostgreSQL's expressions match what RE2's do.
func TestTablesHoldPatterns(t *testing.T) {
	t.Parallel()
	texts := []string{"", "a", "A", "ab", "aab", "b", "1", "a1", "a-b", "a b", "\n", "a\nb", "ä", "日本", "🎉", `\`, `a\`, "'", "]", "^",
		"x.y", "xzy", "{2}", "aa", "K", "\u212a", "_", ".", "éb", "bé", "b_", "éé"}
	databases(t, func(t *testing.T, format string, db *sql.DB) {
		if format == schema.SQLite {
			t.Skip("SQLite has no regular expressions")
		}
		for _, pattern := range append([]string{
			`a`, `^a$`, `^[^a]$`, `^a*b+$`, `^(a|b)?1$`, `^\w$`, `^\W$`, `^\d+$|^ä`, `[ \t]`, `^[^ ]+$`, `^.$`, `^[\s\S]$`, `^a{2}$`, `^a{1,}b?$`,
			`^(?:a|ab)(?:b)$`, `^[\]\\^]$`, `b\b`, `^\B.`, `.\B$`,
			`^[a-]`, `\bb`, `\Bb`, `^[^\n]+$`, `^[日-本]+$`, `^🎉$`, `^x\.y$`, `\{2\}`, `^$`, `^[kK]$`, `^[^\x00-\x7f]+$`, `^a|b$`, `(a(b)?)+`,
			`a+?`, `^(|a)$`,
		}, patterns[0][0], patterns[3][0]) {
			m := schema.Model{Name: "a", Fields: []schema.Field{{Name: "x", Type: schema.String, Details: schema.Details{Pattern: pattern}}}}
			made, problems := schema.Generate(m, format)
			if len(problems) > 0 {
				if !strings.Contains(pattern, `\x`) {
					t.Errorf("%s: %v", pattern, problems)
				}
				continue
			}
			try(t, db, format, made.Content, func(r trial) {
				r.must(made.Content)
				for _, text := range texts {
					if got, want := r.takes("INSERT INTO a (x) VALUES ("+quoted(text)+")"), regexp.MustCompile(pattern).MatchString(text); got != want {
						t.Errorf("%s matches %q: %v, want %v\n%s", pattern, text, got, want, made.Content)
					}
				}
			})
		}
	})
}

func TestTablesKeepReferences(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, format string, db *sql.DB) {
		ref := func(name, to, action string) schema.Field {
			return schema.Field{Name: name, Type: schema.Ref, RefSchema: to, Details: schema.Details{OnDelete: action}}
		}
		id := schema.Field{Name: "id", Type: schema.Integer, Required: true}
		m := schema.Model{Name: "child", Fields: []schema.Field{
			id, ref("cascades", "parent", schema.Cascade), ref("restricts", "parent", schema.Restrict), ref("nulls", "parent", schema.SetNull),
			{Name: "code", Type: schema.String, Details: schema.Details{Unique: true}},
			{Name: "many", Type: schema.Array, RefSchema: "parent"},
		}, Records: []schema.Model{{Name: "parent", Fields: []schema.Field{id}}}}
		made := generate(t, m, format)
		try(t, db, format, made, func(r trial) {
			r.must(made)
			r.must("INSERT INTO parent VALUES (1), (2), (3), (4)")
			r.must("INSERT INTO child (id, cascades) VALUES (1, 1)")
			r.must("INSERT INTO child (id, restricts, nulls, code) VALUES (2, 2, 3, 'a')")
			r.must("INSERT INTO child_many VALUES (1, 4), (2, 4), (2, 3)")
			for _, statement := range []string{
				"INSERT INTO child (id, cascades) VALUES (3, 9)", "INSERT INTO child (id, code) VALUES (3, 'a')", "DELETE FROM parent WHERE id = 2",
				"INSERT INTO child_many VALUES (1, 9)", "INSERT INTO child_many VALUES (1, 4)", "INSERT INTO child (id) VALUES (1)",
			} {
				if r.takes(statement) {
					t.Errorf("%s: taken\n%s", statement, made)
				}
			}
			r.must("DELETE FROM parent WHERE id IN (1, 3)")
			got := r.list("SELECT id || ',' || coalesce(restricts || '', '-') || ',' || coalesce(nulls || '', '-') FROM child ORDER BY id")
			if diff := cmp.Diff([]string{"2,2,-"}, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"2,4"}, r.list("SELECT child_id || ',' || parent_id FROM child_many")); diff != "" {
				t.Error(diff)
			}
		})
	})
}

// Tables go after those that they refer to. What closes a cycle is added behind them, where the database wants that.
func TestTablesAreInOrder(t *testing.T) {
	t.Parallel()
	ref := func(to string) schema.Field { return schema.Field{Name: to, Type: schema.Ref, RefSchema: to} }
	names := regexp.MustCompile(`(?m)^(?:CREATE|ALTER) TABLE "(\w+)"`)
	for what, test := range map[string]struct {
		b, c schema.Field
		want string
	}{
		"a chain":         {ref("c"), schema.Field{Name: "x", Type: schema.String}, "c b a"},
		"itself":          {ref("b"), ref("b"), "b a c"},
		"a cycle":         {ref("c"), ref("a"), "a c b a"},
		"a cycle further": {ref("c"), ref("b"), "b a c b"},
	} {
		m := schema.Model{Name: "a", Fields: []schema.Field{ref("b")}, Records: []schema.Model{
			{Name: "b", Fields: []schema.Field{test.b}}, {Name: "c", Fields: []schema.Field{test.c}},
		}}
		var got []string
		for _, match := range names.FindAllStringSubmatch(generate(t, m, schema.SQL), -1) {
			got = append(got, match[1])
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %q, want %s", what, got, test.want)
		}
		if strings.Contains(generate(t, m, schema.SQLite), "ALTER") {
			t.Errorf("%s: SQLite alters a table", what)
		}
	}
}

// A reference finds the table of a record that is written in another case.
func TestTablesAreFoundByName(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, format string, db *sql.DB) {
		ref := func(name, to string) schema.Field { return schema.Field{Name: name, Type: schema.Ref, RefSchema: to} }
		m := schema.Model{Name: "HTTPServer", Fields: []schema.Field{ref("peer", "httpServer"), ref("a", "URLPath"), ref("b", "urlPath")}}
		made := generate(t, m, format)
		try(t, db, format, made, func(r trial) {
			r.must(made)
			if diff := cmp.Diff([]string{"url_path", "http_server"}, r.tables()); diff != "" {
				t.Errorf("%s\n%s", diff, made)
			}
		})
	})
}

// A name that gets a number is still short enough for PostgreSQL.
func TestTablesNumberLongNames(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, format string, db *sql.DB) {
		long := strings.Repeat("a", 57) // the index t_aaa_idx has 63 bytes
		m := schema.Model{Name: "t", Fields: []schema.Field{
			{Name: long, Type: schema.String, Details: schema.Details{Index: true}}, {Name: long + "_idx", Type: schema.Array, RefSchema: "t"},
		}}
		made := generate(t, m, format)
		try(t, db, format, made, func(r trial) {
			r.must(made)
			if tables := r.tables(); len(tables) != 2 || !strings.Contains(made, `"`+tables[1]+`"`) {
				t.Errorf("the tables are %q\n%s", tables, made)
			}
		})
	})
}
