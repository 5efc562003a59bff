package storage_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/tools/agent"
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
	storagetest.Exercise(t, func(t *testing.T) *storage.DB { return open(t, storagetest.SQLite(t)) })
	storagetest.ExerciseDurable(t, func(t *testing.T) string { return sqliteURL(t) })
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	if os.Getenv(storagetest.PostgresVariable) == "" {
		storagetest.Postgres(t) // skips, and says what to set
	}
	fresh := storagetest.PostgresStores(t)
	storagetest.Exercise(t, func(t *testing.T) *storage.DB { return open(t, fresh(t)) })
	storagetest.ExerciseDurable(t, func(t *testing.T) string { return storagetest.Postgres(t) })
}

// After Close nothing uses the files of a store: it waits for a transaction that is under
// way.
func TestCloseWaitsForTransactions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := open(t, "sqlite://"+filepath.Join(dir, "t.db"))
	if _, err := db.Agent().Add(t.Context(), agent.Profile{AgentID: "a"}); err != nil {
		t.Fatal(err)
	}
	within, proceed, changed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := db.Agent().Change(context.Background(), "a", func(p agent.Profile) (agent.Profile, error) {
			close(within)
			<-proceed
			return p, nil
		})
		changed <- err
	}()
	<-within
	closed := make(chan error)
	go func() { closed <- db.Close() }()
	testwait.Until(t, "the store is being closed", func() bool {
		_, _, err := db.Agent().Get(t.Context(), "a")
		return err != nil
	})
	close(proceed)
	if err := testwait.Receive(t, "the store is closed", closed); err != nil {
		t.Error(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), "-wal") || strings.HasSuffix(f.Name(), "-shm") {
			t.Errorf("%s is there after Close", f.Name())
		}
	}
	<-changed // with an error, or done before the store was closed
}
