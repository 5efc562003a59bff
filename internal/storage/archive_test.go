package storage

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/pressly/goose/v3"

	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/tools/memory"
)

// archiveStore opens an empty store in a database.
func archiveStore(t *testing.T, name goose.Dialect) *DB {
	t.Helper()
	at := (&url.URL{Scheme: "sqlite", Path: "/" + strings.TrimPrefix(filepath.ToSlash(filepath.Join(t.TempDir(), "a.db")), "/")}).String()
	if name == goose.DialectPostgres {
		at = emptyPostgres(t)
	}
	db, err := Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// Every table of a store is in an archive, or there is a reason why it is not.
func TestArchiveHasEveryTable(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		db := archiveStore(t, name)
		q := `SELECT name FROM sqlite_master WHERE type = 'table'`
		if name == goose.DialectPostgres {
			q = `SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()`
		}
		tables, err := all(t.Context(), db.reader(), sqlf(q), only[string])
		if err != nil {
			t.Fatal(err)
		}
		archived := map[string]bool{}
		var add func(a archiveTable)
		add = func(a archiveTable) {
			archived[a.name] = true
			for _, child := range a.children {
				add(child)
			}
		}
		for _, k := range archiveKinds {
			add(k.archiveTable)
		}
		for _, table := range tables {
			own := strings.HasPrefix(table, "river_") || strings.HasPrefix(table, "sqlite_") || strings.HasPrefix(table, "memory_index") ||
				table == schemaTable
			if !own && !archived[table] && unarchived[table] == "" {
				t.Errorf("archives leave out the table %s without a reason", table)
			}
			if archived[table] && unarchived[table] != "" {
				t.Errorf("the table %s is in archives, and is not", table)
			}
			delete(archived, table)
		}
		if len(archived) > 0 {
			t.Errorf("the store has no tables %v", slices.Sorted(maps.Keys(archived)))
		}
	})
}

// fillRandom inserts objects of some kinds, or of every kind, with random values.
func fillRandom(t *testing.T, db *DB, r *rand.Rand, objects int, kinds ...string) {
	t.Helper()
	err := db.transact(t.Context(), func(e executor) error {
		u := unarchive{archive: archive{executor: e}, Import: Import{Activate: true}}
		for _, kind := range archiveKinds {
			if len(kinds) > 0 && !slices.Contains(kinds, kind.name) {
				continue
			}
			for range objects {
				o, err := randomObject(t.Context(), &u.archive, kind.archiveTable, r)
				if err == nil {
					err = u.insert(t.Context(), kind.archiveTable, nil, o)
				}
				if err != nil {
					return fmt.Errorf("%s: %w", kind.name, err)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// randomObject returns an object with all columns and up to three rows in each table below it.
func randomObject(ctx context.Context, a *archive, table archiveTable, r *rand.Rand) (object, error) {
	columns, err := a.columns(ctx, table)
	if err != nil {
		return nil, err
	}
	o := object{}
	for _, c := range columns {
		switch {
		case table.name == "tasks" && c.name == "status":
			o[c.name] = []string{"pending", "queued", "running", "completed", "failed"}[r.IntN(5)]
		case c.name == "held":
			o[c.name] = jsonNumber(r.Int64N(2))
		case c.kind == integer:
			o[c.name] = jsonNumber(r.Int64N(1 << 31))
		case c.kind == float:
			o[c.name] = jsonNumber([]float64{0, 1.5, -2, 1e21, 1e-7, r.NormFloat64()}[r.IntN(6)])
		case c.kind == text:
			o[c.name] = uuid.Must(uuid.NewRandomFromReader(source{r})).String()
		default:
			random := uuid.Must(uuid.NewRandomFromReader(source{r}))
			o[c.name] = map[string]any{"base64": base64.StdEncoding.EncodeToString(append(random[:], 0xff))}
			if r.IntN(3) > 0 {
				o[c.name] = strings.ToValidUTF8(string(random[:]), "é<&>\x00\u2028")
			}
		}
	}
	for _, child := range table.children {
		var list []any
		for range r.IntN(4) {
			inner, err := randomObject(ctx, a, child, r)
			if err != nil {
				return nil, err
			}
			list = append(list, map[string]any(inner))
			if child.name == "task_progress" {
				break
			}
		}
		o[child.name] = list
	}
	return o, nil
}

// exported returns an archive of a store.
func exported(t *testing.T, db *DB) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := db.Export(t.Context(), &b, nil, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// source reads random bytes.
type source struct{ *rand.Rand }

// Read implements [io.Reader].
func (s source) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(s.Uint32())
	}
	return len(p), nil
}

func jsonNumber[T int64 | float64](n T) json.Number { return json.Number(ordered.MustJSON(n)) }

// imports imports an archive into a store, and returns the sum of what it found.
func imports(t *testing.T, db *DB, archive []byte, in Import) (sum Imported, err error) {
	t.Helper()
	found, err := db.Import(t.Context(), bytes.NewReader(archive), in)
	for _, k := range found {
		sum.New += k.New
		sum.Equal += k.Equal
		sum.Different += k.Different
	}
	return sum, err
}

// archiveTargets runs a test for the store of each database.
func archiveTargets(t *testing.T, test func(t *testing.T, name goose.Dialect)) {
	t.Parallel()
	for _, name := range []goose.Dialect{goose.DialectSQLite3, goose.DialectPostgres} {
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			test(t, name)
		})
	}
}

// An archive goes from SQLite to each database and back, byte for byte; again it changes nothing.
func TestArchiveGoesRound(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		first := archiveStore(t, goose.DialectSQLite3)
		random := rand.New(rand.NewPCG(7, 0))
		fillRandom(t, first, random, 8)
		for range 3 {
			fillRandom(t, first, random, objectsAtOnce/3+1, "notes", "metrics", "traces") // more than are read in one query
		}
		archive := exported(t, first)
		db := archiveStore(t, name)
		empty := exported(t, db)
		dry, err := imports(t, db, archive, Import{DryRun: true, Replace: true})
		if err != nil {
			t.Fatal(err)
		}
		if now := exported(t, db); !bytes.Equal(now, empty) {
			t.Error("a dry run wrote")
		}
		sum, err := imports(t, db, archive, Import{Replace: true})
		if err != nil || sum.New != dry.New || sum.New < 3*objectsAtOnce {
			t.Fatalf("imported %+v, a dry run finds %+v: %v", sum, dry, err)
		}
		back := archiveStore(t, goose.DialectSQLite3)
		if _, err := imports(t, back, exported(t, db), Import{Replace: true}); err != nil {
			t.Fatal(err)
		}
		for _, copied := range []*DB{db, back} {
			if sum, err := imports(t, copied, archive, Import{}); err != nil || sum.Equal < 3*objectsAtOnce || sum.New+sum.Different > 0 {
				t.Errorf("a second import found %+v: %v", sum, err)
			}
			if again := exported(t, copied); !bytes.Equal(again, archive) {
				t.Fatalf("the archive of the copy is different:\n%s",
					cmp.Diff(strings.Split(string(archive), "\n"), strings.Split(string(again), "\n")))
			}
		}
	})
}

// Tasks that are imported wait until they are activated; schedules that their user paused stay paused.
func TestImportPausesTasks(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		db, other := archiveStore(t, name), archiveStore(t, name)
		fillRandom(t, db, rand.New(rand.NewPCG(3, 0)), 40)
		held := func(db *DB) map[int64]int {
			t.Helper()
			list, err := all(t.Context(), db.reader(), sqlf(`SELECT held FROM tasks WHERE status NOT IN ('completed', 'failed')`), only[int64])
			if err != nil {
				t.Fatal(err)
			}
			counts := map[int64]int{}
			for _, n := range list {
				counts[n]++
			}
			return counts
		}
		before := held(db)
		if _, err := imports(t, other, exported(t, db), Import{Kinds: []string{"tasks"}}); err != nil {
			t.Fatal(err)
		}
		if got, want := held(other), map[int64]int{heldByImport: before[0], heldByUser: before[heldByUser]}; !maps.Equal(got, want) {
			t.Errorf("held after the import %v, want %v", got, want)
		}
		if n, err := other.Activate(t.Context()); err != nil || n != before[0] {
			t.Errorf("activated %d tasks: %v", n, err)
		}
		if got := held(other); !maps.Equal(got, before) {
			t.Errorf("held after activation %v, want %v", got, before)
		}
	})
}

// A store with a different object of the same name stays as it is, and the object is named, unless it is to be replaced.
func TestImportNamesDifferent(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		db := archiveStore(t, name)
		fillRandom(t, db, rand.New(rand.NewPCG(5, 0)), 3)
		archive := exported(t, db)
		for _, statement := range []string{
			`DELETE FROM metric_points`, `UPDATE designs SET type = 'other'`, `DELETE FROM session_notes`, `DELETE FROM agents`,
		} {
			if _, err := db.writer().exec(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		before := exported(t, db)
		found, err := db.Import(t.Context(), bytes.NewReader(archive), Import{})
		if !errors.Is(err, ErrDifferent) || found["designs"].Different != 3 || len(found["designs"].Names) != 3 || found["agents"].New != 3 {
			t.Errorf("%v: %+v", err, found["designs"])
		}
		if now := exported(t, db); !bytes.Equal(now, before) {
			t.Error("a refused import wrote")
		}
		if _, err := db.Import(t.Context(), bytes.NewReader(archive), Import{Replace: true}); err != nil {
			t.Fatal(err)
		}
		if now := exported(t, db); !bytes.Equal(now, archive) {
			t.Errorf("the store is not as it was:\n%s", cmp.Diff(string(archive), string(now)))
		}
	})
}

// An archive that is cut, changed or of a newer version is refused before anything is written.
func TestImportRefusesDamage(t *testing.T) {
	t.Parallel()
	db := archiveStore(t, goose.DialectSQLite3)
	fillRandom(t, db, rand.New(rand.NewPCG(9, 0)), 2)
	whole := string(exported(t, db))
	lines := strings.SplitAfter(whole, "\n")
	for want, damaged := range map[string]string{
		"the file is empty":                  "",
		"the file is no archive":             "{}\n",
		"a newer toolfold wrote it: import":  `{"toolfoldArchive":2,"schema":1}` + "\n",
		"with schema step 9999":              `{"toolfoldArchive":1,"schema":9999}` + "\n" + strings.Join(lines[1:], ""),
		"it ends in line":                    whole[:len(whole)*2/3],
		"other notes (1) than its manifest":  strings.Join(slices.Delete(slices.Clone(lines), 1, 2), ""),
		"other notes (2) than its manifest":  strings.Replace(whole, `"stored_at":`, `"stored_at":1`, 1),
		`the kind "future" is unknown`:       strings.Replace(whole, `{"kind":"notes"`, `{"kind":"future"`, 1),
		"there is more behind the manifest":  whole + "\n",
		"it ends in line 2, before the mani": lines[0],
	} {
		target := archiveStore(t, goose.DialectSQLite3)
		before := exported(t, target)
		_, err := target.Import(t.Context(), strings.NewReader(damaged), Import{Replace: true})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "nothing is written") {
			t.Errorf("want %q, got %v", want, err)
		}
		if now := exported(t, target); !bytes.Equal(now, before) {
			t.Errorf("%s: it wrote", want)
		}
	}
}

// A note that an import replaces is there once, and the words of every imported note are to be made once, also if an
// earlier import wrote the note and nothing was searched since.
func TestImportReplacesNotesAgain(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		db, from := archiveStore(t, name), archiveStore(t, goose.DialectSQLite3)
		for i, value := range []string{`"one"`, `"two"`, `"three"`} {
			e := memory.Entry{Namespace: "n", Key: "a", Workspace: "w", StoredAt: time.UnixMicro(int64(i + 1)), Value: json.RawMessage(value)}
			if _, err := from.Memory().Put(t.Context(), e, nil); err != nil {
				t.Fatal(err)
			}
			found, err := db.Import(t.Context(), bytes.NewReader(exported(t, from)), Import{Kinds: []string{"notes"}, Replace: true})
			if want := min(i, 1); err != nil || found["notes"].Different != want {
				t.Fatalf("import %d replaced %+v, want %d: %v", i+1, found["notes"], want, err)
			}
		}
		ids := map[string][]int64{}
		for of, q := range map[string]string{"notes": `SELECT id FROM memory ORDER BY id`, "outdated": `SELECT id FROM memory_outdated ORDER BY id`} {
			list, err := all(t.Context(), db.reader(), sqlf(q), only[int64])
			if err != nil {
				t.Fatal(err)
			}
			ids[of] = list
		}
		if !slices.Equal(ids["notes"], ids["outdated"]) || len(ids["notes"]) != 1 {
			t.Errorf("the ids are %v", ids)
		}
		if _, err := db.Memory().Reindex(t.Context(), 10, memory.IndexText); err != nil {
			t.Fatal(err)
		}
		hits, err := db.Memory().Matching(t.Context(), memory.Scope{}, memory.Match{{{Text: "three"}}}, 10)
		if err != nil || len(hits) != 1 {
			t.Errorf("found %v by the last value: %v", hits, err)
		}
		old, err := db.Memory().Matching(t.Context(), memory.Scope{}, memory.Match{{{Text: "two"}}}, 10)
		if err != nil || len(old) > 0 {
			t.Errorf("found %v by a value that was replaced: %v", old, err)
		}
		entries, err := db.Memory().Entries(t.Context(), memory.Scope{}, memory.Page{})
		if err != nil || len(entries) != 1 || string(entries[0].Value) != `"three"` {
			t.Errorf("the notes are %v: %v", entries, err)
		}
	})
}
