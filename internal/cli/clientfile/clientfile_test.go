package clientfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Writes by another program between reading and writing are not lost, and a file that keeps changing is
// left unchanged.
func TestEditFileSeesChanges(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "settings.json")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	calls := 0
	done, err := Edit(path, ".bak", func(text []byte) ([]byte, error) {
		if calls++; calls == 1 {
			write("new")
		}
		return append(text, '+'), nil
	})
	if text, _ := os.ReadFile(path); err != nil || string(text) != "new+" || !done.Changed {
		t.Errorf("%v, %q, %+v", err, text, done)
	}
	if backup, err := os.ReadFile(path + ".bak"); err != nil || string(backup) != "new" {
		t.Errorf("the backup has %q (%v)", backup, err)
	}
	if info, err := os.Stat(path + ".bak"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup is %v (%v)", info.Mode(), err)
	}
	if _, err := Edit(path, ".two", func(text []byte) ([]byte, error) {
		write(string(text) + "!")
		return nil, nil
	}); err == nil {
		t.Error("a file that never rests was written")
	}
	if _, err := os.Stat(path + ".two"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it has a backup: %v", err)
	}
}

// Links are resolved. Broken links and cycles are rejected, also in folders of the path. A missing file
// is new.
func TestFollowed(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	if err := os.WriteFile(in("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": "file", "gone": "nothing", "circle": "circle"} {
		if err := os.Symlink(target, in(name)); err != nil {
			t.Skip(err) // Windows, for users without that right
		}
	}
	for path, want := range map[string]string{
		in("link"): in("file"), in("file"): in("file"), in("new", "file"): in("new", "file"),
		in("gone"): "", in("circle"): "", in("gone", "file"): "",
	} {
		if got, err := FollowLinks(path); got != want || (err == nil) != (want != "") {
			t.Errorf("%s leads to %q (%v), want %q", path, got, err, want)
		}
	}
}

// Replace fails if the file's text has changed.
func TestReplaceRefusesChanges(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "folder", "file")
	if err := Replace(path, nil, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := Replace(path, []byte("other"), []byte("two")); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
	if text, err := Read(path); err != nil || string(text) != "one" {
		t.Errorf("it has %q (%v)", text, err)
	}
}

// Only setup's changes to an entry of import are recorded.
func TestRecordOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	record := &Imports{Files: []*ImportRecord{{Path: "a", Own: []byte(`1`)}, {Path: "a"}, {Path: "b", Own: []byte(`1`)}}}
	if err := record.Write(dir); err != nil {
		t.Fatal(err)
	}
	for _, change := range [][3]string{{"a", "2", "3"}, {"a", "1", "4"}, {"c", "1", "5"}} {
		if err := RecordOwn(dir, change[0], []byte(change[1]), []byte(change[2])); err != nil {
			t.Fatal(err)
		}
	}
	now, err := ReadImports(dir)
	if err != nil || string(now.Files[0].Own) != "4" || now.Files[1].Own != nil || string(now.Files[2].Own) != "1" {
		t.Errorf("%v: %+v", err, now)
	}
	if err := (&Imports{}).Write(dir); err != nil {
		t.Fatal(err)
	}
	if now, err := ReadImports(dir); now != nil || err != nil {
		t.Errorf("an empty record is there: %v, %v", now, err)
	}
}
