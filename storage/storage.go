// Package storage keeps what toolfold must not lose, in SQLite or PostgreSQL.
// It implements the Store interface of every family.
//
// The SQL is the same for both, with ? for parameters; where the two differ,
// a [dialect] holds the difference. Texts that callers choose freely (keys,
// namespaces) are kept as bytes, so that every character works and the order
// is the same everywhere. Times are whole microseconds since 1970.
//
// To add the store of another family: its tables in the next numbered file of
// schema/sqlite and schema/postgres, a type like memoryStore and a method like
// [DB.Memory] in a file of its own, and its behaviour in storagetest, listed
// in Exercise.
package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/toolfold/toolfold/engine/queue"
	"github.com/toolfold/toolfold/tools/memory"
)

// DB is an open store. It is safe for concurrent use, and several processes
// may have the same one open, unless it is in memory.
type DB struct {
	dialect dialect

	// write and read are the same pool, but for SQLite files: there one
	// connection writes and several read beside it. In memory there is a
	// single connection altogether, so a query's rows must be closed before
	// the next statement, or it waits for ever.
	write, read *sql.DB

	// writes and reads run single statements on them.
	writes, reads tx

	// river makes the durable queue, on first use.
	river func() (*queue.Jobs, error)

	// release lets go of what belongs to the store besides its connections.
	// Nil when there is nothing.
	release func() error
}

// Open opens the store at a URL and brings its schema up to date:
// sqlite:///path, postgres://…, or memory: for one that ends with the process.
// An empty URL is toolfold.db in the user's data directory, see [DefaultURL].
// Errors name no part of a URL that may be a password.
func Open(ctx context.Context, url string) (*DB, error) {
	db, err := open(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("opening store: %w", err)
	}
	return db, nil
}

func open(ctx context.Context, url string) (*DB, error) {
	at, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	switch at.kind {
	case kindSQLite:
		return openSQLite(ctx, at.path)
	case kindPostgres:
		return openPostgres(ctx, url)
	}
	return openMemory(ctx)
}

func newDB(d dialect, write, read *sql.DB) *DB {
	return &DB{dialect: d, write: write, read: read, writes: newTx(write, d), reads: newTx(read, d)}
}

// Close closes the store. Calls that are under way end with an error.
func (db *DB) Close() error {
	errs := []error{db.read.Close(), db.write.Close()}
	if db.release != nil {
		errs = append(errs, db.release())
	}
	return errors.Join(errs...)
}

// Memory returns the store of the memory family.
func (db *DB) Memory() memory.Store {
	return memoryStore{db}
}
