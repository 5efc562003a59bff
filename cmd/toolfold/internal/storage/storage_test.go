package storage_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/cmd/toolfold/internal/storage"
	"github.com/toolfold/toolfold/cmd/toolfold/internal/storage/storagetest"
)

// sqliteURL returns the URL of a file that does not exist yet, with a name that
// needs escaping.
func sqliteURL(t testing.TB) string {
	path := filepath.Join(t.TempDir(), "100% #1.db")
	return (&url.URL{Scheme: "sqlite", Path: slashed(path)}).String()
}

// slashed is a file's path as URLs have it.
func slashed(path string) string {
	return "/" + strings.TrimPrefix(filepath.ToSlash(path), "/")
}

func open(t *testing.T, url string) *storage.DB {
	t.Helper()
	db, err := storage.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func TestInMemory(t *testing.T) {
	t.Parallel()
	storagetest.Exercise(t, func(t *testing.T) *storage.DB { return open(t, "memory:") })
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	storagetest.Exercise(t, func(t *testing.T) *storage.DB { return open(t, sqliteURL(t)) })
	storagetest.ExerciseDurable(t, func(t *testing.T) string { return sqliteURL(t) })
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	if os.Getenv(storagetest.PostgresVariable) == "" {
		storagetest.Postgres(t) // skips, and says what to set
	}
	storagetest.Exercise(t, func(t *testing.T) *storage.DB { return open(t, storagetest.Postgres(t)) })
	storagetest.ExerciseDurable(t, func(t *testing.T) string { return storagetest.Postgres(t) })
}
