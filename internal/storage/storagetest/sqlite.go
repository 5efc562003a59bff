package storagetest

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/toolfold/toolfold/internal/storage"
)

// SQLite returns the URL of a new store file with an empty schema. It copies a store that is
// created once, because every schema step waits for the disk.
func SQLite(t testing.TB) string {
	t.Helper()
	store, err := empty()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "100% #1.db") // a name that needs escaping
	if err := os.WriteFile(path, store, 0o600); err != nil {
		t.Fatal(err)
	}
	return sqliteURL(path)
}

// empty returns the file of an empty store.
var empty = sync.OnceValues(func() (store []byte, err error) {
	dir, err := os.MkdirTemp("", "toolfold-store-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "empty.db")
	db, err := storage.Open(context.Background(), sqliteURL(path))
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func sqliteURL(path string) string {
	return (&url.URL{Scheme: "sqlite", Path: "/" + strings.TrimPrefix(filepath.ToSlash(path), "/")}).String()
}
