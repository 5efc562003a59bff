package storage

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"
)

// Looking at a store says how it is, and leaves it as it is.
func TestLook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return "sqlite://" + filepath.ToSlash(filepath.Join(dir, name)) }
	look := func(url, want string) {
		t.Helper()
		got, err := Look(context.Background(), url)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %q, want %q", url, got, want)
		}
	}
	look("memory:", "ends with the process")
	look(path("none.db"), "not made yet")
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("looking made %v (%v)", left, err)
	}
	db, err := Open(context.Background(), path("real.db"))
	if err != nil {
		t.Fatal(err)
	}
	look(path("real.db"), "answers, ")
	newest := `(SELECT max(version_id) FROM ` + schemaTable + `)`
	if _, err := db.write.Exec(`DELETE FROM ` + schemaTable + ` WHERE version_id = ` + newest); err != nil {
		t.Fatal(err)
	}
	look(path("real.db"), "answers; its first use upgrades it from schema step ")
	if err := CheckCurrent(t.Context(), path("real.db")); err == nil || !strings.Contains(err.Error(), "its first use upgrades it to ") {
		t.Errorf("a store of an earlier version: %v", err)
	}
	if _, err := db.write.Exec(`INSERT INTO ` + schemaTable + ` (version_id, is_applied) VALUES (9999, 1)`); err != nil {
		t.Fatal(err)
	}
	look(path("real.db"), "it was written by a newer toolfold (schema step 9999")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "other.db"), []byte("not a database"), 0o600); err != nil {
		t.Fatal(err)
	}
	look(path("other.db"), "the file that is to be the store belongs to something else")
	if _, err := Look(context.Background(), "postgres://nobody@127.0.0.1:1/none?connect_timeout=2"); err == nil {
		t.Error("a server that is not there answers")
	}
	if url := os.Getenv("TOOLFOLD_TEST_POSTGRES"); url != "" {
		look(url, "answers")
	}
}

// A store exists once a toolfold has used it, and asking makes none.
func TestExists(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		folder := t.TempDir()
		at := "sqlite://" + filepath.ToSlash(filepath.Join(folder, "a.db"))
		if name == goose.DialectPostgres {
			at = emptyPostgres(t)
		}
		for range 2 {
			if got, err := Exists(t.Context(), at); err != nil || got {
				t.Fatalf("it exists before a toolfold used it: %v", err)
			}
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("asking made %v (%v)", left, err)
		}
		db, err := Open(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := Exists(t.Context(), at); err != nil || !got {
			t.Errorf("an opened store does not exist: %v", err)
		}
		if err := CheckCurrent(t.Context(), at); err != nil {
			t.Errorf("a store of this version: %v", err)
		}
	})
}
