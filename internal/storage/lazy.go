package storage

import (
	"context"
	"errors"
	"sync"
	"time"
)

// openWithin limits the time to open a store.
const openWithin = time.Minute

// LazyDB is a store that is opened by its first use. It is safe for
// concurrent use.
type LazyDB struct {
	url     string
	options []Option
	opened  chan struct{} // closed once the store is open

	closing context.Context // ended by Close
	close   context.CancelFunc

	mu      sync.Mutex
	db      *DB
	opening *opening // nil if no attempt is running
}

// opening is an attempt to open a store, shared by all waiting calls.
type opening struct {
	done chan struct{}
	db   *DB
	err  error
}

// Lazy returns the store at a URL without opening it, see [Open].
func Lazy(url string, options ...Option) *LazyDB {
	l := &LazyDB{url: url, options: options, opened: make(chan struct{})}
	l.closing, l.close = context.WithCancel(context.Background())
	return l
}

// Opened is closed once a call has opened the store.
func (l *LazyDB) Opened() <-chan struct{} { return l.opened }

// Open returns the store, and opens it if necessary. Concurrent calls share one attempt; each waits
// until its own context ends. After an error the next call tries again.
func (l *LazyDB) Open(ctx context.Context) (*DB, error) {
	l.mu.Lock()
	if l.closing.Err() != nil {
		l.mu.Unlock()
		return nil, errors.New("opening store: it was closed")
	}
	if l.db != nil {
		defer l.mu.Unlock()
		return l.db, nil
	}
	o := l.opening
	if o == nil {
		o = &opening{done: make(chan struct{})}
		l.opening = o
		go l.open(o)
	}
	l.mu.Unlock()
	select {
	case <-o.done:
		return o.db, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *LazyDB) open(o *opening) {
	ctx, done := context.WithTimeout(l.closing, openWithin)
	defer done()
	o.db, o.err = Open(ctx, l.url, l.options...)
	l.mu.Lock()
	defer l.mu.Unlock()
	defer close(o.done)
	l.opening = nil
	switch {
	case o.err != nil:
	case l.closing.Err() != nil:
		o.err = errors.Join(errors.New("opening store: it was closed"), o.db.Close())
		o.db = nil
	default:
		l.db = o.db
		close(l.opened)
	}
}

// Close closes the store if it was opened, and ends an attempt to open it.
// After it, Open returns an error.
func (l *LazyDB) Close() error {
	l.mu.Lock()
	l.close()
	o, db := l.opening, l.db
	l.db = nil
	l.mu.Unlock()
	if o != nil {
		<-o.done
	}
	if db == nil {
		return nil
	}
	return db.Close()
}
