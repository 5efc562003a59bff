package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
)

// marker is the connection by which a SQLite file is watched: a data version compares with others of the same connection
// only.
type marker struct {
	mu   sync.Mutex
	conn *sql.Conn // nil before the first use, and after an error
	pins int       // connections so far
}

// Mark returns a text that is not the one of an earlier call if something was committed to the store in between, by any
// process. It may also change without a commit. It reads no table.
func (db *DB) Mark(ctx context.Context) (string, error) {
	if db.read == db.write { // in memory, or PostgreSQL
		return scalar[string](ctx, db.reader(), sqlf(db.dialect.mark))
	}
	m := &db.marker
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.conn == nil {
		conn, err := db.read.Conn(ctx)
		if err != nil {
			return "", fmt.Errorf("watching the store: %w", err)
		}
		m.conn, m.pins = conn, m.pins+1
	}
	var version int64
	if err := m.conn.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&version); err != nil {
		err = errors.Join(err, m.conn.Close())
		m.conn = nil
		return "", fmt.Errorf("watching the store: %w", err)
	}
	return fmt.Sprintf("%d-%d", m.pins, version), nil
}

// close returns the connection.
func (m *marker) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.conn == nil {
		return nil
	}
	err := m.conn.Close()
	m.conn = nil
	return err
}
