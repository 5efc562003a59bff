package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/tools/memory"
)

// interruptedStore is a store in which storing marks ends a call, as a cancelled client or a kill does.
type interruptedStore struct {
	memory.Store
	cancel func()
	kill   bool
}

func (s *interruptedStore) PutMarks(ctx context.Context, folder string, marks []memory.Mark) error {
	if s.kill {
		return errors.New("killed")
	}
	if s.cancel != nil {
		s.cancel()
	}
	return errors.Join(ctx.Err(), s.Store.PutMarks(ctx, folder, marks))
}

// A file that was written by a call which ended before its mark was stored is not taken for an edit.
func TestFilesWithoutTheirMarks(t *testing.T) {
	newUnsure := func(t *testing.T) (*desk, *interruptedStore) {
		d := newDesk(t, storagetest.Open(t, "memory:"), t.TempDir())
		s := &interruptedStore{Store: d.store}
		d.store = s
		d.restart()
		d.put("k", `"v1"`)
		return d, s
	}
	t.Run("cancelled", func(t *testing.T) {
		d, s := newUnsure(t)
		d.elsewhere("k", `"v2"`)
		d.now = d.now.Add(2 * time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		s.cancel = cancel
		_, _ = memory.WithFiles(d.Service, (*memory.Service).Get)(ctx, memory.GetIn{Key: "k"})
		s.cancel = nil
		d.put("k", `"v3"`)
		if got := d.value("k"); got != `"v3"` || len(d.files()) != 1 {
			t.Errorf("the note is %s after a cancelled call, the files are %v", got, d.files())
		}
	})
	t.Run("killed", func(t *testing.T) {
		d, s := newUnsure(t)
		s.kill = true
		d.put("k", `"v2"`)
		s.kill = false
		d.elsewhere("k", `"v3"`)
		d.restart()
		if got := d.value("k"); got != `"v3"` || len(d.files()) != 1 {
			t.Errorf("the note is %s after a kill, the files are %v", got, d.files())
		}
	})
}

// A deleted note does not come back from a copy of its file.
func TestCopiesOfADeletedNote(t *testing.T) {
	d := newDesk(t, storagetest.Open(t, "memory:"), t.TempDir())
	d.put("k", `"secret"`)
	d.write("k copy.md", d.read("k.md"))
	d.write("k other.md", strings.Replace(d.read("k.md"), "secret", "another text", 1))
	d.value("k")
	do(d, (*memory.Service).Delete, memory.DeleteIn{Key: "k", Purge: true})
	if files := d.files(); len(files) != 1 || files[0] != "k other.md" {
		t.Errorf("after the deletion there are %v", files)
	}
	if len(d.warnings) == 0 || !strings.Contains(d.warnings[0], "k other.md has the key of the deleted note") {
		t.Errorf("warnings are %q", d.warnings)
	}
}

// A file with a value that cannot be stored is a fault of that file, and stops no call.
func TestFilesThatCannotBeNotes(t *testing.T) {
	d := newDesk(t, storagetest.Open(t, "memory:"), t.TempDir())
	d.put("good", `1`)
	d.write("deep.md", "---\nkey: deep\nformat: json\n---\n"+strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000))
	d.write("late.md", "---\nkey: late\nexpires: 9999-12-31T23:59:59-01:00\n---\nx")
	if got := d.value("good"); got != `1` {
		t.Errorf("the note is %s beside files that cannot be notes", got)
	}
	all := strings.Join(d.warnings, "\n")
	if !strings.Contains(all, "deep.md is not a note") || !strings.Contains(all, "late.md is not a note") {
		t.Errorf("warnings are %q", d.warnings)
	}
	if _, err := json.Marshal(do(d, (*memory.Service).List, memory.ListIn{})); err != nil {
		t.Errorf("list: %v", err)
	}
}

// The folder is not reached by a link, which may lead to definitions.
func TestFolderBehindALink(t *testing.T) {
	d := newDesk(t, storagetest.Open(t, "memory:"), t.TempDir())
	if err := os.MkdirAll(filepath.Join(d.dir, ".toolfold", "abilities"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("abilities", filepath.Join(d.dir, ".toolfold", "notes")); err != nil {
		t.Skip(err)
	}
	d.put("k", `"v"`)
	d.warned(".toolfold/notes is not a folder")
	if entries, _ := os.ReadDir(filepath.Join(d.dir, ".toolfold", "abilities")); len(entries) > 0 {
		t.Errorf("a note was written behind the link: %v", entries)
	}
}
