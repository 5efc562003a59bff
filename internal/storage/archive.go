package storage

import (
	"bufio"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pressly/goose/v3"

	"github.com/toolfold/toolfold/internal/run/metric"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/tools/memory"
	"github.com/toolfold/toolfold/tools/task"
)

// archiveFormat is the version of the format of archives.
//
// An archive is JSON Lines: a header, a line for each object with its rows (a note, a task with its
// steps, a session with its notes …), and the manifest. Objects are sorted by key and columns by
// name, so that stores with the same content have archives with the same digests on every database.
const archiveFormat = 1

// archiveHeader is the first line of an archive.
type archiveHeader struct {
	Format int   `json:"toolfoldArchive"`
	Schema int64 `json:"schema"` // schema step of the store
}

// archiveLine is the line of an object.
type archiveLine struct {
	Kind   string          `json:"kind"`
	Object json.RawMessage `json:"object"`
}

// archiveEnd is the last line of an archive.
type archiveEnd struct {
	Manifest map[string]ArchivedKind `json:"manifest"`
}

// ArchivedKind counts the objects of a kind in an archive. Digest is the SHA-256 of their lines.
type ArchivedKind struct {
	Objects int    `json:"objects"`
	Digest  string `json:"sha256"`
}

// counter counts the lines of a kind.
type counter struct {
	lines int
	sum   interface {
		io.Writer
		Sum([]byte) []byte
	}
}

func newCounter() *counter { return &counter{sum: sha256.New()} }

func (c *counter) add(line []byte) {
	c.lines++
	c.sum.Write(line)
}

func (c *counter) counted() ArchivedKind {
	return ArchivedKind{c.lines, hex.EncodeToString(c.sum.Sum(nil))}
}

// archiveTable describes the rows of a table in an archive.
type archiveTable struct {
	name     string
	key      []string // columns that identify a row of a parent, and order the rows
	id       string   // generated number that children refer to; empty = they refer to key
	parent   string   // column that refers to the parent; empty for objects
	single   bool     // a parent has at most one row
	unique   []string // columns with a unique combination, see [archiveTable.claim]; nil = only the key
	omit     []string // columns that the store fills in itself
	values   map[string]domain
	absent   map[string]any // values for columns that older archives lack, if not the schema's default
	children []archiveTable
}

// copyOf is the name of a column whose value an upgrade copied.
type copyOf string

// domain limits the values of a column.
type domain struct {
	oneOf    []string
	min, max int64 // of an integer; ignored if max is 0
	like     any   // a column of JSON must decode into this type
}

var (
	flag      = domain{max: 1}
	ranks     = domain{min: 1, max: int64(len(work.Priorities()))}
	texts     = domain{like: []string{}}
	anyObject = domain{like: map[string]any{}}
	anyJSON   = domain{like: json.RawMessage{}}

	// moments are microseconds since 1970 in the years 0 to 9999, which JSON can represent.
	moments = domain{
		min: time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(),
		max: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro() - 1,
	}
)

// domain returns the limits of a column's values.
func (t archiveTable) domain(c column) domain {
	d, has := t.values[c.name]
	if !has && c.kind == integer && (c.name == "at" || strings.HasSuffix(c.name, "_at")) {
		return moments
	}
	return d
}

// claim returns the values of an object's unique columns, which no other object may have. It is nil
// if a value is missing. A task holds its key only until it ends.
func (t archiveTable) claim(o object) (values []any) {
	if status, is := o["status"].(string); is && t.name == "tasks" && task.Final(status) {
		return nil
	}
	for _, name := range t.unique {
		if o[name] == nil {
			return nil
		}
		values = append(values, o[name])
	}
	return values
}

// archiveKinds has the kinds of objects in the order of archives.
var archiveKinds = []struct {
	name string
	archiveTable
}{
	{"notes", archiveTable{name: "memory", key: []string{"namespace", "key", "workspace"}, id: "id", omit: []string{"words"},
		values: map[string]domain{"tags": texts, "value": anyJSON}, absent: map[string]any{"workspace": memory.User}}},
	{"versions", archiveTable{name: "memory_versions", key: []string{"namespace", "key", "workspace", "version"}, id: "id",
		values: map[string]domain{"tags": texts, "value": anyJSON}}},
	{"sessions", archiveTable{name: "sessions", key: []string{"id"},
		values: map[string]domain{
			"status":   {oneOf: []string{work.SessionActive, work.SessionCompleted, work.SessionFailed}},
			"metadata": anyObject, "failure": {like: failureRow{}}, "handover": {like: handOverRow{}},
		},
		absent: map[string]any{"creator_workspace": copyOf("workspace")},
		children: []archiveTable{
			{name: "session_participants", parent: "session_id", key: []string{"agent_id"}},
			{name: "session_policies", parent: "session_id", key: []string{"policy_id"},
				values: map[string]domain{"policy": {like: policyRow{}}, "areas": texts}},
			{name: "session_notes", parent: "session_id", key: []string{"number"}},
		}}},
	{"agents", archiveTable{name: "agents", key: []string{"agent_id"},
		values: map[string]domain{"enabled": flag, "profile": {like: profileRow{}}}}},
	{"abilities", archiveTable{name: "abilities", key: []string{"id"}, values: map[string]domain{"details": {like: abilityRow{}}}}},
	{"scripts", archiveTable{name: "scripts", key: []string{"workspace", "name"}, values: map[string]domain{"details": {like: scriptRow{}}}}},
	{"designs", archiveTable{name: "designs", key: []string{"id"}}},
	{"queues", archiveTable{name: "queues", key: []string{"id"}, unique: []string{"name"}, values: map[string]domain{
		"default_priority": ranks, "paused": flag, "per_process": flag,
		"max_concurrency": {min: 1, max: math.MaxInt32}, "rate_per_minute": {max: math.MaxInt32},
	}}},
	{"tasks", archiveTable{name: "tasks", key: []string{"id"}, unique: []string{"workspace", "dedup_key"}, omit: []string{"worker_id"},
		values: map[string]domain{
			"status": {oneOf: slices.DeleteFunc(task.States(), func(state string) bool { return state == task.Paused })},
			"held":   {max: heldByImport}, "priority": ranks,
			"tags": texts, "dependencies": texts, "sessions": texts, "input": anyJSON, "output": anyJSON,
		},
		children: []archiveTable{
			{name: "task_dependencies", parent: "task_id", key: []string{"depends_on"}},
			{name: "task_tags", parent: "task_id", key: []string{"tag"}},
			{name: "task_progress", parent: "task_id", key: []string{"turn"}, single: true,
				values: map[string]domain{"progress": {like: storedProgress{}}}},
			{name: "task_steps", parent: "task_id", key: []string{"path"}, values: map[string]domain{"record": anyJSON}},
			{name: "task_questions", parent: "task_id", key: []string{"key"},
				values: map[string]domain{"params": anyJSON, "answer": anyJSON}},
		}}},
	{"scans", archiveTable{name: "scans", key: []string{"id"}, children: []archiveTable{
		{name: "findings", parent: "scan_id", key: []string{"position"}, values: map[string]domain{"data": {like: findingRow{}}}},
	}}},
	{"traces", archiveTable{name: "traces", key: []string{"id"}, children: []archiveTable{
		{name: "trace_spans", parent: "trace_id", key: []string{"id"},
			values: map[string]domain{"span": {like: spanRow{}}, "answer": anyJSON}},
		{name: "trace_terms", parent: "trace_id", key: []string{"term"}},
		{name: "trace_errors", parent: "trace_id", key: []string{"span_id"}},
	}}},
	{"metrics", archiveTable{name: "metrics", key: []string{"name"}, id: "id", values: map[string]domain{"type": {oneOf: metric.Types()}},
		children: []archiveTable{
			{name: "metric_series", parent: "metric_id", key: []string{"labels"}, id: "id",
				values: map[string]domain{"labels": {like: map[string]string{}}},
				children: []archiveTable{
					{name: "metric_points", parent: "series_id", key: []string{"n"}},
					{name: "metric_blocks", parent: "series_id", key: []string{"n"}},
				}},
		}}},
	{"timers", archiveTable{name: "timers", key: []string{"id"}, values: map[string]domain{"labels": {like: map[string]string{}}}}},
	{"calls", archiveTable{name: "legacy_calls", key: []string{"name", "client"}}},
}

// unarchived are the tables that are not archived, with the reason.
var unarchived = map[string]string{
	"memory_vectors":       "made again from the notes",
	"memory_files":         "compares notes with files of this machine",
	"memory_outdated":      "lists notes whose words are to be made again: all that are imported",
	"task_workers":         "processes that run now",
	"task_refusals":        "tasks that processes of now cannot run",
	"queue_starts":         "starts of the last minute",
	"store_changes":        "counts changes for open pages",
	"cut_answers":          "answers of the last hour",
	"client_answers":       "answers to calls that run now",
	"client_sessions":      "sessions that run now",
	"letters":              "messages between servers that run now",
	"letter_servers":       "servers that run now",
	"client_subscriptions": "of sessions that run now",
	"upstream_records":     "is of servers of the settings, and carried over from their files",
	"caller_logins":        "logins of people, encrypted with keys that are elsewhere: they log in again at the other store",
	"audit":                "is of this store's servers, and written to a file by toolfold audit",
}

// ArchiveKinds lists the kinds of objects in an archive.
func ArchiveKinds() (names []string) {
	for _, k := range archiveKinds {
		names = append(names, k.name)
	}
	return names
}

// CountObjects counts the objects of some kinds; nil means all kinds.
func (db *DB) CountObjects(ctx context.Context, kinds []string) (n int, err error) {
	for _, kind := range archiveKinds {
		if kinds == nil || slices.Contains(kinds, kind.name) {
			some, err := scalar[int](ctx, db.reader(), sqlf(`SELECT count(*) FROM `+kind.archiveTable.name))
			if err != nil {
				return 0, fmt.Errorf("counting objects: %w", err)
			}
			n += some
		}
	}
	return n, nil
}

// Export writes an archive of the objects of some kinds from one snapshot of the store. Nil means
// all kinds. Unfinished tasks are written as pending. Progress is called after each object; it may
// be nil.
func (db *DB) Export(ctx context.Context, w io.Writer, kinds []string, progress func(kind string)) (map[string]ArchivedKind, error) {
	tx, err := db.moment(ctx)
	if err != nil {
		return nil, fmt.Errorf("exporting the store: %w", err)
	}
	defer tx.Rollback() // it only reads
	a := archive{executor: newExecutor(tx, db.dialect)}
	manifest, err := a.export(ctx, w, kinds, progress)
	if err != nil {
		return nil, fmt.Errorf("exporting the store: %w", err)
	}
	return manifest, nil
}

// moment begins a read-only transaction on one snapshot of the store.
func (db *DB) moment(ctx context.Context) (*sql.Tx, error) {
	if db.dialect.name == goose.DialectSQLite3 {
		return db.read.BeginTx(ctx, nil) // each of its transactions sees one snapshot
	}
	return db.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
}

func (a *archive) export(ctx context.Context, w io.Writer, kinds []string, progress func(kind string)) (map[string]ArchivedKind, error) {
	step, err := a.step(ctx)
	if err != nil {
		return nil, err
	}
	out := bufio.NewWriter(w)
	write := func(line any) []byte {
		text := ordered.MustJSON(line)
		out.Write(text) // Flush returns the first error
		out.WriteByte('\n')
		return text
	}
	write(archiveHeader{archiveFormat, step})
	manifest := map[string]ArchivedKind{}
	for _, kind := range archiveKinds {
		if kinds != nil && !slices.Contains(kinds, kind.name) {
			continue
		}
		counts := newCounter()
		for o, err := range a.objects(ctx, kind.archiveTable) {
			if err != nil {
				return nil, fmt.Errorf("%s: %w", kind.name, err)
			}
			counts.add(write(archiveLine{kind.name, ordered.MustJSON(o)}))
			if progress != nil {
				progress(kind.name)
			}
		}
		manifest[kind.name] = counts.counted()
	}
	write(archiveEnd{manifest})
	return manifest, out.Flush()
}

// archive reads and writes objects in a transaction.
type archive struct {
	executor
	tables map[string][]column // cache, by name of the table
}

// column is a column of a table.
type column struct {
	name     string
	kind     columnKind
	required bool // neither NULL nor a default is possible
	absent   any  // archive value for an object that lacks it; nil = NULL
}

type columnKind int

const (
	integer columnKind = iota
	float
	text
	blob
)

// step returns the last schema step of the store.
func (a *archive) step(ctx context.Context) (int64, error) {
	return scalar[int64](ctx, a.executor, sqlf(`SELECT max(version_id) FROM `+schemaTable))
}

// columns returns the archived columns of a table, sorted by name.
func (a *archive) columns(ctx context.Context, t archiveTable) ([]column, error) {
	if known, ok := a.tables[t.name]; ok {
		return known, nil
	}
	q := sqlf(`SELECT name, lower(type), "notnull" = 1, coalesce(dflt_value, '') FROM pragma_table_info(?)`, t.name)
	if a.dialect.name == goose.DialectPostgres {
		q = sqlf(`SELECT attname::text, format_type(atttypid, NULL), attnotnull, coalesce(pg_get_expr(adbin, adrelid), '')
			FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
			WHERE attrelid = ?::text::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`, t.name)
	}
	defaults := map[string]string{}
	list, err := all(ctx, a.executor, q, func(rows *sql.Rows) (c column, err error) {
		var kind, expression string
		if err := rows.Scan(&c.name, &kind, &c.required, &expression); err != nil {
			return c, err
		}
		if expression != "" {
			defaults[c.name], c.required = expression, false
		}
		switch kind {
		case "integer", "bigint":
			c.kind = integer
		case "real", "double precision":
			c.kind = float
		case "text":
			c.kind = text
		case "blob", "bytea":
			c.kind = blob
		default:
			return c, fmt.Errorf("column %s.%s has the unknown type %q", t.name, c.name, kind)
		}
		return c, nil
	})
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(c column) bool { return c.name == t.id || c.name == t.parent || slices.Contains(t.omit, c.name) })
	slices.SortFunc(list, func(x, y column) int { return strings.Compare(x.name, y.name) })
	for i, c := range list {
		list[i].required = c.required || slices.Contains(t.key, c.name)
		if list[i].absent = t.absent[c.name]; list[i].absent != nil || defaults[c.name] == "" {
			continue
		}
		value, err := scalar[any](ctx, a.executor, sqlf(`SELECT `+defaults[c.name]))
		if err != nil {
			return nil, fmt.Errorf("reading the default of %s.%s: %w", t.name, c.name, err)
		}
		list[i].absent = c.shown(value)
	}
	if a.tables == nil {
		a.tables = map[string][]column{}
	}
	a.tables[t.name] = list
	return list, nil
}

// object is a row in an archive: its columns that are not NULL, and its child rows as lists by the
// name of their table.
type object map[string]any

// objectsAtOnce limits the objects of one query.
const objectsAtOnce = 200

// objects yields the objects of a table, sorted by key.
func (a *archive) objects(ctx context.Context, t archiveTable) func(yield func(object, error) bool) {
	return func(yield func(object, error) bool) {
		order, err := a.ordering(ctx, t)
		if err != nil {
			yield(nil, err)
			return
		}
		following := `(` + strings.Join(order, ", ") + `) > (` + strings.TrimSuffix(strings.Repeat("?, ", len(order)), ", ") + `)`
		var from query
		for {
			rows, err := a.rows(ctx, t, from, objectsAtOnce)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, r := range rows {
				o, err := a.object(ctx, t, r)
				if !yield(o, err) || err != nil {
					return
				}
				from = sqlf(following, r.key...)
			}
			if len(rows) < objectsAtOnce {
				return
			}
		}
	}
}

// archiveRow is a row read from a table.
type archiveRow struct {
	values object
	key    []any // values of the key columns
	ref    any   // value that children refer to
}

// ordering returns the key columns as SQL expressions that compare text by its bytes.
func (a *archive) ordering(ctx context.Context, t archiveTable) ([]string, error) {
	columns, err := a.columns(ctx, t)
	if err != nil {
		return nil, err
	}
	list := slices.Clone(t.key)
	for i, name := range list {
		if at := slices.IndexFunc(columns, func(c column) bool { return c.name == name }); a.dialect.numbered && columns[at].kind == text {
			list[i] += ` COLLATE "C"`
		}
	}
	return list, nil
}

// rows reads the rows of a table that satisfy a condition, sorted by key. The zero condition
// selects all rows; a limit of 0 is no limit.
func (a *archive) rows(ctx context.Context, t archiveTable, condition query, limit int) ([]archiveRow, error) {
	columns, err := a.columns(ctx, t)
	if err != nil {
		return nil, err
	}
	order, err := a.ordering(ctx, t)
	if err != nil {
		return nil, err
	}
	selected := []string{}
	for _, c := range columns {
		selected = append(selected, c.name)
	}
	if t.id != "" {
		selected = append(selected, t.id)
	}
	q := sqlf(`SELECT ` + strings.Join(selected, ", ") + ` FROM ` + t.name)
	if condition.text != "" {
		q = q.and(`WHERE`).with(condition)
	}
	q = q.and(`ORDER BY ` + strings.Join(order, ", "))
	if limit > 0 {
		q = q.and(`LIMIT ?`, limit)
	}
	return all(ctx, a.executor, q, func(rows *sql.Rows) (r archiveRow, err error) {
		values := make([]any, len(selected))
		places := make([]any, len(selected))
		for i := range values {
			places[i] = &values[i]
		}
		if err := rows.Scan(places...); err != nil {
			return r, err
		}
		r.values = object{}
		for i, c := range columns {
			if values[i] != nil {
				r.values[c.name] = c.shown(values[i])
			}
		}
		for _, name := range t.key {
			r.key = append(r.key, values[slices.Index(selected, name)])
		}
		if r.ref = values[len(values)-1]; t.id == "" {
			r.ref = r.key[0]
		}
		return r, nil
	})
}

// shown returns the archive form of a column's value.
func (c column) shown(value any) any {
	bytes, is := value.([]byte)
	switch {
	case is && utf8.Valid(bytes):
		return string(bytes)
	case is:
		return map[string]string{"base64": base64.StdEncoding.EncodeToString(bytes)}
	}
	return value
}

// object returns an object with its child rows.
func (a *archive) object(ctx context.Context, t archiveTable, r archiveRow) (object, error) {
	o := r.values
	for _, child := range t.children {
		rows, err := a.rows(ctx, child, sqlf(child.parent+` = ?`, r.ref), 0)
		if err != nil {
			return nil, err
		}
		var list []object
		for _, row := range rows {
			inner, err := a.object(ctx, child, row)
			if err != nil {
				return nil, err
			}
			list = append(list, inner)
		}
		if len(list) > 0 {
			o[child.name] = list
		}
	}
	if t.name == "tasks" {
		rest(o)
	}
	return o, nil
}

// rest resets a queued or running task to pending, and lifts the pause of an import.
func rest(o object) {
	if o["status"] == "queued" || o["status"] == "running" {
		o["status"] = "pending"
		delete(o, "started_at")
	}
	if o["held"] == int64(heldByImport) {
		o["held"] = int64(0)
	}
}
