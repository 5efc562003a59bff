package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/internal/text/notefile"
	"github.com/toolfold/toolfold/tools/memory"
)

// desk is a workspace whose notes are files, with the store that holds them.
type desk struct {
	t       testing.TB
	dir     string // of the workspace
	store   memory.Store
	now     time.Time
	refusal string
	*memory.Service
	warnings []string // of the last action
}

const notesFolder = ".toolfold/notes"

// onStores runs a test on each database.
func onStores(t *testing.T, test func(t *testing.T, d *desk)) {
	for name, address := range map[string]func(testing.TB) string{"SQLite": storagetest.SQLite, "PostgreSQL": storagetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newDesk(t, storagetest.Open(t, address(t)), t.TempDir()))
		})
	}
}

func newDesk(t testing.TB, db *storage.DB, dir string) *desk {
	d := &desk{t: t, dir: dir, now: start, store: db.Memory(memory.History{Versions: 10, Age: 24 * time.Hour})}
	d.restart()
	return d
}

// restart replaces the service, as another process would be on the same store and folder.
func (d *desk) restart() {
	d.Service = memory.New(d.store, func() time.Time { return d.now })
	d.Workspace, d.History = "shop", memory.History{Versions: 10, Age: 24 * time.Hour}
	d.Files = memory.NewFiles(d.dir, notesFolder, "machine:"+d.dir, filepath.Join(d.dir, "lock"), func() string { return d.refusal })
}

// do runs an action as a client does, and keeps its warnings.
func do[In, Out any](d *desk, action func(*memory.Service, context.Context, In) (Out, error), in In) Out {
	d.t.Helper()
	d.now = d.now.Add(time.Millisecond)
	d.warnings = nil
	ctx := callctx.With(d.t.Context(), callctx.Warning(func(text string) { d.warnings = append(d.warnings, text) }))
	out, err := memory.WithFiles(d.Service, action)(ctx, in)
	if err != nil {
		d.t.Fatalf("%+v: %v", in, err)
	}
	return out
}

func (d *desk) put(key, value string) memory.StoreOut {
	d.t.Helper()
	return do(d, (*memory.Service).Store, memory.StoreIn{Key: key, Value: json.RawMessage(value)})
}

// value returns the value of a note, or an empty text.
func (d *desk) value(key string) string {
	d.t.Helper()
	return string(do(d, (*memory.Service).Get, memory.GetIn{Key: key}).Value)
}

func (d *desk) path(name string) string { return filepath.Join(d.dir, notesFolder, name) }

// files lists the names of the folder.
func (d *desk) files() []string {
	d.t.Helper()
	entries, err := os.ReadDir(filepath.Join(d.dir, notesFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (d *desk) read(name string) string {
	d.t.Helper()
	text, err := os.ReadFile(d.path(name))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(text)
}

func (d *desk) write(name, text string) {
	d.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(d.path(name)), 0o755), os.WriteFile(d.path(name), []byte(text), 0o644)); err != nil {
		d.t.Fatal(err)
	}
}

// edit replaces a piece of a file.
func (d *desk) edit(name, old, text string) {
	d.t.Helper()
	whole := d.read(name)
	if !strings.Contains(whole, old) {
		d.t.Fatalf("%s has no %q:\n%s", name, old, whole)
	}
	d.write(name, strings.Replace(whole, old, text, 1))
}

// elsewhere stores a note by a process without the folder.
func (d *desk) elsewhere(key, value string) {
	d.t.Helper()
	d.now = d.now.Add(time.Millisecond)
	s := memory.New(d.store, func() time.Time { return d.now })
	s.Workspace = d.Workspace
	call(d.t.(*testing.T), s.Store, memory.StoreIn{Key: key, Value: json.RawMessage(value)})
}

// warned checks that the last action had one warning with these pieces.
func (d *desk) warned(pieces ...string) {
	d.t.Helper()
	if len(d.warnings) != 1 {
		d.t.Fatalf("warnings are %q, want one with %q", d.warnings, pieces)
	}
	for _, piece := range pieces {
		if !strings.Contains(d.warnings[0], piece) {
			d.t.Fatalf("warning is %q, want %q", d.warnings[0], piece)
		}
	}
}

func (d *desk) silent() {
	d.t.Helper()
	if d.warnings != nil {
		d.t.Fatalf("warnings are %q", d.warnings)
	}
}

func TestNotesAreFiles(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, d *desk) {
		d.elsewhere("early", `"there before the setting"`)
		do(d, (*memory.Service).Store, memory.StoreIn{Key: "team/rules", Value: json.RawMessage(`"Freeze on Friday"`), Tags: []string{"team"}})
		equal(t, d.files(), []string{"early.md", "team%2Frules.md"})
		equal(t, d.read("team%2Frules.md"), "---\nnamespace: default\nkey: team/rules\ntags:\n- team\n---\n\nFreeze on Friday\n")

		d.edit("team%2Frules.md", "Friday", "Monday\n---")
		d.edit("team%2Frules.md", "key: team/rules", "key: team/rules\nmood: good # today\nexpires: 2026-03-01")
		equal(t, d.value("team/rules"), `"Freeze on Monday\n---"`)
		out := do(d, (*memory.Service).Store, memory.StoreIn{Key: "team/rules", Value: json.RawMessage(`{"freeze":["Monday"]}`)})
		equal(t, []any{out.Tags, out.ExpiresAt.Format(time.DateOnly), out.Previous.Author}, []any{[]string{"team"}, "2026-03-01", "file"})
		equal(t, d.read("team%2Frules.md"), "---\nnamespace: default\nkey: team/rules\ntags:\n- team\n"+
			"expires: \"2026-03-01T00:00:00Z\"\nformat: json\nmood: good # today\n---\n\n```json\n{\n  \"freeze\": [\n    \"Monday\"\n  ]\n}\n```\n")

		d.write("My idea.md", "Sell tea\r\n")
		d.write("other.md", "---\nnamespace: scratch\nkey: a/b\n---\nx")
		equal(t, d.value("My idea"), `"Sell tea"`)
		equal(t, string(do(d, (*memory.Service).Get, memory.GetIn{Key: "a/b", Namespace: "scratch"}).Value), `"x"`)
		d.put("My idea", `"Sell coffee"`)
		equal(t, d.read("My idea.md"), "---\nnamespace: default\nkey: My idea\n---\n\nSell coffee\n")

		do(d, (*memory.Service).Delete, memory.DeleteIn{Key: "My idea"})
		do(d, (*memory.Service).BulkDelete, memory.BulkDeleteIn{Prefix: "ear"})
		do(d, (*memory.Service).Clear, memory.ClearIn{Namespace: "scratch", Confirm: true})
		equal(t, d.files(), []string{"team%2Frules.md"})
		do(d, (*memory.Service).Restore, memory.RestoreIn{Key: "My idea"})
		equal(t, d.value("My idea"), `"Sell coffee"`)
		do(d, (*memory.Service).Import, memory.ImportIn{Data: []json.RawMessage{[]byte(`{"key":"in","value":1}`)}})
		equal(t, d.files()[1:], []string{"in.md", "team%2Frules.md"})

		d.now = d.now.AddDate(0, 2, 0) // an expired note has no file
		equal(t, d.value("team/rules"), "")
		equal(t, slices.Contains(d.files(), "team%2Frules.md"), false)
		d.silent()
	})
}

// TestMissingFile checks that a missing file neither deletes its note nor comes back before the note
// changes, also in later processes.
func TestMissingFile(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, d *desk) {
		d.put("k", `"one"`)
		if err := os.RemoveAll(filepath.Join(d.dir, ".toolfold")); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			equal(t, d.value("k"), `"one"`)
			equal(t, d.files(), []string{})
			d.restart()
		}
		d.put("k", `"two"`)
		equal(t, d.files(), []string{"k.md"})
		if err := os.Rename(d.path("k.md"), d.path("renamed.md")); err != nil {
			t.Fatal(err)
		}
		d.put("k", `"three"`)
		equal(t, d.files(), []string{"renamed.md"})
	})
}

// TestCheckout checks that an older state of the folder is read, as git brings it, and that a
// restored or killed process continues.
func TestCheckout(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, d *desk) {
		d.put("k", `"one"`)
		older := d.read("k.md")
		d.put("k", `"two"`)
		d.put("gone", `"x"`)
		gone := d.read("gone.md")
		do(d, (*memory.Service).Delete, memory.DeleteIn{Key: "gone"})
		d.write("k.md", older)
		d.write("gone.md", gone)
		d.restart()
		equal(t, []string{d.value("k"), d.value("gone")}, []string{`"one"`, `"x"`})
		equal(t, string(do(d, (*memory.Service).Get, memory.GetIn{Key: "k", Version: 2}).Value), `"two"`)
		d.silent()

		d.elsewhere("k", `"three"`) // a process that was killed before it wrote the file
		temp := "k.md." + strings.Repeat("A", 26) + ".tmp"
		d.write(temp, "half")
		if err := os.Chtimes(d.path(temp), time.Now(), time.Now().Add(-2*time.Hour)); err != nil {
			t.Fatal(err)
		}
		d.restart()
		equal(t, d.value("k"), `"three"`)
		if text := d.read("k.md"); !strings.HasSuffix(text, "three\n") {
			t.Error(text)
		}
		d.elsewhere("k", `"four"`) // by another machine
		d.now = d.now.Add(time.Minute)
		d.value("k")
		if text := d.read("k.md"); !strings.HasSuffix(text, "four\n") {
			t.Error(text)
		}
		d.silent()
		equal(t, d.files(), []string{"gone.md", "k.md"})

		tree := *d // another worktree on the same store, at an older state
		tree.dir = t.TempDir()
		tree.write("k.md", older)
		tree.restart()
		equal(t, tree.value("k"), `"four"`)
		tree.silent()
		if text := tree.read("k.md"); !strings.HasSuffix(text, "four\n") {
			t.Error(text)
		}
	})
}

// TestConflict checks that nothing is lost if a note and its file were both changed.
func TestConflict(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, d *desk) {
		d.put("k", `"one"`)
		d.elsewhere("k", `"by an agent"`)
		d.edit("k.md", "one", "by a person")
		equal(t, d.value("k"), `"by a person"`)
		copies := d.files()[1:]
		d.warned("both changed", "version 2", copies[0])
		equal(t, string(do(d, (*memory.Service).Get, memory.GetIn{Key: "k", Version: 2}).Value), `"by an agent"`)
		d.silent()
		equal(t, len(copies), 1)
		note, err := notefile.Decode(copies[0], []byte(d.read(copies[0])))
		if err != nil || string(note.Value) != `"by an agent"` || note.Key != "k" {
			t.Errorf("the copy is %+v, %v", note, err)
		}

		d.edit("k.md", "by a person", "again") // while the note is deleted
		s := memory.New(d.store, func() time.Time { return d.now })
		s.Workspace = d.Workspace
		call(t, s.Delete, memory.DeleteIn{Key: "k"})
		equal(t, d.value("k"), `"again"`)

		// A clone for a store that has never seen its files.
		other := newDesk(t, storagetest.Open(t, "memory:"), d.dir)
		other.elsewhere("k", `"of another store"`)
		equal(t, other.value("k"), `"again"`)
		other.warned("both changed")
	})
}

// TestOnlyOwnNotesAreFiles checks that only notes of the own workspace are files.
func TestOnlyOwnNotesAreFiles(t *testing.T) {
	t.Parallel()
	d := newDesk(t, storagetest.Open(t, "memory:"), t.TempDir())
	do(d, (*memory.Service).Store, memory.StoreIn{Key: "all", Value: json.RawMessage("1"), Scope: "user"})
	d.Workspace = "other"
	d.elsewhere("k", `1`)
	d.Workspace = "shop"
	d.put("mine", `1`)
	equal(t, d.files(), []string{"mine.md"})
	do(d, (*memory.Service).Delete, memory.DeleteIn{Key: "mine", DryRun: true})
	equal(t, d.files(), []string{"mine.md"})
}

func TestUntrustedFolder(t *testing.T) {
	t.Parallel()
	d := newDesk(t, storagetest.Open(t, "memory:"), t.TempDir())
	d.refusal = "the user has not trusted this workspace"
	d.write("planted.md", "x")
	d.put("k", `1`)
	d.warned("notesFolder has no effect", d.refusal)
	equal(t, d.value("planted"), "")
	d.silent()
	equal(t, d.files(), []string{"planted.md"})
	d.refusal = ""
	equal(t, d.value("planted"), `"x"`)
	equal(t, d.files(), []string{"k.md", "planted.md"})
}

// TestFilesWithFaults checks that files that are not notes stay, are named, and stop nothing.
func TestFilesWithFaults(t *testing.T) {
	t.Parallel()
	d := newDesk(t, storagetest.Open(t, "memory:"), t.TempDir())
	d.put("good", `"one"`)
	outside := filepath.Join(t.TempDir(), "secret.md")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, fault := range map[string]struct{ text, want string }{
		"link.md":    {"", "it is not a plain file"},
		"folder.md":  {"", "it is not a plain file"},
		"empty.md":   {"", "it is empty"},
		"broken.md":  {"---\nkey: [\n---\nx", "line "},
		"open.md":    {"---\nkey: x\n", "no closing ---"},
		"latin.md":   {"\xe4", "it is not UTF-8"},
		"huge.md":    {strings.Repeat("x", notefile.MaxFile+1), "more than 4194304 bytes"},
		"long.md":    {strings.Repeat("x", 300_000), "the limit is 262144"},
		"old.md":     {"---\nexpires: 2020-01-01\n---\nx", "it has expired"},
		"tags.md":    {"---\ntags: [" + strings.Repeat("x", 51) + "]\n---\nx", "tags"},
		"copy.md":    {"---\nkey: good\nnamespace: default\n---\nx", "its key is that of good.md"},
		"a key.md":   {"---\nkey: " + strings.Repeat("k", 501) + "\n---\nx", "key"},
		"unread.txt": {"x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d.t = t
			switch name {
			case "link.md":
				if err := os.Symlink(outside, d.path(name)); err != nil {
					t.Skip(err)
				}
			case "folder.md":
				if err := os.Mkdir(d.path(name), 0o755); err != nil {
					t.Fatal(err)
				}
			default:
				d.write(name, fault.text)
			}
			for range 2 {
				if fault.want == "" {
					d.value("good")
					d.silent()
				} else {
					d.value("good")
					d.warned(name, fault.want)
				}
				d.put("good", fmt.Sprintf("%q", name))
			}
			d.put(strings.TrimSuffix(name, ".md"), `"stored"`) // must not replace the file
			if info, err := os.Lstat(d.path(name)); err != nil || info.Mode().IsRegular() && info.Size() != int64(len(fault.text)) {
				t.Errorf("the file is %v, %v", info, err)
			}
			if err := os.RemoveAll(d.path(name)); err != nil {
				t.Fatal(err)
			}
		})
	}
	d.t = t
	for i := range 9 {
		d.write(fmt.Sprintf("bad%d.md", i), "")
	}
	d.value("good")
	if len(d.warnings) != 5 || !strings.Contains(d.warnings[4], "5 more faults") {
		t.Errorf("warnings are %q", d.warnings)
	}
	d.write("bad0.md", "mended")
	equal(t, d.value("bad0"), `"mended"`)
}

// TestFolderWithFaults checks that a folder that cannot be used stops no call.
func TestFolderWithFaults(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(dir string) error{
		"a file":            func(dir string) error { return os.WriteFile(filepath.Join(dir, ".toolfold"), nil, 0o600) },
		"out of the folder": func(dir string) error { return os.Symlink(os.TempDir(), filepath.Join(dir, ".toolfold")) },
		"no workspace":      os.RemoveAll,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, storagetest.Open(t, "memory:"), filepath.Join(t.TempDir(), "workspace"))
			if err := errors.Join(os.Mkdir(d.dir, 0o755), prepare(d.dir)); err != nil {
				t.Fatal(err)
			}
			d.put("k", `1`)
			d.warned(notesFolder)
			equal(t, d.value("k"), `1`)
		})
	}
}

// TestHostileKeys checks that every key has a file of its own, from which a new store has the same notes.
func TestHostileKeys(t *testing.T) {
	t.Parallel()
	d := newDesk(t, storagetest.Open(t, "memory:"), t.TempDir())
	keys := []string{"a", "A", "CON", "con", "nul.txt", "a/b", "a%2Fb", `a\b`, "a.", "a ", ".git", "..", "---", "a\nb", "\x00", "é", "e\u0301",
		strings.Repeat("日", 500), strings.Repeat("x", 500), strings.Repeat("x", 499) + "y", "null",
		"2026", "a~conflict-0123456789ab", "🎉", "a\u2028b"}
	values := []string{`"a\r\nb"`, `"---\n"`, `"\ufeffa"`, `"no newline"`, `"newline\n"`, `{"a":1.50}`, `"\ud800"`, `null`, `""`, `"{\"a\":"`}
	for i, key := range keys {
		d.put(key, values[i%len(values)])
		d.silent()
	}
	equal(t, len(d.files()), len(keys))
	other := newDesk(t, storagetest.Open(t, "memory:"), d.dir)
	for i, key := range keys {
		equal(t, other.value(key), strings.ReplaceAll(values[i%len(values)], `\ufeff`, "\ufeff"))
		other.silent()
	}
	equal(t, other.files(), d.files())
}

// countingStore counts the calls of the store.
type countingStore struct {
	memory.Store
	calls int
}

func (c *countingStore) Get(ctx context.Context, at memory.Place, now time.Time) (memory.Entry, bool, error) {
	c.calls++
	return c.Store.Get(ctx, at, now)
}

func (c *countingStore) Headings(ctx context.Context, scope memory.Scope, page memory.Page) ([]memory.Heading, error) {
	c.calls++
	return c.Store.Headings(ctx, scope, page)
}

func (c *countingStore) Marks(ctx context.Context, folder string, keys []string) ([]memory.Mark, error) {
	c.calls++
	return c.Store.Marks(ctx, folder, keys)
}

// TestUnchangedFolder checks that an unchanged folder is listed only: no file and no note is read.
func TestUnchangedFolder(t *testing.T) {
	t.Parallel()
	d := newDesk(t, storagetest.Open(t, "memory:"), t.TempDir())
	counter := &countingStore{Store: d.store}
	d.store = counter
	d.restart()
	for i := range 20 {
		d.put(fmt.Sprint("k", i), `"one"`)
	}
	long := time.Now().Add(-time.Hour).Truncate(time.Second)
	for _, name := range d.files() {
		if err := os.Chtimes(d.path(name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	d.value("k0")
	file, err := os.OpenFile(d.path("k1.md"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	text := d.read("k1.md")
	_, err = file.WriteString(strings.Replace(text, "one", "two", 1)) // the same size
	if err = errors.Join(err, file.Close(), os.Chtimes(d.path("k1.md"), long, long)); err != nil {
		t.Fatal(err)
	}
	counter.calls = 0
	equal(t, d.value("k1"), `"one"`) // not read: neither size nor time changed
	equal(t, counter.calls, 1)       // get's own
	if err := os.Chtimes(d.path("k1.md"), long, long.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	equal(t, d.value("k1"), `"two"`)
}

// TestFilesAtOnce has two processes on one store and folder, and a person who edits. No value is
// lost: each is current or an earlier version, and both processes and the file agree.
func TestFilesAtOnce(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, d *desk) {
		const rounds = 20
		history := memory.History{Versions: 100, Age: 24 * time.Hour}
		var group sync.WaitGroup
		var mu sync.Mutex
		now := d.now
		tick := func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			now = now.Add(time.Millisecond)
			return now
		}
		services := []*memory.Service{}
		for i := range 2 {
			s := memory.New(d.store, tick)
			s.Workspace, s.History = "shop", history
			s.Files = memory.NewFiles(d.dir, notesFolder, "machine:"+d.dir, filepath.Join(d.dir, "lock"), func() string { return "" })
			services = append(services, s)
			group.Go(func() {
				for n := range rounds {
					for _, key := range []string{"shared", fmt.Sprint("own", i)} {
						in := memory.StoreIn{Key: key, Value: fmt.Appendf(nil, `"%d of %d"`, n, i)}
						if _, err := memory.WithFiles(s, (*memory.Service).Store)(t.Context(), in); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		group.Go(func() {
			for n := range rounds {
				d.write(fmt.Sprintf("person%d.md", n), fmt.Sprint("by hand ", n))
			}
		})
		group.Wait()
		for _, s := range services {
			for n := range rounds {
				out, err := memory.WithFiles(s, (*memory.Service).Get)(t.Context(), memory.GetIn{Key: fmt.Sprint("person", n)})
				if err != nil || string(out.Value) != fmt.Sprintf(`"by hand %d"`, n) {
					t.Errorf("got %s, %v", out.Value, err)
				}
			}
		}
		for _, key := range []string{"shared", "own0", "own1"} {
			out, err := memory.WithFiles(services[0], (*memory.Service).Get)(t.Context(), memory.GetIn{Key: key})
			if err != nil {
				t.Fatal(err)
			}
			note, err := notefile.Decode(key+".md", []byte(d.read(key+".md")))
			if err != nil || string(note.Value) != string(out.Value) {
				t.Errorf("%s is %s, its file has %s, %v", key, out.Value, note.Value, err)
			}
			if n := rounds - 1; key != "shared" && string(out.Value) != fmt.Sprintf(`"%d of %s"`, n, key[3:]) {
				t.Errorf("%s is %s", key, out.Value)
			}
		}
		if files := d.files(); len(files) != rounds+3 {
			t.Errorf("there are copies, second files or temporary files: %q", files)
		}
	})
}

// TestManyFiles checks that a call writes a bounded number of files, and that the rest follows.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	d := newDesk(t, storagetest.Open(t, "memory:"), t.TempDir())
	other := memory.New(d.store, func() time.Time { return d.now })
	other.Workspace = d.Workspace
	fill(t, other, "default", 230, func(i int) (key, value string) { return fmt.Sprint("k", i), `"x"` })
	d.value("k1")
	d.warned("30 notes are not in their files yet")
	equal(t, len(d.files()), 200)
	d.value("k1")
	d.silent()
	equal(t, len(d.files()), 230)
	clone := newDesk(t, storagetest.Open(t, "memory:"), d.dir)
	out := do(clone, (*memory.Service).List, memory.ListIn{Page: toolfold.Page{Limit: 1}})
	equal(t, out.Total, 230)
}

// BenchmarkFiles measures get with 2,000 files: unchanged, with one edit, by a new process, and
// without a folder.
func BenchmarkFiles(b *testing.B) {
	d := newDesk(b, storagetest.Open(b, storagetest.SQLite(b)), b.TempDir())
	for i := range 2000 {
		front := fmt.Sprintf("---\nnamespace: default\nkey: k%d\ntags:\n- a\n---\n\n", i)
		d.write(fmt.Sprintf("k%d.md", i), front+strings.Repeat("text ", 100)+"\n")
	}
	long := time.Now().Add(-time.Hour)
	for _, name := range d.files() {
		if err := os.Chtimes(d.path(name), long, long); err != nil {
			b.Fatal(err)
		}
	}
	d.value("k1")
	for name, prepare := range map[string]func(n int){
		"unchanged":   func(int) {},
		"one edit":    func(n int) { d.write("k1.md", fmt.Sprint("edit ", n)) },
		"new process": func(int) { d.restart() },
		"no folder":   func(int) { d.Files = nil },
	} {
		b.Run(name, func(b *testing.B) {
			d.t = b
			defer d.restart()
			for n := 0; b.Loop(); n++ {
				prepare(n)
				d.value("k1")
			}
		})
	}
}
