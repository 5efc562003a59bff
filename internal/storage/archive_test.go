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
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/pressly/goose/v3"

	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/tools/memory"
	"github.com/toolfold/toolfold/tools/session"
	"github.com/toolfold/toolfold/tools/task"
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
		d := table.domain(c)
		switch {
		case d.oneOf != nil:
			o[c.name] = d.oneOf[r.IntN(len(d.oneOf))]
		case c.name == "labels":
			o[c.name] = fmt.Sprintf(`{"a":"%d"}`, r.Int64())
		case d.like != nil:
			o[c.name] = string(ordered.MustJSON(reflect.Zero(reflect.TypeOf(d.like)).Interface()))
		case c.name == "held":
			o[c.name] = jsonNumber(r.Int64N(2))
		case c.kind == integer && d.max > 0 && d.max < 1<<31:
			o[c.name] = jsonNumber(d.min + r.Int64N(d.max-d.min+1))
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

// edited returns an archive whose objects were changed, with a manifest that fits.
func edited(t *testing.T, archive []byte, edit func(kind string, o map[string]any) (keep bool)) []byte {
	t.Helper()
	lines := bytes.Split(bytes.TrimSuffix(archive, []byte("\n")), []byte("\n"))
	out := [][]byte{lines[0]}
	counts := map[string]*counter{}
	for _, line := range lines[1 : len(lines)-1] {
		var l struct {
			Kind   string         `json:"kind"`
			Object map[string]any `json:"object"`
		}
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.UseNumber()
		if err := decoder.Decode(&l); err != nil {
			t.Fatal(err)
		}
		if !edit(l.Kind, l.Object) {
			continue
		}
		line = ordered.MustJSON(archiveLine{l.Kind, ordered.MustJSON(l.Object)})
		if counts[l.Kind] == nil {
			counts[l.Kind] = newCounter()
		}
		counts[l.Kind].add(line)
		out = append(out, line)
	}
	manifest := map[string]ArchivedKind{}
	for kind, c := range counts {
		manifest[kind] = c.counted()
	}
	return append(bytes.Join(append(out, ordered.MustJSON(archiveEnd{manifest})), []byte("\n")), '\n')
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
func imports(t *testing.T, db *DB, archive []byte, in Import) (sum ImportCounts, err error) {
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
func TestArchiveRoundTrip(t *testing.T) {
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

// Notes come with their history. A note whose history differs from the one in the store gets a number after
// all its versions, so that none hides another.
func TestImportKeepsVersionsOfNotes(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		history := memory.History{Versions: 10, Age: time.Hour}
		db, other, empty := archiveStore(t, name), archiveStore(t, name), archiveStore(t, name)
		store := func(db *DB, values ...string) {
			t.Helper()
			for i, value := range values {
				e := memory.Entry{Namespace: "n", Key: "k", Workspace: "w", Value: []byte(value), StoredAt: fromMicros(int64(i + 1))}
				if _, err := db.Memory(history).Put(t.Context(), e, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		versions := func(db *DB) (list []string) {
			t.Helper()
			s, at := db.Memory(history), memory.Place{Namespace: "n", Key: "k", Workspace: "w"}
			for n := range 9 {
				e, found, err := s.Version(t.Context(), at, n, fromMicros(9))
				if err != nil {
					t.Fatal(err)
				}
				if found {
					list = append(list, fmt.Sprintf("%d=%s", n, e.Value))
				}
			}
			e, _, err := s.Get(t.Context(), at, fromMicros(9))
			if err != nil {
				t.Fatal(err)
			}
			return append(list, fmt.Sprintf("now %d=%s", e.Version, e.Value))
		}
		store(db, "1", "2", "3")
		archive := exported(t, db)
		store(other, "1", "2", "30", "40", "50")
		for _, to := range []*DB{other, empty} {
			if _, err := imports(t, to, archive, Import{Replace: true, History: history, At: fromMicros(8)}); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]string{"1=1", "2=2", "now 3=3"}, versions(empty)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"1=1", "2=2", "3=30", "4=40", "5=50", "now 6=3"}, versions(other)); diff != "" {
			t.Error(diff)
		}
		store(other, "7")
		if diff := cmp.Diff([]string{"1=1", "2=2", "3=30", "4=40", "5=50", "6=3", "now 7=7"}, versions(other)); diff != "" {
			t.Error(diff)
		}

		// The number of a replaced value is one of another version in the archive, or the archive has the value already.
		store(other, "8")
		later := exported(t, other)
		for _, c := range []struct{ stored, want []string }{
			{[]string{"1", "2"}, []string{"1=1", "2=2", "3=30", "4=40", "5=50", "6=3", "7=7", "now 8=8"}},
			{[]string{"1", "20"}, []string{"1=1", "2=2", "3=30", "4=40", "5=50", "6=3", "7=7", "8=20", "now 9=8"}},
		} {
			earlier := archiveStore(t, name)
			store(earlier, c.stored...)
			if _, err := imports(t, earlier, later, Import{Replace: true, History: history, At: fromMicros(8)}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, versions(earlier)); diff != "" {
				t.Error(diff)
			}
		}
	})
}

// A note that is stored while an import compares it stays: the import waits for it, or it for the import.
func TestImportWaitsForWriters(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		from, db := archiveStore(t, goose.DialectSQLite3), archiveStore(t, name)
		history := memory.History{Versions: 10, Age: time.Hour}
		put := func(db *DB, value string) error {
			e := memory.Entry{Namespace: "n", Key: "k", Workspace: "w", Value: []byte(value), StoredAt: fromMicros(1)}
			_, err := db.Memory(history).Put(context.WithoutCancel(t.Context()), e, nil)
			return err
		}
		if err := errors.Join(put(from, "2"), put(db, "1")); err != nil {
			t.Fatal(err)
		}
		stored := make(chan error, 1)
		begun := false
		_, err := imports(t, db, exported(t, from), Import{Replace: true, History: history, At: fromMicros(2), Progress: func(done, all int) {
			if begun || 2*done < all {
				return
			}
			begun = true
			go func() { stored <- put(db, "3") }()
			for waits := 0; name == goose.DialectPostgres && waits == 0 && len(stored) == 0; {
				var err error
				if waits, err = scalar[int](t.Context(), db.reader(),
					sqlf(`SELECT count(*) FROM pg_locks WHERE relation = 'memory'::regclass AND NOT granted`)); err != nil {
					t.Error(err)
					return
				}
			}
		}})
		if err := errors.Join(err, <-stored); err != nil {
			t.Fatal(err)
		}
		list, err := all(t.Context(), db.reader(), sqlf(`SELECT value FROM memory_versions ORDER BY version`), only[string])
		e, _, failed := db.Memory(history).Get(t.Context(), memory.Place{Namespace: "n", Key: "k", Workspace: "w"}, fromMicros(3))
		if list = append(list, string(e.Value)); err != nil || failed != nil || !slices.Equal(list, []string{"1", "2", "3"}) {
			t.Errorf("stored %v: %v, %v", list, err, failed)
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
			list, err := all(t.Context(), db.reader(), sqlf(`SELECT held FROM tasks WHERE `+openTasks), only[int64])
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

// A task that was asked to end while it ran ends as cancelled once it is activated, and what depends on it fails.
func TestImportKeepsCancellation(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		from, db := archiveStore(t, goose.DialectSQLite3), archiveStore(t, name)
		now := time.UnixMicro(1_700_000_000_000_000).UTC()
		submit := func(id string, on ...string) {
			made := task.Task{ID: id, QueueID: task.DefaultQueue, Name: id, Priority: task.Medium, Type: task.Sequential, Workspace: "w",
				CreatedAt: now, MaxAttempts: 1, Dependencies: on}
			if _, err := from.Task().Submit(t.Context(), made, now, 100); err != nil {
				t.Fatal(err)
			}
		}
		submit("first")
		submit("second", "first")
		worked, _, err := from.Work()
		if err == nil {
			err = worked.Enter(t.Context(), "worker", "w", time.Hour)
		}
		if err != nil {
			t.Fatal(err)
		}
		if claimed, err := worked.Claim(t.Context(), "worker", "w", 1, now); err != nil || len(claimed) != 1 {
			t.Fatalf("claimed %v: %v", claimed, err)
		}
		if _, _, err := from.Task().Cancel(t.Context(), task.Cancellation{TaskID: "first", Reason: "a mistake", At: now}); err != nil {
			t.Fatal(err)
		}
		archive := exported(t, from)
		if _, err := imports(t, db, archive, Import{}); err != nil {
			t.Fatal(err)
		}
		if again := exported(t, db); !bytes.Equal(again, archive) {
			t.Errorf("the archive of the copy is different:\n%s", cmp.Diff(string(archive), string(again)))
		}
		if _, err := db.Activate(t.Context()); err != nil {
			t.Fatal(err)
		}
		ledger, _, err := db.Work()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ledger.Release(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string][2]string{"first": {task.Cancelled, "a mistake"}, "second": {task.Failed, ""}} {
			got, _, err := db.Task().Get(t.Context(), id)
			if err != nil || got.Status != want[0] || want[1] != "" && got.Error != want[1] {
				t.Errorf("%s is %s with error %q: %v", id, got.Status, got.Error, err)
			}
		}
	})
}

// A task that runs in the store is not replaced: its worker would go on with the replaced one.
func TestImportLeavesRunningTasks(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		db := archiveStore(t, name)
		fillRandom(t, db, rand.New(rand.NewPCG(6, 0)), 3, "queues", "tasks")
		archive := exported(t, db)
		if _, err := db.writer().exec(t.Context(), `UPDATE tasks SET status = 'running', turn = turn + 1`); err != nil {
			t.Fatal(err)
		}
		before := exported(t, db)
		if _, err := imports(t, db, archive, Import{Replace: true}); !errors.Is(err, ErrConflict) {
			t.Errorf("got %v, want a conflict", err)
		}
		if !bytes.Equal(before, exported(t, db)) {
			t.Error("a rejected import wrote")
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
			if _, err := from.Memory(memory.History{}).Put(t.Context(), e, nil); err != nil {
				t.Fatal(err)
			}
			found, err := db.Import(t.Context(), bytes.NewReader(exported(t, from)), Import{Kinds: []string{"notes"}, Replace: true})
			if want := min(i, 1); err != nil || found["notes"].Different != want {
				t.Fatalf("import %d replaced %+v, want %d: %v", i+1, found["notes"], want, err)
			}
		}
		ids := map[string][]int64{}
		for _, table := range []string{"memory", "memory_outdated"} {
			list, err := all(t.Context(), db.reader(), sqlf(`SELECT id FROM `+table+` ORDER BY id`), only[int64])
			if err != nil {
				t.Fatal(err)
			}
			ids[table] = list
		}
		if !slices.Equal(ids["memory"], ids["memory_outdated"]) || len(ids["memory"]) != 1 {
			t.Errorf("the ids are %v", ids)
		}
		if _, err := db.Memory(memory.History{}).Reindex(t.Context(), 10, memory.IndexText); err != nil {
			t.Fatal(err)
		}
		hits, err := db.Memory(memory.History{}).Matching(t.Context(), memory.Scope{}, memory.Match{{{Text: "three"}}}, 10)
		if err != nil || len(hits) != 1 {
			t.Errorf("found %v by the last value: %v", hits, err)
		}
		old, err := db.Memory(memory.History{}).Matching(t.Context(), memory.Scope{}, memory.Match{{{Text: "two"}}}, 10)
		if err != nil || len(old) > 0 {
			t.Errorf("found %v by a value that was replaced: %v", old, err)
		}
		entries, err := db.Memory(memory.History{}).Entries(t.Context(), memory.Scope{}, memory.Page{})
		if err != nil || len(entries) != 1 || string(entries[0].Value) != `"three"` {
			t.Errorf("the notes are %v: %v", entries, err)
		}
	})
}

// Objects that the store could not read back, or that exclude each other, are refused with their line before anything
// is written.
func TestImportRefusesUnfitObjects(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		from, db := archiveStore(t, goose.DialectSQLite3), archiveStore(t, name)
		fillRandom(t, from, rand.New(rand.NewPCG(11, 0)), 2)
		whole, before := exported(t, from), exported(t, db)
		for _, c := range []struct {
			kind, column string
			value        any // nil = without the column
			want         string
		}{
			{"tasks", "status", "sleeping", "status is \"sleeping\": one of pending, queued, running"},
			{"tasks", "status", "paused", "status is \"paused\": one of"},
			{"tasks", "status", 7, "status has the unfit value 7"},
			{"tasks", "priority", 9, "priority is 9: from 1 to 5"},
			{"tasks", "turn", "x", "turn has the unfit value x"},
			{"tasks", "turn", 1.5, "turn has the unfit value 1.5"},
			{"tasks", "created_at", json.Number("9223372036854775807"), "created_at is 9223372036854775807, no time in the years 0 to 9999"},
			{"tasks", "tags", `{"a":1}`, "tags is not the JSON that it should be"},
			{"tasks", "input", "", "input is not the JSON that it should be"},
			{"tasks", "name", nil, "tasks lacks name"},
			{"tasks", "id", nil, "tasks lacks id"},
			{"tasks", "rights", "a\x00b", "rights has the character NUL"},
			{"tasks", "colour", "red", `tasks has no "colour" in this store`},
			{"tasks", "task_tags", "red", "task_tags is not a list of objects"},
			{"tasks", "task_tags", []any{map[string]any{"tag": "a"}, map[string]any{"tag": "a"}}, "task_tags has two rows for a"},
			{"tasks", "task_progress", []any{map[string]any{"turn": 1, "progress": "{}"}, map[string]any{"turn": 2, "progress": "{}"}},
				"task_progress has two rows for 2"},
			{"notes", "value", map[string]any{"base64": "/w=="}, "value is not the JSON that it should be"},
			{"notes", "value", map[string]any{"base64": "?"}, "value has the unfit value"},
			{"sessions", "status", "open", "status is \"open\": one of active, completed, failed"},
			{"queues", "paused", 2, "paused is 2: from 0 to 1"},
			{"queues", "rate_per_minute", -1, "rate_per_minute is -1: from 0"},
			{"agents", "profile", "[]", "profile is not the JSON that it should be"},
			{"metrics", "type", "speed", "type is \"speed\": one of counter"},
		} {
			at, line := 0, 1
			archive := edited(t, whole, func(kind string, o map[string]any) bool {
				if line++; kind == c.kind && at == 0 {
					if at = line; c.value == nil {
						delete(o, c.column)
					} else {
						o[c.column] = c.value
					}
				}
				return true
			})
			_, err := imports(t, db, archive, Import{Replace: true})
			if want := fmt.Sprintf("line %d: %s: ", at, c.kind); err == nil || !strings.Contains(err.Error(), want) ||
				!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "nothing is written") {
				t.Errorf("%s.%s: got %v, want %q and %q", c.kind, c.column, err, want, c.want)
			}
		}
		for _, c := range []struct {
			kind string
			edit func(first, second map[string]any)
			want string
		}{
			{"notes", func(first, second map[string]any) { maps.Copy(second, first) }, " is there twice"},
			{"queues", func(first, second map[string]any) { second["name"] = first["name"] }, " has the name of the one in line "},
			{"tasks", func(first, second map[string]any) {
				second["workspace"], second["dedup_key"], second["status"] = first["workspace"], "same", "running"
			}, " has the key of the one in line "},
		} {
			var first map[string]any
			archive := edited(t, whole, func(kind string, o map[string]any) bool {
				if kind == c.kind && first == nil {
					if first = o; kind == "tasks" {
						o["status"], o["dedup_key"] = "pending", "same"
					}
				} else if kind == c.kind {
					c.edit(first, o)
				}
				return kind == c.kind
			})
			_, err := imports(t, db, archive, Import{Replace: true})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "line ") {
				t.Errorf("%s: got %v, want %q", c.kind, err, c.want)
			}
		}
		if _, err := imports(t, db, bytes.Replace(whole, []byte(`"key":"`), []byte("\"key\":\"\xff"), 1), Import{}); err == nil ||
			!strings.Contains(err.Error(), "is not UTF-8") {
			t.Errorf("an archive that is not UTF-8: %v", err)
		}
		if now := exported(t, db); !bytes.Equal(now, before) {
			t.Error("a refused import wrote")
		}
	})
}

// A queue's name and the key of an open task that belong to another object of the store are named, all of them, and
// nothing is written. They belong to none if the import replaces that object.
func TestImportNamesConflicts(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		from, db := archiveStore(t, goose.DialectSQLite3), archiveStore(t, name)
		fillRandom(t, from, rand.New(rand.NewPCG(13, 0)), 3, "queues", "tasks", "notes")
		open := func(kind string, o map[string]any) bool {
			if kind == "tasks" {
				o["status"] = "pending"
			}
			return true
		}
		archive := edited(t, exported(t, from), open)
		other := 0
		renamed := edited(t, archive, func(kind string, o map[string]any) bool {
			if other++; o["id"] != task.DefaultQueue && kind != "notes" {
				o["id"] = fmt.Sprintf("other-%d", other)
			}
			return kind != "notes"
		})
		if _, err := imports(t, db, renamed, Import{Replace: true}); err != nil {
			t.Fatal(err)
		}
		before := exported(t, db)
		for _, dry := range []bool{true, false} {
			found, err := db.Import(t.Context(), bytes.NewReader(archive), Import{Replace: true, DryRun: dry})
			if !errors.Is(err, ErrConflict) || len(found["queues"].Conflicts) != 3 || len(found["tasks"].Conflicts) != 3 ||
				!strings.Contains(found["queues"].Conflicts[0], ": its name ") || !strings.Contains(found["tasks"].Conflicts[0], " belongs to other-") {
				t.Errorf("found %+v and %+v: %v", found["queues"], found["tasks"], err)
			}
		}
		if now := exported(t, db); !bytes.Equal(now, before) {
			t.Error("a refused import wrote")
		}

		// The key moves from one task to another; the first has ended in the archive.
		var keys []any
		moved := edited(t, renamed, func(kind string, o map[string]any) bool {
			if kind == "tasks" {
				keys = append(keys, o["dedup_key"])
				o["dedup_key"] = keys[0]
				o["workspace"] = "w"
				if o["status"] = "completed"; len(keys) == 3 {
					o["status"] = "pending"
				}
			}
			return kind == "tasks"
		})
		back := edited(t, moved, func(kind string, o map[string]any) bool {
			if o["status"] == "pending" {
				o["status"] = "completed"
			} else if keys != nil {
				o["status"], keys = "pending", nil
			}
			return true
		})
		for i, archive := range [][]byte{moved, back, moved} {
			if _, err := imports(t, db, archive, Import{Replace: true}); err != nil {
				t.Errorf("move %d: %v", i, err)
			}
		}
	})
}

// An archive of an earlier schema step lacks columns: its objects are those that the upgrade of that store would have
// made, and equal objects of the store are equal. So is a queue that each server made at another time.
func TestImportOfEarlierStep(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		from := archiveStore(t, goose.DialectSQLite3)
		e := memory.Entry{Namespace: "n", Key: "a", Workspace: memory.User, StoredAt: time.UnixMicro(1), Value: json.RawMessage(`1`)}
		if _, err := from.Memory(memory.History{}).Put(t.Context(), e, nil); err != nil {
			t.Fatal(err)
		}
		for i, id := range []string{task.CallsQueue, "q"} {
			if err := from.Task().AddQueue(t.Context(), id, time.UnixMicro(int64(i+7))); err != nil {
				t.Fatal(err)
			}
		}
		for i, workspace := range []string{"shop", ""} {
			s := session.Session{ID: fmt.Sprint("s", i), Initiator: "ann", Status: work.SessionActive, Workspace: workspace,
				CreatorWorkspace: workspace}
			if err := from.Session().Create(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		whole := exported(t, from)
		lacking := edited(t, whole, func(kind string, o map[string]any) bool {
			for _, column := range []string{"rate_per_minute", "creator_workspace"} {
				delete(o, column)
			}
			if kind == "notes" {
				delete(o, "workspace")
			}
			return true
		})
		if bytes.Equal(lacking, whole) {
			t.Fatal("nothing lacks")
		}
		db := archiveStore(t, name)
		if err := db.Task().AddQueue(t.Context(), task.CallsQueue, time.UnixMicro(99)); err != nil {
			t.Fatal(err)
		}
		if sum, err := imports(t, db, lacking, Import{}); err != nil || sum.New != 4 || sum.Equal != 2 {
			t.Fatalf("found %+v: %v", sum, err)
		}
		for _, archive := range [][]byte{lacking, whole} {
			if sum, err := imports(t, db, archive, Import{}); err != nil || sum.Equal != 6 || sum.New+sum.Different > 0 {
				t.Errorf("found %+v: %v", sum, err)
			}
		}
	})
}

// A dry run does not wait for a writer, nor does it keep others from writing.
func TestDryRunTakesNoLock(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		db := archiveStore(t, name)
		fillRandom(t, db, rand.New(rand.NewPCG(15, 0)), 1)
		archive := exported(t, db)
		tx, err := db.write.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(t.Context(), `UPDATE queues SET paused = 1`); err != nil {
			t.Fatal(err)
		}
		wrote := false
		sum, err := imports(t, db, archive, Import{DryRun: true, Progress: func(done, all int) {
			if done == all {
				if _, err := tx.ExecContext(t.Context(), `UPDATE tasks SET turn = 0`); err != nil {
					t.Error(err)
				}
				wrote = true
			}
		}})
		if err != nil || !wrote || sum.Different+sum.New > 0 {
			t.Errorf("found %+v, wrote %t: %v", sum, wrote, err)
		}
	})
}

// mutableFile is a file that has another content each time it is read from its start.
type mutableFile struct {
	contents [][]byte
	*bytes.Reader
}

// Seek implements [io.Seeker].
func (c *mutableFile) Seek(int64, int) (int64, error) {
	c.Reader = bytes.NewReader(c.contents[0])
	c.contents = c.contents[1:]
	return 0, nil
}

// Times of all years that JSON has go into an archive and back. Others are refused by their line, and stop no import that
// leaves their kind out.
func TestImportOfDistantTimes(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		from := archiveStore(t, goose.DialectSQLite3)
		for _, year := range []int{0, 9999} {
			at := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
			made := task.Task{ID: at.Format(time.DateOnly), QueueID: task.DefaultQueue, Priority: task.Medium, Type: task.Sequential,
				Workspace: "w", CreatedAt: time.UnixMicro(1), ScheduledAt: at, MaxAttempts: 1}
			if _, err := from.Task().Submit(t.Context(), made, made.CreatedAt, 100); err != nil {
				t.Fatal(err)
			}
		}
		archive := exported(t, from)
		db := archiveStore(t, name)
		if _, err := imports(t, db, archive, Import{}); err != nil {
			t.Fatal(err)
		}
		if again := exported(t, db); !bytes.Equal(again, archive) {
			t.Errorf("the archive of the copy is different:\n%s", cmp.Diff(string(archive), string(again)))
		}
		late := edited(t, archive, func(_ string, o map[string]any) bool {
			if o["id"] == "9999-01-01" {
				o["due_at"] = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
			}
			return true
		})
		_, err := imports(t, archiveStore(t, name), late, Import{})
		if err == nil || !strings.Contains(err.Error(), "line 4: tasks: 9999-01-01: due_at is 253402300800000000, "+
			"no time in the years 0 to 9999: leave tasks out with --only; nothing is written") {
			t.Errorf("got %v", err)
		}
		if _, err := imports(t, archiveStore(t, name), late, Import{Kinds: []string{"queues"}}); err != nil {
			t.Error(err)
		}
	})
}

// A file that changes between two readings is refused, also if each reading fits its manifest.
func TestImportRefusesFileThatChanges(t *testing.T) {
	t.Parallel()
	from := archiveStore(t, goose.DialectSQLite3)
	fillRandom(t, from, rand.New(rand.NewPCG(17, 0)), 2, "notes")
	first := exported(t, from)
	second := edited(t, first, func(kind string, o map[string]any) bool {
		if kind == "notes" {
			o["stored_at"] = 5
		}
		return true
	})
	for n, contents := range [][][]byte{{first, second}, {first, first, second}} {
		db := archiveStore(t, goose.DialectSQLite3)
		before := exported(t, db)
		_, err := db.Import(t.Context(), &mutableFile{contents: contents}, Import{})
		if err == nil || !strings.Contains(err.Error(), "the file was changed while it was read; nothing is written") {
			t.Errorf("reading %d: %v", n+2, err)
		}
		if now := exported(t, db); !bytes.Equal(now, before) {
			t.Errorf("reading %d: it wrote", n+2)
		}
	}
}

// A schedule that an import left paused stays so when it is changed or tried again, with its time, until it is activated
// or its user resumes it. One that its user pauses is the user's.
func TestChangesLeaveImportedTasksPaused(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		from, db := archiveStore(t, goose.DialectSQLite3), archiveStore(t, name)
		now := time.UnixMicro(1_700_000_000_000_000).UTC()
		due := now.Add(time.Hour)
		names := []string{"renamed", "moved", "retried", "resumed", "paused", "left", "late"}
		for _, id := range names {
			made := task.Task{ID: id, QueueID: task.DefaultQueue, Name: id, Priority: task.Medium, Type: task.Sequential, Workspace: "w",
				CreatedAt: now, MaxAttempts: 1, Schedule: "@hourly", NextAt: due}
			if id == "late" {
				made.Schedule, made.ScheduledAt = "", due
			}
			if _, err := from.Task().Submit(t.Context(), made, now, 100); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := imports(t, db, exported(t, from), Import{}); err != nil {
			t.Fatal(err)
		}
		tasks := task.New(task.Options{Store: db.Task(), Workspace: "w", Now: func() time.Time { return now.Add(2 * time.Hour) }})
		yes, no, title, schedule := true, false, "other", "@daily"
		for id, in := range map[string]task.UpdateIn{
			"renamed": {Name: &title}, "moved": {Schedule: &schedule}, "resumed": {Paused: &no}, "paused": {Paused: &yes},
		} {
			in.TaskID = id
			out, err := tasks.Update(t.Context(), in)
			if want := id == "resumed"; err != nil || (out.Status == task.Pending) != want || (out.NextAt != nil) != want {
				t.Errorf("%s is %+v: %v", id, out, err)
			}
		}
		if _, _, err := db.Task().Cancel(t.Context(), task.Cancellation{TaskID: "retried", At: now}); err != nil {
			t.Fatal(err)
		}
		if got, _, err := db.Task().Retry(t.Context(), task.Retrial{TaskID: "retried", At: now}); err != nil || got.Status != task.Paused {
			t.Errorf("retried is %s: %v", got.Status, err)
		}
		for id, want := range map[string]string{
			"left":   "toolfold import --activate, as it was imported, or task.update with paused: false",
			"late":   "toolfold import --activate, as it was imported",
			"paused": "task.update with paused: false",
		} {
			if got, err := tasks.Status(t.Context(), task.StatusIn{TaskID: id}); err != nil || got.WaitsFor != want {
				t.Errorf("%s waits for %q: %v", id, got.WaitsFor, err)
			}
		}
		if n, err := db.Activate(t.Context()); err != nil || n != 5 {
			t.Errorf("activated %d: %v", n, err)
		}
		for id, want := range map[string]time.Time{
			"renamed": due, "left": due, "late": due, "moved": time.Date(2023, 11, 16, 0, 0, 0, 0, time.UTC), "paused": {},
		} {
			if got, _, err := db.Task().Get(t.Context(), id); err != nil || !got.NextAt.Equal(want) {
				t.Errorf("%s is %s, due at %v, want %v: %v", id, got.Status, got.NextAt, want, err)
			}
		}
	})
}
