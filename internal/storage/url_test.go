package storage_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/storage"
)

func TestBadURLs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ url, want string }{
		"no URL":             {"toolfold.db", "memory:, sqlite:///path or postgres://user@host/database"},
		"unknown scheme":     {"mysql://u:secret@h/d", `unknown store scheme "mysql"`},
		"sqlite, two slash":  {"sqlite://secret/x.db", "three slashes"},
		"sqlite, relative":   {"sqlite:secret.db", "three slashes"},
		"sqlite, no path":    {"sqlite:///", "three slashes"},
		"sqlite, options":    {"sqlite:///x.db?secret=1", "no options"},
		"sqlite, escapes":    {"sqlite:///secret%", "%25"},
		"memory, more":       {"memory:secret", "nothing after the colon"},
		"postgres, escapes":  {"postgres://u:secret%zz@h/d", "not valid"},
		"postgres, port":     {"postgres://u:secret@h:port/d", "not valid"},
		"postgres, no host":  {"postgres://u:secret@127.0.0.1:1/d?connect_timeout=2", "connecting to PostgreSQL"},
		"postgresql, option": {"postgresql://u:secret@h/d?sslmode=secret", "not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := storage.Open(t.Context(), c.url)
			if err == nil {
				t.Fatal(db.Close(), "opened")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
				t.Fatalf("got %q, want %q and nothing else of the URL", err, c.want)
			}
		})
	}
}

// TestDefault changes the environment, so it cannot run beside others.
func TestDefault(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_DATA_HOME", filepath.Join(dir, ".local", "share"))
	t.Setenv("LocalAppData", dir)
	t.Setenv("HOME", dir)
	at := filepath.Join(dir, ".local", "share", "toolfold")
	switch runtime.GOOS {
	case "windows":
		at = filepath.Join(dir, "toolfold")
	case "darwin":
		at = filepath.Join(dir, "Library", "Application Support", "toolfold")
	}
	lazy := storage.Lazy("")
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Fatalf("there are files before the first use: %v", files)
	}
	if _, err := lazy.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lazy.Close() })
	info, err := os.Stat(filepath.Join(at, "toolfold.db"))
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode != 0o600 {
		t.Fatalf("the file has mode %o, want 600", mode)
	}
}

func TestLazyTriesAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lazy := storage.Lazy("sqlite://" + slashed(filepath.Join(dir, "x.db")))
	if _, err := lazy.Open(t.Context()); err == nil {
		t.Fatal("a folder that is a file was opened")
	}
	if err := errors.Join(os.Remove(dir), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := lazy.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := lazy.Close(); err != nil {
		t.Fatal(err)
	}
}
