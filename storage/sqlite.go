package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/pressly/goose/v3"
	"github.com/rogpeppe/go-internal/lockedfile"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/toolfold/toolfold/engine/queue"
	"github.com/toolfold/toolfold/tools/memory"
)

var sqliteDialect = dialect{
	goose:  goose.DialectSQLite3,
	schema: "schema/sqlite",

	// A writer holds the lock from its first statement on and others wait
	// for it, so no transaction fails because of another.
	again: func(error) bool { return false },

	clock:        `CAST(unixepoch('subsec') * 1000000 AS INTEGER)`,
	migrateQueue: queue.MigrateSQLite,

	memoryMatches: `SELECT rowid AS id FROM memory_index WHERE memory_index MATCH ?`,
	matchText: func(m memory.Match) string {
		return joinWords(m, `"`, "*", " AND ")
	},
}

// Settings of every connection. Waiting for a lock ends after ten seconds,
// or with the context of the call.
var (
	sqliteWriter = url.Values{
		"_pragma": {"busy_timeout(10000)", "foreign_keys(ON)", "synchronous(FULL)"},
		"_txlock": {"immediate"},
	}
	sqliteReader = url.Values{
		"_pragma": {"busy_timeout(10000)", "foreign_keys(ON)", "query_only(ON)"},
	}
)

// openSQLite opens a database file. Beside it, a file that ends in .lock
// keeps processes from creating or upgrading it at the same time: SQLite
// itself has no lock that spans several transactions.
func openSQLite(ctx context.Context, path string) (*DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making data directory: %w", err)
	}
	unlock, err := lockedfile.MutexAt(path + ".lock").Lock()
	if err != nil {
		return nil, fmt.Errorf("locking database file: %w", err)
	}
	defer unlock()
	if err := createPrivate(path); err != nil {
		return nil, fmt.Errorf("creating database file: %w", err)
	}
	write, err := sqlitePool(path, sqliteWriter, 1)
	if err != nil {
		return nil, err
	}
	read, err := sqlitePool(path, sqliteReader, max(4, runtime.GOMAXPROCS(0)))
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	db := newDB(sqliteDialect, write, read)
	db.river = onSQLite(write)
	if err := prepareSQLite(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// onSQLite prepares the durable queue when it is first used.
func onSQLite(pool *sql.DB) func() (*queue.Jobs, error) {
	return sync.OnceValues(func() (*queue.Jobs, error) { return queue.OnSQLite(pool) })
}

// createPrivate makes the file readable for its owner only. A file that
// exists is not even opened: closing it would drop the locks that this
// process holds on it.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

func sqlitePool(path string, settings url.Values, size int) (*sql.DB, error) {
	address := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: settings.Encode()}
	if runtime.GOOS == "windows" {
		address.Path = "/" + address.Path
	}
	pool, err := sql.Open("sqlite", address.String())
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	return pool, nil
}

func prepareSQLite(ctx context.Context, db *DB) error {
	if _, err := db.write.ExecContext(ctx, "PRAGMA journal_mode=WAL"); err != nil {
		return fmt.Errorf("choosing write-ahead log: %w", err)
	}
	return upgrade(ctx, db.write, db.dialect)
}

// memories numbers the stores in memory, each of which has a name of its own.
var memories atomic.Int64

// openMemory opens a store that lives until it is closed. A second connection
// keeps it when the first one is given up, as database/sql does when the
// context of a call ends.
func openMemory(ctx context.Context) (*DB, error) {
	settings := url.Values{"vfs": {"memdb"}}
	for name, values := range sqliteWriter {
		settings[name] = values
	}
	path := fmt.Sprintf("/toolfold-%d", memories.Add(1))
	keep, err := sqlitePool(path, settings, 1)
	if err != nil {
		return nil, err
	}
	conn, err := keep.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, keep.Close())
	}
	pool, err := sqlitePool(path, settings, 1)
	if err != nil {
		return nil, errors.Join(err, conn.Close(), keep.Close())
	}
	db := newDB(sqliteDialect, pool, pool)
	db.river = onSQLite(pool)
	db.release = func() error { return errors.Join(conn.Close(), keep.Close()) }
	if err := upgrade(ctx, db.write, db.dialect); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}
