package storage

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pressly/goose/v3"

	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/tools/memory"
	"github.com/toolfold/toolfold/tools/task"
)

// Import has the options of importing an archive.
type Import struct {
	Kinds    []string // to import; nil = all
	Replace  bool     // replace objects of the store that are different
	DryRun   bool     // do not change the store
	Activate bool     // let tasks and schedules run, also those that earlier imports left paused

	// The history gets the value of a replaced note as a version of that time, unless the import
	// stores the value as a version itself. The zero value keeps no versions.
	History memory.History
	At      time.Time

	// Progress is called after each object of each pass, with the total of all passes. It may be
	// nil.
	Progress func(done, all int)
}

// ImportCounts counts the objects of a kind.
type ImportCounts struct {
	New       int `json:"new"`
	Equal     int `json:"equal"`     // same in the store
	Different int `json:"different"` // different in the store; replaced with [Import.Replace]

	Names     []string `json:"names,omitempty"`     // of the first different objects
	Conflicts []string `json:"conflicts,omitempty"` // for each new or different object, its unique value that belongs to another object
}

// maxNamed limits Names.
const maxNamed = 10

// Errors of imports that also return their counts.
var (
	// ErrDifferent is the error of an import without [Import.Replace] if the store has different
	// objects with the same keys.
	ErrDifferent = errors.New("the store has other objects of the same names; nothing is written")

	// ErrConflict is the error of an import with unique values that belong to objects of the store
	// outside the archive, or with tasks that run in the store.
	ErrConflict = errors.New("the archive has objects that conflict with the store; nothing is written")
)

// Import imports an archive, either all of it or nothing. It checks the archive against its
// manifest and the store's tables before it locks the store, and compares everything with the store
// before it writes. Equal objects are skipped. It returns the counts also with [ErrDifferent] and
// [ErrConflict]. A dry run only reads.
func (db *DB) Import(ctx context.Context, r io.ReadSeeker, in Import) (map[string]*ImportCounts, error) {
	u := unarchive{archive: archive{executor: db.reader()}, Import: in, file: r, counts: map[string]*ImportCounts{}}
	if err := u.check(ctx); err != nil {
		return nil, fmt.Errorf("reading the archive: %w; nothing is written", db.dialect.explain(err))
	}
	tx, err := db.importing(ctx, in.DryRun)
	if err != nil {
		return nil, fmt.Errorf("importing an archive: %w", db.dialect.explain(err))
	}
	u.executor = newExecutor(tx, db.dialect)
	if err = u.lock(ctx); err == nil {
		err = u.compare(ctx)
	}
	if err == nil && !in.DryRun {
		if err = u.write(ctx); err == nil {
			if err := tx.Commit(); err != nil {
				return nil, fmt.Errorf("importing an archive: %w", err)
			}
			return u.counts, nil
		}
	}
	if err == nil || errors.Is(err, ErrDifferent) || errors.Is(err, ErrConflict) {
		return u.counts, errors.Join(err, tx.Rollback())
	}
	return nil, errors.Join(fmt.Errorf("importing an archive: %w; nothing is written", db.dialect.explain(err)), tx.Rollback())
}

// importing begins the transaction of an import. A dry run does not block writers.
func (db *DB) importing(ctx context.Context, dry bool) (*sql.Tx, error) {
	if dry {
		return db.moment(ctx)
	}
	return db.write.BeginTx(ctx, nil)
}

// lock makes other writers of the tables wait until the import ends, so that it replaces nothing
// that it has not compared. On SQLite, its transaction does so already.
func (u *unarchive) lock(ctx context.Context) error {
	if u.DryRun || u.dialect.name != goose.DialectPostgres {
		return nil
	}
	var names []string
	var add func(archiveTable)
	add = func(t archiveTable) {
		names = append(names, t.name)
		for _, child := range t.children {
			add(child)
		}
	}
	for _, kind := range archiveKinds {
		if u.counts[kind.name] != nil && u.manifest[kind.name].Objects > 0 {
			add(kind.archiveTable)
		}
	}
	if len(names) == 0 {
		return nil
	}
	_, err := u.exec(ctx, `LOCK TABLE `+strings.Join(names, ", ")+` IN EXCLUSIVE MODE`)
	return err
}

// Activate lets all tasks and schedules run that imports left paused, and returns their number.
func (db *DB) Activate(ctx context.Context) (int, error) {
	n, err := db.writer().exec(ctx, activate, heldByImport)
	if err != nil {
		return 0, fmt.Errorf("activating tasks: %w", err)
	}
	return n, nil
}

const activate = `UPDATE tasks SET held = 0 WHERE held = ?`

// unarchive is a running import.
type unarchive struct {
	archive
	Import
	file     io.ReadSeeker
	manifest map[string]ArchivedKind
	keys     map[string]bool // of all objects in the archive, see [claim]
	counts   map[string]*ImportCounts
	removals []removal
	equal    map[int]bool // lines of objects that are equal in the store
}

// removal is an object of the store to remove.
type removal struct {
	table archiveTable
	key   []any
	value bool // a note whose value or tags differ
}

// archiveObject is an object of an archive, with its line.
type archiveObject struct {
	kind  string
	table archiveTable
	line  int
	row   object
}

// read reads the whole archive and calls begin for its header and do for each object. It checks the
// objects against the manifest at the end and returns the manifest.
func (u *unarchive) read(begin func(archiveHeader) error, do func(archiveObject) error) (map[string]ArchivedKind, error) {
	if _, err := u.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	counts := map[string]*counter{}
	for _, kind := range ArchiveKinds() {
		counts[kind] = newCounter()
	}
	lines := bufio.NewReader(u.file)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		switch {
		case err == io.EOF && n == 1:
			return nil, errors.New("the file is empty")
		case err == io.EOF:
			return nil, fmt.Errorf("it ends in line %d, before the manifest: it is not whole", n)
		case err != nil:
			return nil, err
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		if n == 1 {
			var header archiveHeader
			if json.Unmarshal(line, &header) != nil || header.Format == 0 {
				return nil, errors.New("the file is no archive of toolfold export")
			}
			if err := begin(header); err != nil {
				return nil, err
			}
			continue
		}
		var l struct {
			archiveLine
			archiveEnd
		}
		if !utf8.Valid(line) {
			return nil, fmt.Errorf("line %d is not UTF-8", n)
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if l.Manifest != nil {
			if _, err := lines.ReadByte(); err != io.EOF {
				return nil, fmt.Errorf("line %d: there is more behind the manifest", n)
			}
			return l.Manifest, checkManifest(l.Manifest, counts)
		}
		at := slices.Index(ArchiveKinds(), l.Kind)
		if at < 0 {
			return nil, fmt.Errorf("line %d: the kind %q is unknown: a newer toolfold wrote it", n, l.Kind)
		}
		counts[l.Kind].add(line)
		o := archiveObject{kind: l.Kind, table: archiveKinds[at].archiveTable, line: n}
		decoder := json.NewDecoder(bytes.NewReader(l.Object))
		decoder.UseNumber()
		err = decoder.Decode(&o.row)
		if err == nil && o.row == nil {
			err = errors.New("there is no object")
		}
		if err == nil {
			err = do(o)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", n, l.Kind, err)
		}
	}
}

// checkManifest checks the counts and digests of an archive against its manifest.
func checkManifest(manifest map[string]ArchivedKind, counts map[string]*counter) error {
	for _, kind := range ArchiveKinds() {
		want, got := manifest[kind], counts[kind].counted()
		if want.Objects != got.Objects || want.Objects > 0 && want.Digest != got.Digest {
			return fmt.Errorf("it was changed or is damaged: it has other %s (%d) than its manifest (%d)", kind, got.Objects, want.Objects)
		}
	}
	return nil
}

// readAgain reads a checked archive and calls do with each object to import, with its missing columns
// filled in. It fails if the archive has changed since the check.
func (u *unarchive) readAgain(ctx context.Context, do func(archiveObject) error) error {
	manifest, err := u.read(func(archiveHeader) error { return nil }, func(o archiveObject) error {
		if u.counts[o.kind] == nil {
			return nil
		}
		if err := u.complete(ctx, o.table, o.row); err != nil {
			return err
		}
		return do(o)
	})
	if err == nil && !maps.Equal(manifest, u.manifest) {
		return errors.New("the file was changed while it was read")
	}
	return err
}

// check reads the archive for the first time. It rejects objects to import that do not fit the
// store's tables, and those with the same key or unique values.
func (u *unarchive) check(ctx context.Context) (err error) {
	u.keys = map[string]bool{}
	claims := map[string]int{} // line by claim
	u.manifest, err = u.read(func(header archiveHeader) error {
		step, err := u.step(ctx)
		switch {
		case err != nil:
			return err
		case header.Format > archiveFormat:
			return errors.New("a newer toolfold wrote it: import it with that version")
		case header.Schema > step:
			return fmt.Errorf("a newer toolfold wrote it, with schema step %d, and this store has %d: import it with that version",
				header.Schema, step)
		}
		return nil
	}, func(o archiveObject) error {
		if !u.wants(o.kind) {
			return nil
		}
		if err := u.complete(ctx, o.table, o.row); err != nil {
			return fmt.Errorf("%s: %w: leave %s out with --only", nameOf(o.table, o.row), err, o.kind)
		}
		name, key := nameOf(o.table, o.row), claim(o.kind, o.row.values(o.table.key))
		if u.keys[key] {
			return fmt.Errorf("%s is there twice", name)
		}
		u.keys[key] = true
		if values := o.table.claim(o.row); values != nil {
			claimed := claim(o.kind, values)
			if line, taken := claims[claimed]; taken {
				return fmt.Errorf("%s has the %s of the one in line %d", name, o.table.uniqueName(), line)
			}
			claims[claimed] = o.line
		}
		return nil
	})
	if err == nil {
		err = u.lacking()
	}
	for kind := range u.manifest {
		if slices.Contains(ArchiveKinds(), kind) && u.wants(kind) {
			u.counts[kind] = &ImportCounts{}
		}
	}
	return err
}

// wants reports whether the objects of a kind are to be imported.
func (u *unarchive) wants(kind string) bool { return u.Kinds == nil || slices.Contains(u.Kinds, kind) }

// lacking returns an error if the archive was written without a kind of the import.
func (u *unarchive) lacking() error {
	var has []string
	for _, kind := range ArchiveKinds() {
		if u.manifest[kind].Objects > 0 {
			has = append(has, kind)
		}
	}
	for _, kind := range u.Kinds {
		if _, written := u.manifest[kind]; !written {
			return fmt.Errorf("it has no %s: it has %s", kind, cmp.Or(strings.Join(has, ", "), "no objects"))
		}
	}
	return nil
}

// claim returns a map key for values of objects of a kind.
func claim(kind string, values []any) string { return kind + string(ordered.MustJSON(values)) }

// uniqueName names the unique columns of a table in errors.
func (t archiveTable) uniqueName() string {
	if t.name == "tasks" {
		return "key"
	}
	return strings.Join(t.unique, ", ")
}

// values returns the values of some columns.
func (o object) values(columns []string) (list []any) {
	for _, name := range columns {
		list = append(list, o[name])
	}
	return list
}

// complete checks an object and its child rows, and adds missing values as an insert would.
func (a *archive) complete(ctx context.Context, t archiveTable, o object) error {
	columns, err := a.columns(ctx, t)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, c := range columns {
		known[c.name] = true
		given, has := o[c.name]
		switch {
		case !has && c.absent != nil:
			o[c.name] = c.absent
			if from, is := c.absent.(copyOf); is {
				o[c.name] = o[string(from)]
			}
		case !has && c.required:
			return fmt.Errorf("%s lacks %s", t.name, c.name)
		case has:
			if err := c.fits(given, t.domain(c)); err != nil {
				return err
			}
		}
	}
	for _, child := range t.children {
		known[child.name] = true
		if err := a.completeRows(ctx, child, o); err != nil {
			return err
		}
	}
	for name := range o {
		if !known[name] {
			return fmt.Errorf("%s has no %q in this store", t.name, name)
		}
	}
	return nil
}

// completeRows completes an object's child rows of one table.
func (a *archive) completeRows(ctx context.Context, t archiveTable, parent object) error {
	given, has := parent[t.name]
	if !has {
		return nil
	}
	list, is := given.([]any)
	if !is {
		return fmt.Errorf("%s is not a list of objects", t.name)
	}
	if len(list) == 0 {
		delete(parent, t.name)
	}
	keys := map[string]bool{}
	for _, inner := range list {
		row, is := inner.(map[string]any)
		if !is {
			return fmt.Errorf("%s is not a list of objects", t.name)
		}
		if err := a.complete(ctx, t, row); err != nil {
			return err
		}
		key := claim(t.name, object(row).values(t.key))
		if keys[key] || t.single && len(keys) > 0 {
			return fmt.Errorf("%s has two rows for %s", t.name, nameOf(t, row))
		}
		keys[key] = true
	}
	return nil
}

// fits returns an error if a value of an archive does not fit a column.
func (c column) fits(shown any, d domain) error {
	value, err := c.value(shown)
	if err != nil {
		return err
	}
	text, isText := value.(string)
	switch number, isNumber := value.(int64); {
	case isText && strings.ContainsRune(text, 0):
		return fmt.Errorf("%s has the character NUL", c.name)
	case d.oneOf != nil && !slices.Contains(d.oneOf, text):
		return fmt.Errorf("%s is %q: one of %s", c.name, text, strings.Join(d.oneOf, ", "))
	case isNumber && d.max == moments.max && (number < d.min || number > d.max):
		return fmt.Errorf("%s is %d, no time in the years 0 to 9999", c.name, number)
	case isNumber && d.max != 0 && (number < d.min || number > d.max):
		return fmt.Errorf("%s is %d: from %d to %d", c.name, number, d.min, d.max)
	}
	if d.like == nil {
		return nil
	}
	bytes, _ := value.([]byte)
	if err := json.Unmarshal(bytes, reflect.New(reflect.TypeOf(d.like)).Interface()); err != nil {
		return fmt.Errorf("%s is not the JSON that it should be: %w", c.name, err)
	}
	return nil
}

// passes is the number of passes over the objects after the check.
func (u *unarchive) passes() int {
	if u.DryRun {
		return 1
	}
	return 2
}

// progress returns a function to call after each object of a pass; the first pass is 0.
func (u *unarchive) progress(pass int) func() {
	objects := 0
	for kind := range u.counts {
		objects += u.manifest[kind].Objects
	}
	done := pass * objects
	return func() {
		if done++; u.Progress != nil {
			u.Progress(done, u.passes()*objects)
		}
	}
}

// compare compares the archive with the store. It does not write.
func (u *unarchive) compare(ctx context.Context) error {
	u.equal = map[int]bool{}
	done := u.progress(0)
	err := u.readAgain(ctx, func(o archiveObject) error {
		defer done()
		return u.compareObject(ctx, o)
	})
	if err != nil {
		return err
	}
	for _, k := range u.counts {
		if len(k.Conflicts) > 0 {
			return ErrConflict
		}
	}
	if len(u.removals) > 0 && !u.Replace {
		return ErrDifferent
	}
	return nil
}

func (u *unarchive) compareObject(ctx context.Context, o archiveObject) error {
	counts := u.counts[o.kind]
	key, err := u.key(ctx, o.table, o.row)
	if err != nil {
		return err
	}
	rows, err := u.rows(ctx, o.table, keyed(o.table, key), 1)
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		runs := o.table.name == "tasks" && rows[0].values["status"] == task.Running // object changes the state
		there, err := u.archive.object(ctx, o.table, rows[0])
		if err != nil {
			return err
		}
		if same(o.table, there, o.row) {
			counts.Equal++
			u.equal[o.line] = true
			return nil
		}
		if runs { // its worker would go on with the replaced task
			counts.Conflicts = append(counts.Conflicts, nameOf(o.table, o.row)+": it is running in the store: cancel it or wait for its end")
		}
		if counts.Different++; len(counts.Names) < maxNamed {
			counts.Names = append(counts.Names, nameOf(o.table, o.row))
		}
		value := o.table.name == "memory" && !bytes.Equal(ordered.MustJSON(there.values(noteValue)), ordered.MustJSON(o.row.values(noteValue)))
		u.removals = append(u.removals, removal{o.table, key, value})
	} else {
		counts.New++
	}
	other, err := u.holder(ctx, o)
	if err == nil && other != "" {
		counts.Conflicts = append(counts.Conflicts, fmt.Sprintf("%s: its %s %s belongs to %s in the store",
			nameOf(o.table, o.row), o.table.uniqueName(), ordered.MustJSON(o.row[o.table.unique[len(o.table.unique)-1]]), other))
	}
	return err
}

// noteValue are the columns of a note that make a version of it, see [memory.Entry.Same].
var noteValue = []string{"value", "tags"}

// same reports whether an object is equal in the store and in the archive. The creation times of
// the server's own queues are ignored.
func same(t archiveTable, there, archived object) bool {
	if id := archived["id"]; t.name == "queues" && (id == task.DefaultQueue || id == task.CallsQueue) {
		there, archived = maps.Clone(there), maps.Clone(archived)
		delete(there, "created_at")
		delete(archived, "created_at")
	}
	return bytes.Equal(ordered.MustJSON(there), ordered.MustJSON(archived))
}

// holder returns the name of an object of the store that has the claim of o and is not in the
// archive, or an empty string.
func (u *unarchive) holder(ctx context.Context, o archiveObject) (string, error) {
	if o.table.claim(o.row) == nil {
		return "", nil
	}
	values, err := u.databaseValues(ctx, o.table, o.table.unique, o.row)
	if err != nil {
		return "", err
	}
	claimed := sqlf(strings.Join(o.table.unique, ` = ? AND `)+` = ?`, values...)
	if o.table.name == "tasks" {
		claimed = claimed.and(`AND ` + openTasks)
	}
	rows, err := u.rows(ctx, o.table, claimed, 0)
	for _, row := range rows {
		if !u.keys[claim(o.kind, row.values.values(o.table.key))] {
			return nameOf(o.table, row.values), nil
		}
	}
	return "", err
}

// keyed returns the condition for the row with a key.
func keyed(t archiveTable, key []any) query {
	return sqlf(strings.Join(t.key, ` = ? AND `)+` = ?`, key...)
}

// write writes the objects that compare found new or different.
func (u *unarchive) write(ctx context.Context) error {
	before, err := scalar[int64](ctx, u.executor, sqlf(`SELECT coalesce(max(id), 0) FROM memory_versions`))
	if err != nil {
		return err
	}
	for _, r := range u.removals {
		if r.value && u.History.On() {
			q := copyVersions(`-revision`, sqlf(`WHERE`).with(keyed(r.table, r.key)).and(`AND (expires_at IS NULL OR expires_at > ?)`,
				u.At.UnixMicro()), u.At)
			if _, err := u.exec(ctx, q.text, q.args...); err != nil {
				return err
			}
		}
		if err := u.remove(ctx, r.table, keyed(r.table, r.key)); err != nil {
			return err
		}
	}
	done := u.progress(1)
	err = u.readAgain(ctx, func(o archiveObject) error {
		defer done()
		if u.equal[o.line] {
			return nil
		}
		if err := u.insert(ctx, o.table, nil, o.row); err != nil {
			return fmt.Errorf("%s: %w", nameOf(o.table, o.row), err)
		}
		return nil
	})
	if err == nil {
		_, err = u.exec(ctx, dropTwice, before)
	}
	for _, statement := range []string{numberVersions, afterVersions} {
		if err == nil {
			_, err = u.exec(ctx, statement)
		}
	}
	if err == nil && u.Activate {
		_, err = u.exec(ctx, activate, heldByImport)
	}
	return err
}

// The versions of replaced notes have negative numbers until the versions of the archive are there.
const (
	// dropTwice removes those whose value this import stored as a version: those with a higher id than before.
	dropTwice = `DELETE FROM memory_versions WHERE version < 0 AND EXISTS (SELECT 1 FROM memory_versions AS v
		WHERE v.version > 0 AND v.id > ? AND ` + samePlace + `
			AND v.value = memory_versions.value AND v.tags IS NOT DISTINCT FROM memory_versions.tags)`

	// numberVersions gives the others their own number, or the next one if that is taken.
	numberVersions = `UPDATE memory_versions SET version = (SELECT CASE WHEN -memory_versions.version > coalesce(max(v.version), 0)
			THEN -memory_versions.version ELSE max(v.version) + 1 END
		FROM memory_versions AS v WHERE v.version > 0 AND ` + samePlace + `) WHERE version < 0`

	samePlace = `v.namespace = memory_versions.namespace AND v.key = memory_versions.key AND v.workspace = memory_versions.workspace`
)

// afterVersions gives notes numbers after those of their earlier versions, if the store and the
// archive had different histories of a note.
const afterVersions = `UPDATE memory SET revision = 1 + last FROM (SELECT namespace, key, workspace, max(version) AS last
		FROM memory_versions GROUP BY namespace, key, workspace) AS v
	WHERE v.namespace = memory.namespace AND v.key = memory.key AND v.workspace = memory.workspace AND v.last >= memory.revision`

// nameOf returns the key of an object as its name in messages.
func nameOf(t archiveTable, o object) string {
	var names []string
	for _, column := range t.key {
		names = append(names, fmt.Sprint(o[column]))
	}
	return strings.Join(names, "/")
}

// key returns the database values of an object's key.
func (u *unarchive) key(ctx context.Context, t archiveTable, o object) ([]any, error) {
	return u.databaseValues(ctx, t, t.key, o)
}

// databaseValues returns the database values of some columns.
func (u *unarchive) databaseValues(ctx context.Context, t archiveTable, names []string, o object) (values []any, err error) {
	columns, err := u.columns(ctx, t)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		at := slices.IndexFunc(columns, func(c column) bool { return c.name == name })
		value, err := columns[at].value(o[name])
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}

// remove deletes rows and their child rows.
func (u *unarchive) remove(ctx context.Context, t archiveTable, condition query) error {
	ref := t.id
	if ref == "" {
		ref = t.key[0]
	}
	for _, child := range t.children {
		below := sqlf(child.parent+` IN (SELECT `+ref+` FROM `+t.name+` WHERE `+condition.text+`)`, condition.args...)
		if err := u.remove(ctx, child, below); err != nil {
			return err
		}
	}
	if t.name == "memory" {
		outdated := sqlf(`DELETE FROM memory_outdated WHERE id IN (SELECT id FROM memory WHERE`).with(condition).and(`)`)
		if _, err := u.exec(ctx, outdated.text, outdated.args...); err != nil {
			return err
		}
	}
	_, err := u.exec(ctx, `DELETE FROM `+t.name+` WHERE `+condition.text, condition.args...)
	return err
}

// insert inserts a complete object and its child rows. Parent is the value that refers to its
// parent; nil = no parent.
func (u *unarchive) insert(ctx context.Context, t archiveTable, parent any, o object) error {
	columns, err := u.columns(ctx, t)
	if err != nil {
		return err
	}
	var names, marks []string
	var values []any
	put := func(name string, value any) {
		names, marks, values = append(names, name), append(marks, "?"), append(values, value)
	}
	if parent != nil {
		put(t.parent, parent)
	}
	for _, c := range columns {
		given, has := o[c.name]
		if !has {
			continue
		}
		value, err := c.value(given)
		if err != nil {
			return err
		}
		if t.name == "tasks" && c.name == "held" && o["status"] == "pending" && value == int64(0) && !u.Activate {
			value = int64(heldByImport)
		}
		put(c.name, value)
	}
	if t.name == "memory" {
		put("words", "") // the first search fills them in
	}
	text := `INSERT INTO ` + t.name + ` (` + strings.Join(names, ", ") + `) VALUES (` + strings.Join(marks, ", ") + `)`
	var ref any
	if t.id != "" {
		id, err := scalar[int64](ctx, u.executor, sqlf(text+` RETURNING `+t.id, values...))
		if err != nil {
			return err
		}
		ref = id
	} else {
		if _, err := u.exec(ctx, text, values...); err != nil {
			return err
		}
		if len(t.children) > 0 {
			key, err := u.key(ctx, t, o)
			if err != nil {
				return err
			}
			ref = key[0]
		}
	}
	if t.name == "memory" { // SQLite reuses ids, so a row may still exist
		if _, err := u.exec(ctx, `INSERT INTO memory_outdated (id) VALUES (?) ON CONFLICT DO NOTHING`, ref); err != nil {
			return err
		}
	}
	for _, child := range t.children {
		list, _ := o[child.name].([]any)
		for _, inner := range list {
			if err := u.insert(ctx, child, ref, inner.(map[string]any)); err != nil {
				return err
			}
		}
	}
	return nil
}

// value returns the database form of an archive's value.
func (c column) value(shown any) (any, error) {
	wrong := fmt.Errorf("%s has the unfit value %v", c.name, shown)
	switch v := shown.(type) {
	case json.Number:
		if f, err := v.Float64(); c.kind == float && err == nil {
			return f, nil
		}
		if n, err := v.Int64(); c.kind == integer && err == nil {
			return n, nil
		}
	case int64: // a default
		if c.kind == integer {
			return v, nil
		}
	case string:
		if c.kind == text {
			return v, nil
		}
		if c.kind == blob {
			return []byte(v), nil
		}
	case map[string]any:
		if encoded, is := v["base64"].(string); is && c.kind == blob && len(v) == 1 {
			if raw, err := base64.StdEncoding.DecodeString(encoded); err == nil {
				return raw, nil
			}
		}
	}
	return nil, wrong
}
