package storage

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Import describes what an import of an archive does.
type Import struct {
	Kinds    []string // to import; nil = all
	Replace  bool     // objects of the store that are different
	DryRun   bool     // changes nothing
	Activate bool     // lets tasks and schedules run, also those that earlier imports left paused

	// Progress is called after each object, with the number of objects in the archive; nil does nothing.
	Progress func(done, all int)
}

// Imported counts the objects of a kind.
type Imported struct {
	New       int `json:"new"`
	Equal     int `json:"equal"`     // in the store
	Different int `json:"different"` // in the store; replaced with [Import.Replace]

	Names []string `json:"names,omitempty"` // the first different ones
}

// maxNamed bounds the different objects of a kind that an import names.
const maxNamed = 10

// ErrDifferent is the error of an import that finds other objects of the same names in the store.
var ErrDifferent = errors.New("the store has other objects of the same names; nothing is written")

// Import imports an archive: all of it or nothing. It checks counts and digests of the whole archive before it writes.
// Equal objects are skipped. If the store has a different object of a name, Import returns what it found with
// [ErrDifferent], unless it is to replace such objects.
func (db *DB) Import(ctx context.Context, r io.ReadSeeker, in Import) (map[string]*Imported, error) {
	header, manifest, err := checkArchive(r)
	if err != nil {
		return nil, fmt.Errorf("reading the archive: %w; nothing is written", err)
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading the archive: %w", err)
	}
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("importing an archive: %w", err)
	}
	u := unarchive{archive: archive{executor: newExecutor(tx, db.dialect)}, Import: in, found: map[string]*Imported{}}
	err = u.run(ctx, r, header, manifest)
	if err == nil && !in.DryRun {
		if err := tx.Commit(); err != nil {
			return nil, fmt.Errorf("importing an archive: %w", err)
		}
		return u.found, nil
	}
	if err == nil || errors.Is(err, ErrDifferent) {
		return u.found, errors.Join(err, tx.Rollback())
	}
	return nil, errors.Join(fmt.Errorf("importing an archive: %w; nothing is written", db.dialect.explain(err)), tx.Rollback())
}

// Activate lets tasks and schedules run that imports left paused, and returns how many.
func (db *DB) Activate(ctx context.Context) (int, error) {
	n, err := db.writer().exec(ctx, activate, heldByImport)
	if err != nil {
		return 0, fmt.Errorf("activating tasks: %w", err)
	}
	return n, nil
}

const activate = `UPDATE tasks SET held = 0 WHERE held = ?`

// readArchive calls do for the line of each object, and returns the first and the last line.
func readArchive(r io.Reader, do func(line []byte, l archiveLine) error) (header archiveHeader, end archiveEnd, err error) {
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		switch {
		case err == io.EOF && n == 1:
			return header, end, errors.New("the file is empty")
		case err == io.EOF:
			return header, end, fmt.Errorf("it ends in line %d, before the manifest: it is not whole", n)
		case err != nil:
			return header, end, err
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		if n == 1 {
			if json.Unmarshal(line, &header) != nil || header.Format == 0 {
				return header, end, errors.New("the file is no archive of toolfold export")
			}
			if header.Format > archiveFormat {
				return header, end, errors.New("a newer toolfold wrote it: import it with that version")
			}
			continue
		}
		var l struct {
			archiveLine
			archiveEnd
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return header, end, fmt.Errorf("line %d: %w", n, err)
		}
		if l.Manifest != nil {
			if _, err := lines.ReadByte(); err != io.EOF {
				return header, end, fmt.Errorf("line %d: there is more behind the manifest", n)
			}
			return header, l.archiveEnd, nil
		}
		if err := do(line, l.archiveLine); err != nil {
			return header, end, fmt.Errorf("line %d: %w", n, err)
		}
	}
}

// checkArchive reads a whole archive and holds its objects against its manifest.
func checkArchive(r io.Reader) (archiveHeader, map[string]ArchivedKind, error) {
	counts := map[string]*counter{}
	for _, kind := range ArchiveKinds() {
		counts[kind] = newCounter()
	}
	header, end, err := readArchive(r, func(line []byte, l archiveLine) error {
		if counts[l.Kind] == nil {
			return fmt.Errorf("the kind %q is unknown: a newer toolfold wrote it", l.Kind)
		}
		counts[l.Kind].add(line)
		return nil
	})
	if err != nil {
		return header, nil, err
	}
	for _, kind := range ArchiveKinds() {
		want, got := end.Manifest[kind], counts[kind].counted()
		if want.Objects != got.Objects || want.Objects > 0 && want.Digest != got.Digest {
			return header, nil, fmt.Errorf("it was changed or is damaged: it has other %s (%d) than its manifest (%d)",
				kind, got.Objects, want.Objects)
		}
	}
	return header, end.Manifest, nil
}

// unarchive is an import that runs.
type unarchive struct {
	archive
	Import
	found map[string]*Imported
}

func (u *unarchive) run(ctx context.Context, r io.Reader, header archiveHeader, manifest map[string]ArchivedKind) error {
	step, err := u.step(ctx)
	if err != nil {
		return err
	}
	if header.Schema > step {
		return fmt.Errorf("a newer toolfold wrote it, with schema step %d, and this store has %d: import it with that version",
			header.Schema, step)
	}
	objects := 0
	for kind, k := range manifest {
		if u.Kinds == nil || slices.Contains(u.Kinds, kind) {
			u.found[kind], objects = &Imported{}, objects+k.Objects
		}
	}
	done := 0
	_, _, err = readArchive(r, func(_ []byte, l archiveLine) error {
		if u.found[l.Kind] == nil {
			return nil
		}
		if err := u.object(ctx, archiveKinds[slices.Index(ArchiveKinds(), l.Kind)].archiveTable, l, u.found[l.Kind]); err != nil {
			return fmt.Errorf("%s: %w", l.Kind, err)
		}
		if done++; u.Progress != nil {
			u.Progress(done, objects)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, k := range u.found {
		if k.Different > 0 && !u.Replace {
			return ErrDifferent
		}
	}
	if u.Activate {
		_, err = u.exec(ctx, activate, heldByImport)
	}
	return err
}

// object imports an object, unless the store has it.
func (u *unarchive) object(ctx context.Context, t archiveTable, l archiveLine, counts *Imported) error {
	var o object
	decoder := json.NewDecoder(bytes.NewReader(l.Object))
	decoder.UseNumber()
	if err := decoder.Decode(&o); err != nil {
		return err
	}
	key, err := u.key(ctx, t, o)
	if err != nil {
		return err
	}
	condition := sqlf(`WHERE `+strings.Join(t.key, ` = ? AND `)+` = ?`, key...)
	rows, err := u.rows(ctx, t, nil, condition)
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		there, err := u.archive.object(ctx, t, rows[0])
		if err != nil {
			return err
		}
		if bytes.Equal(ordered.MustJSON(there), l.Object) {
			counts.Equal++
			return nil
		}
		if counts.Different++; len(counts.Names) < maxNamed {
			counts.Names = append(counts.Names, nameOf(t, o))
		}
		if !u.Replace {
			return nil
		}
		if err := u.remove(ctx, t, condition); err != nil {
			return err
		}
	} else {
		counts.New++
	}
	if err := u.insert(ctx, t, nil, o); err != nil {
		return fmt.Errorf("%s: %w", nameOf(t, o), err)
	}
	return nil
}

// nameOf names an object by its key.
func nameOf(t archiveTable, o object) string {
	var names []string
	for _, column := range t.key {
		names = append(names, fmt.Sprint(o[column]))
	}
	return strings.Join(names, "/")
}

// key returns the values of an object's key as the database takes them.
func (u *unarchive) key(ctx context.Context, t archiveTable, o object) (key []any, err error) {
	columns, err := u.columns(ctx, t)
	if err != nil {
		return nil, err
	}
	for _, name := range t.key {
		at := slices.IndexFunc(columns, func(c column) bool { return c.name == name })
		value, err := columns[at].value(o[name])
		if err != nil {
			return nil, err
		}
		key = append(key, value)
	}
	return key, nil
}

// remove deletes rows with the rows of tables below them.
func (u *unarchive) remove(ctx context.Context, t archiveTable, condition query) error {
	ref := t.id
	if ref == "" {
		ref = t.key[0]
	}
	for _, child := range t.children {
		below := sqlf(`WHERE `+child.parent+` IN (SELECT `+ref+` FROM `+t.name+` `+condition.text+`)`, condition.args...)
		if err := u.remove(ctx, child, below); err != nil {
			return err
		}
	}
	if t.name == "memory" {
		outdated := sqlf(`DELETE FROM memory_outdated WHERE id IN (SELECT id FROM memory`).with(condition).and(`)`)
		if _, err := u.exec(ctx, outdated.text, outdated.args...); err != nil {
			return err
		}
	}
	_, err := u.exec(ctx, `DELETE FROM `+t.name+` `+condition.text, condition.args...)
	return err
}

// insert inserts an object with the rows of tables below it. Parent is the value by which it refers to its parent; nil =
// it has none.
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
	left := maps.Clone(o)
	for _, c := range columns {
		given, has := o[c.name]
		if !has {
			continue
		}
		delete(left, c.name)
		value, err := c.value(given)
		if err != nil {
			return err
		}
		if t.name == "tasks" && c.name == "held" && o["status"] == "pending" && value == int64(0) && !u.Activate {
			value = heldByImport
		}
		put(c.name, value)
	}
	if t.name == "memory" {
		put("words", "") // the first search makes them
	}
	for _, child := range t.children {
		delete(left, child.name)
	}
	for name := range left {
		return fmt.Errorf("%s has no %q in this store", t.name, name)
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
	if t.name == "memory" { // SQLite gives an id again, of which there may still be a row
		if _, err := u.exec(ctx, `INSERT INTO memory_outdated (id) VALUES (?) ON CONFLICT DO NOTHING`, ref); err != nil {
			return err
		}
	}
	for _, child := range t.children {
		list, _ := o[child.name].([]any)
		for _, inner := range list {
			row, is := inner.(map[string]any)
			if !is {
				return fmt.Errorf("%s is not a list of objects", child.name)
			}
			if err := u.insert(ctx, child, ref, row); err != nil {
				return err
			}
		}
	}
	return nil
}

// value returns a value of an archive as the database takes it.
func (c column) value(shown any) (any, error) {
	wrong := fmt.Errorf("%s has the unfit value %v", c.name, shown)
	switch v := shown.(type) {
	case json.Number:
		if c.kind == float {
			return v.Float64()
		}
		if c.kind == integer {
			return v.Int64()
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
			return base64.StdEncoding.DecodeString(encoded)
		}
	}
	return nil, wrong
}
