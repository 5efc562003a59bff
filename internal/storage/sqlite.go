package storage

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite" // and the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/storage/queue"
	"github.com/toolfold/toolfold/internal/system/safefile"
)

var sqliteDialect = dialect{
	name:      goose.DialectSQLite3,
	schema:    "schema/sqlite",
	inProcess: true,

	// A writer holds the lock from its first statement on, and other writers wait for it. So a
	// transaction never fails because of another one.
	repeatable: func(error) bool { return false },
	fault:      sqliteFault,

	clock:        `CAST(unixepoch('subsec') * 1000000 AS INTEGER)`,
	mark:         []string{`SELECT CAST(n AS TEXT) FROM store_changes`},
	jobWorker:    `attempted_by ->> '$[#-1]'`,
	migrateQueue: queue.MigrateSQLite,
}

// sqliteFault recognizes errors that a user can fix.
func sqliteFault(err error) *fault {
	failed, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return nil
	}
	faults := map[int]*toolfold.Error{
		sqlite3.SQLITE_BUSY: unavailable("another program has the store locked").
			WithHint("call again; if that stays, close programs that work on the store's file"),
		sqlite3.SQLITE_LOCKED: unavailable("another program has the store locked").
			WithHint("call again; if that stays, close programs that work on the store's file"),
		sqlite3.SQLITE_FULL: unavailable("the disk of the store is full; nothing was changed").
			WithHint("free some space on it, then call again"),
		sqlite3.SQLITE_READONLY: unavailable("the store cannot be written: its file or folder is read-only").
			WithHint("make both writable, or use another store"),
		sqlite3.SQLITE_PERM: unavailable("the store cannot be used: access to its file is denied").
			WithHint("make the file and its folder yours, or use another store"),
		sqlite3.SQLITE_CANTOPEN: unavailable("the store's file cannot be opened").
			WithHint("look whether the file and its folder are there and yours"),
		sqlite3.SQLITE_IOERR: unavailable("the disk of the store reports an error").
			WithHint("look whether the disk is full or failing, then call again"),
		sqlite3.SQLITE_CORRUPT: unavailable("the store's file is damaged").WithHint("restore a copy of it, or use another store"),
		sqlite3.SQLITE_NOTADB:  unavailable("the store's file is damaged").WithHint("restore a copy of it, or use another store"),
	}[failed.Code()&0xff]
	if faults == nil {
		return nil
	}
	return &fault{faults, err}
}

// Settings of every connection. The wait for a lock ends after ten seconds, or with the context of
// the call.
var (
	sqliteWriter = url.Values{
		"_pragma": {"busy_timeout(10000)", "foreign_keys(ON)", "synchronous(FULL)"},
		"_txlock": {"immediate"},
	}
	sqliteReader = url.Values{
		"_pragma": {"busy_timeout(10000)", "foreign_keys(ON)", "query_only(ON)"},
	}
)

// openSQLite opens a database file that is toolfold's, empty or new. Beside
// it, a file that ends in .lock keeps processes from creating or upgrading it
// at the same time: SQLite itself has no lock that spans several transactions.
func openSQLite(ctx context.Context, path string, log *slog.Logger) (db *DB, err error) {
	defer func() { err = sqliteDialect.explain(err) }()
	if err := checkFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := checkOurs(ctx, path); err != nil {
		return nil, err
	}
	unlock, err := lockFile(ctx, path+".lock")
	if err != nil {
		return nil, err
	}
	defer unlock()

	// The file is readable for its owner only. An existing file is not opened: closing it would
	// drop the locks of this process.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		err = file.Close()
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return nil, unwritable(err)
	}
	write, err := sqlitePool(path, sqliteWriter, 1)
	if err != nil {
		return nil, err
	}
	read, err := sqlitePool(path, sqliteReader, max(4, runtime.GOMAXPROCS(0)))
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	db = newDB(sqliteDialect, write, read)
	db.river = sync.OnceValues(func() (*queue.Jobs, error) { return queue.OnSQLite(write) })
	if err := prepareSQLite(ctx, db, path, log); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if db.writes.there, err = fileCheck(path); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// fileCheck returns a function that fails if the file of an open store was removed or replaced: SQLite
// continues with the old file, which is lost when the process ends.
func fileCheck(path string) (there func() error, err error) {
	opened, err := os.Stat(path)
	return func() error {
		now, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(opened, now) {
			return unavailable("the store's file was removed or replaced while it was open; nothing was changed").
				WithHint("put the file back, or start toolfold again, which makes a new store if there is no file")
		}
		return nil
	}, err
}

// checkFolder creates the folder of a store in the user's data directory. Elsewhere the folder must
// exist.
func checkFolder(dir string) error {
	data, err := dataDir(runtime.GOOS)
	if ours, rel := filepath.Join(data, "toolfold"), ""; err == nil {
		if rel, err = filepath.Rel(ours, dir); err == nil && filepath.IsLocal(rel) {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return unwritable(err)
			}
		}
	}
	info, err := os.Stat(dir)
	if err == nil && info.IsDir() {
		return nil
	}
	return &fault{unavailable("the folder of the store does not exist").WithHint("make it, or name a file in a folder that does"), err}
}

func unwritable(err error) error {
	return &fault{unavailable("the store's file or folder cannot be written").
		WithHint("look at its permissions and at the space on its disk, or use another store"), err}
}

// applicationID marks a SQLite file as toolfold's, in its header.
const applicationID = 0x746f6f6c

// checkOurs fails for a file that is not a store of toolfold, empty or new. It changes nothing.
func checkOurs(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return unwritable(err)
	}
	refusal := &fault{answer: unavailable("the file that is to be the store belongs to something else; it was not changed").
		WithHint("name a file that does not exist yet, or a store of toolfold")}
	if !info.Mode().IsRegular() {
		return refusal
	}
	if info.Size() == 0 {
		return nil
	}
	// An immutable file is read from disk: without lock, log or another file. If it shows an empty
	// database, the data may be in the log.
	ours, empty, err := inspect(ctx, path, url.Values{"mode": {"ro"}, "immutable": {"1"}})
	if log, statErr := os.Stat(path + "-wal"); !ours && (err != nil || empty) && statErr == nil && log.Size() > 0 {
		ours, empty, err = inspect(ctx, path, url.Values{"mode": {"ro"}})
	}
	if err != nil {
		refusal.cause = err
	}
	if err != nil || !ours && !empty {
		return refusal
	}
	return nil
}

// inspect reports whether a database file is a store of toolfold, and whether it is an empty
// database without a program's mark.
func inspect(ctx context.Context, path string, settings url.Values) (ours, empty bool, err error) {
	pool, err := sqlitePool(path, settings, 1)
	if err != nil {
		return false, false, err
	}
	defer pool.Close()
	var id, tables, schemas int
	if err := pool.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&id); err != nil {
		return false, false, err
	}
	if id == applicationID {
		return true, false, nil
	}
	err = pool.QueryRowContext(ctx, `SELECT count(*), count(CASE WHEN name = '`+schemaTable+`' THEN 1 END) FROM sqlite_master`).
		Scan(&tables, &schemas)
	return schemas > 0, id == 0 && tables == 0, err
}

// lockWithin limits the wait for another process that opens the same store.
const lockWithin = 30 * time.Second

// lockFile creates and locks a file, and writes the process id into it.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	limited, done := context.WithTimeout(ctx, lockWithin)
	defer done()
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, unwritable(err)
	}
	_ = file.Close()
	unlock, err = safefile.Lock(limited, path)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		holder := "another toolfold"
		if raw, err := os.ReadFile(path); err == nil {
			if pid, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil {
				holder += fmt.Sprintf(", process %d,", pid)
			}
		}
		return nil, &fault{unavailable("%s is opening or upgrading the store", holder).
			WithHint("wait until it is done, or end it, then call again"), err}
	}
	// Other processes read the number only to name the process.
	_ = os.WriteFile(path, strconv.AppendInt(nil, int64(os.Getpid()), 10), 0o600)
	_ = os.Chmod(path, 0o600)
	return unlock, nil
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

// prepareSQLite marks the file before it enables the write-ahead log, so that the mark is never
// only in the log.
func prepareSQLite(ctx context.Context, db *DB, path string, log *slog.Logger) error {
	id, err := scalar[int](ctx, db.writer(), sqlf(`PRAGMA application_id`))
	if err != nil {
		return fmt.Errorf("reading the database file: %w", err)
	}
	if id != applicationID {
		if _, err := db.write.ExecContext(ctx, fmt.Sprintf(`PRAGMA application_id = %d`, applicationID)); err != nil {
			return fmt.Errorf("marking the database file: %w", err)
		}
	}
	if _, err := db.write.ExecContext(ctx, "PRAGMA journal_mode=WAL"); err != nil {
		return fmt.Errorf("choosing write-ahead log: %w", err)
	}
	return upgrade(ctx, db.write, db.dialect, func(step int64) error {
		copied, err := copySQLite(ctx, db.write, path, step)
		if err != nil {
			return fmt.Errorf("copying the store: %w", err)
		}
		log.Warn("the store is brought up to date; an earlier toolfold opens the copy made before", "copy", copied)
		return nil
	})
}

// copySQLite copies a store, including its log, to a file beside it, named by the schema step, and
// returns its path. An existing copy stays. If it has the same content, it is the copy of an
// interrupted upgrade; otherwise copySQLite makes another copy.
func copySQLite(ctx context.Context, pool *sql.DB, path string, step int64) (copied string, err error) {
	first := fmt.Sprintf("%s.step%d", path, step)
	unfinished := first + ".unfinished" // the caller holds the lock
	if err := os.Remove(unfinished); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", unwritable(err)
	}
	defer os.Remove(unfinished)
	file, err := os.OpenFile(unfinished, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // readable for its owner only, before it has content
	if err != nil {
		return "", unwritable(err)
	}
	if err := file.Close(); err != nil {
		return "", err
	}
	if _, err := pool.ExecContext(ctx, `VACUUM INTO ?`, unfinished); err != nil {
		return "", err
	}
	content, err := syncedSum(unfinished)
	if err != nil {
		return "", err
	}
	copied = first
	for n := 2; ; n++ {
		present, err := syncedSum(copied)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return copied, os.Rename(unfinished, copied)
		case err != nil:
			return "", unwritable(err)
		case present == content:
			return copied, nil
		}
		copied = fmt.Sprintf("%s.%d", first, n)
	}
}

// sqliteHeader is the size in bytes of the header of a database file, which counts copies
// and changes.
const sqliteHeader = 100

// syncedSum syncs a database file to disk and returns the digest of its content after the header.
func syncedSum(path string) (sum [sha256.Size]byte, err error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return sum, err
	}
	defer file.Close()
	if _, err := file.Seek(sqliteHeader, io.SeekStart); err != nil {
		return sum, err
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return sum, err
	}
	return [sha256.Size]byte(hash.Sum(nil)), file.Sync()
}

// memories numbers the stores in memory, so that each has its own name.
var memories atomic.Int64

// openMemory opens a store that exists until it is closed. A second connection preserves it when
// database/sql drops the first one because the context of a call ended.
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
	db.river = sync.OnceValues(func() (*queue.Jobs, error) { return queue.OnSQLite(pool) })
	db.release = func() error { return errors.Join(conn.Close(), keep.Close()) }
	if err := upgrade(ctx, db.write, db.dialect, nil); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}
