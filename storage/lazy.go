package storage

import (
	"context"
	"errors"
	"sync"
)

// LazyDB is a store that is opened by its first use. It is safe for
// concurrent use.
type LazyDB struct {
	url string

	opened chan struct{} // closed once the store is open

	mu     sync.Mutex
	db     *DB
	closed bool
}

// Lazy returns the store at a URL without looking at it, see [Open].
func Lazy(url string) *LazyDB {
	return &LazyDB{url: url, opened: make(chan struct{})}
}

// Opened is closed once somebody has opened the store.
func (l *LazyDB) Opened() <-chan struct{} { return l.opened }

// Open opens the store, or returns the one that is open. An error is not
// kept: the next call tries again.
func (l *LazyDB) Open(ctx context.Context) (*DB, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errors.New("opening store: it was closed")
	}
	if l.db != nil {
		return l.db, nil
	}
	db, err := Open(ctx, l.url)
	if err != nil {
		return nil, err
	}
	l.db = db
	close(l.opened)
	return db, nil
}

// Close closes the store if it was opened. After it, Open answers an error.
func (l *LazyDB) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.db == nil {
		return nil
	}
	db := l.db
	l.db = nil
	return db.Close()
}
