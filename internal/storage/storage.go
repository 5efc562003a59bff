// Package storage is the durable store of toolfold, in SQLite or PostgreSQL. It implements the
// Store interface of every family.
//
// The SQL is the same for both, with ? for parameters; a [dialect] holds the differences. Freely
// chosen texts (keys, namespaces) are stored as bytes, so that every character works and the order
// is the same everywhere. Times are whole microseconds since 1970. Rows and their JSON have types
// of their own, so that results of actions can change independently.
//
// To add the store of another family: its tables in the next numbered file of
// schema/sqlite and schema/postgres, a file of its own with a type like
// memoryStore and a method like [DB.Memory], and a suite in storagetest with a
// line in its table.
package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/toolfold/toolfold/internal/storage/queue"
)

// DB is an open store. It is safe for concurrent use, and several processes
// may have the same one open, unless it is in memory.
type DB struct {
	dialect dialect

	// write and read are the same pool, except for SQLite files: there one connection writes and
	// several others read. A store in memory has a single connection, so a query's rows must be
	// closed before the next statement, which would wait forever.
	write, read *sql.DB

	// writes and reads run single statements on them.
	writes, reads executor

	// river returns River on the database, which the first call sets up.
	river func() (*queue.Jobs, error)

	cutTrimmed     atomic.Int64 // see [CutAnswers]
	lettersTrimmed atomic.Int64 // when old letters were last removed, in microseconds since 1970

	// release releases the store's resources other than connections. It may be nil.
	release func() error
}

// Option is a setting of a store that is not in its URL.
type Option func(*settings)

type settings struct {
	ambientCredentials bool
	log                *slog.Logger
}

// Log sets the logger for messages to the user, such as the path of a copy before an upgrade.
// Without it there are no messages.
func Log(to *slog.Logger) Option { return func(s *settings) { s.log = to } }

// AmbientCredentials permits a password from the environment or the user's password file if the URL
// has no password. It is for URLs from the user of the machine. Without it these credentials stay
// unused, so that a foreign URL cannot send them to its own host.
func AmbientCredentials(use bool) Option {
	return func(s *settings) { s.ambientCredentials = use }
}

// Open opens the store at a URL and brings its schema up to date:
// sqlite:///path, postgres://…, or memory: for one that ends with the process.
// An empty URL is toolfold.db in the user's data directory, see [DefaultURL].
// Errors name no part of a URL that may be a password.
func Open(ctx context.Context, url string, options ...Option) (*DB, error) {
	s := settings{log: slog.New(slog.DiscardHandler)}
	for _, set := range options {
		set(&s)
	}
	at, err := parseURL(url)
	if err != nil {
		return nil, fmt.Errorf("opening store: %w", err)
	}
	var db *DB
	switch at.kind {
	case kindSQLite:
		db, err = openSQLite(ctx, at.path, s.log)
	case kindPostgres:
		db, err = openPostgres(ctx, url, s.ambientCredentials)
	default:
		db, err = openMemory(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("opening store: %w", err)
	}
	return db, nil
}

func newDB(d dialect, write, read *sql.DB) *DB {
	db := &DB{dialect: d, write: write, read: read, writes: newExecutor(write, d), reads: newExecutor(read, d)}
	db.reads.repeats = true
	return db
}

// closeWithin limits the wait of Close for running statements.
const closeWithin = 5 * time.Second

// Close closes the store. Running calls fail at their next statement. After Close, the store and
// its files are not used.
func (db *DB) Close() error {
	errs := []error{db.read.Close(), db.write.Close()}
	began := time.Now()
	for db.read.Stats().OpenConnections+db.write.Stats().OpenConnections > 0 { // closed when their users return them
		if time.Since(began) > closeWithin {
			errs = append(errs, errors.New("closing store: a call still uses it"))
			break
		}
		time.Sleep(time.Millisecond)
	}
	if db.release != nil {
		errs = append(errs, db.release())
	}
	return errors.Join(errs...)
}
