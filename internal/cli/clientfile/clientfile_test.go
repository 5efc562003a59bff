package clientfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// What another program writes between reading and writing is not lost, and a file that
// never rests is left alone.
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
