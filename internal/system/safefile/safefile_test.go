package safefile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

func folder(t *testing.T) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root, dir
}

func TestRead(t *testing.T) {
	t.Parallel()
	root, dir := folder(t)
	for name, text := range map[string]string{"full": "0123456789", "over": "0123456789x", "empty": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	sparse, err := os.Create(filepath.Join(dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sparse.Truncate(1<<30), sparse.Close()); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, want, fault string }{
		{"full", "0123456789", ""},
		{"empty", "", ""},
		{"over", "", "it has more than 10 bytes"},
		{"sparse", "", "it has more than 10 bytes"},
		{"folder", "", ErrNotPlain.Error()},
		{"absent", "", "no such file"},
	} {
		text, err := Read(root, test.name, 10)
		if string(text) != test.want || (err == nil) != (test.fault == "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%s: got %q, %v; want %q, %s", test.name, text, err, test.want, test.fault)
		}
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	root, dir := folder(t)
	if err := os.WriteFile(filepath.Join(dir, "shared"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "shared"), 0o640); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"new": 0o600, "shared": 0o640} {
		if err := Replace(root, name, []byte("text")); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(text) != "text" {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: mode %v, %v; want %v", name, info.Mode(), err, mode)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Replace(root, "folder", []byte("text")); err == nil {
		t.Error("a folder was replaced")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestLockKeepsGoroutinesApart(t *testing.T) {
	t.Parallel()
	for _, path := range []string{filepath.Join(t.TempDir(), "lock"), filepath.Join(t.TempDir(), "absent", "lock"), ""} {
		var group sync.WaitGroup
		count := 0
		for range 50 {
			group.Go(func() {
				unlock, err := Lock(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				defer unlock()
				count++
			})
		}
		group.Wait()
		if count != 50 {
			t.Errorf("%q: counted %d", path, count)
		}
	}
}

// The other holder locks the file through its own handle, as another process would. Cancelled calls
// leave at most one goroutine waiting, and the lock can be taken once it is free.
func TestLockEndsWithContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	held, err := lockedfile.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if _, err := Lock(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("locked by two: %v", err)
		}
		cancel()
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	unlock, err := Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
