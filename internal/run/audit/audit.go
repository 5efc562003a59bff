// Package audit records who called what.
package audit

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Entry is a call.
type Entry struct {
	ID        string    `json:"id"` // sorts by time
	Began     time.Time `json:"began"`
	Ended     time.Time `json:"ended,omitzero"` // zero: its end is not recorded
	Caller    string    `json:"caller"`         // name of the token; empty if it has no name
	Token     string    `json:"token"`          // beginning of the token's SHA-256, in hexadecimal digits
	Client    string    `json:"client"`         // as the client calls itself
	Session   string    `json:"session,omitempty"`
	Server    string    `json:"server"`           // the process that ran it: host name and process ID
	Action    string    `json:"action"`           // the called name if it is unknown, or not permitted
	Effect    string    `json:"effect,omitempty"` // reads, adds, sets, deletes or runs; empty for an unknown action
	Arguments string    `json:"arguments"`        // SHA-256 as received, in hexadecimal digits
	Code      string    `json:"code,omitempty"`   // of its error; empty for success
	Trace     string    `json:"trace,omitempty"`
}

// Query selects entries.
type Query struct {
	Since, Until time.Time // when they began; zero = unbounded
	Caller       string    // empty = all
	After        *Entry    // the last entry of the page before; nil for the first page
	Limit        int
}

// Store stores entries.
type Store interface {
	// Append adds entries. The two of a call, with and without its end, may be added in any order and
	// repeatedly.
	Append(ctx context.Context, entries []Entry) error
	// List returns the entries that match, the earliest first; of a call with both, the one with its end.
	List(ctx context.Context, q Query) ([]Entry, error)
	// Prune removes the entries of calls that began before a time.
	Prune(ctx context.Context, before time.Time) error
}

// Options configure a [Log].
type Options struct {
	Open func(context.Context) (Store, error)
	Days int // how long entries are kept; zero = forever
	Log  *slog.Logger
	Now  func() time.Time
}

// Limits of a log.
const (
	storeWithin = 5 * time.Second // for a batch
	addAfter    = time.Second     // before an added entry is stored
	pruneEach   = time.Hour       // between two removals of old entries
	maxKept     = 10_000          // entries that wait for a store that fails
	day         = 24 * time.Hour
)

// Log writes entries in batches. It is safe for concurrent use.
type Log struct {
	o    Options
	turn chan struct{} // has an item while a batch is stored

	mu      sync.Mutex
	next    *batch      // not begun; nil without entries
	timer   *time.Timer // runs while added entries wait; nil otherwise
	dropped int

	pruned time.Time // guarded by turn
}

// batch are entries that are stored together. err is set when stored is closed.
type batch struct {
	entries []Entry
	stored  chan struct{}
	err     error
}

// New returns a log. It opens the store for the first entry.
func New(o Options) *Log {
	return &Log{o: o, turn: make(chan struct{}, 1)}
}

// Write stores an entry before it returns. The entry of a call that has not begun is not stored after an
// error; one with an end is stored when the store works again.
func (l *Log) Write(e Entry) error {
	b := l.put(e)
	select {
	case <-b.stored:
	case l.turn <- struct{}{}:
		l.store()
		<-l.turn
	}
	return b.err
}

// Add stores an entry with the next batch, within about a second.
func (l *Log) Add(e Entry) {
	l.put(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer == nil {
		l.timer = time.AfterFunc(addAfter, l.flush)
	}
}

// Close stores the waiting entries.
func (l *Log) Close() { l.flush() }

func (l *Log) flush() {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.store()
}

func (l *Log) put(e Entry) *batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == nil {
		l.next = &batch{stored: make(chan struct{})}
	}
	l.next.entries = append(l.next.entries, e)
	return l.next
}

// store stores the next batch. The caller has the turn.
func (l *Log) store() {
	l.mu.Lock()
	b := l.next
	l.next = nil
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	l.mu.Unlock()
	if b == nil {
		return
	}
	ctx, done := context.WithTimeout(context.Background(), storeWithin)
	defer done()
	if b.err = l.append(ctx, b.entries); b.err != nil {
		l.keep(b)
	}
	close(b.stored)
}

func (l *Log) append(ctx context.Context, entries []Entry) error {
	store, err := l.o.Open(ctx)
	if err != nil {
		return err
	}
	if err := store.Append(ctx, entries); err != nil {
		return err
	}
	if now := l.o.Now(); l.o.Days > 0 && now.Sub(l.pruned) >= pruneEach {
		l.pruned = now
		if err := store.Prune(ctx, now.Add(-time.Duration(l.o.Days)*day)); err != nil {
			l.o.Log.Warn("removing old entries of the audit", "err", err)
		}
	}
	return nil
}

// keep puts the ended calls of a batch that could not be stored into the next one. Calls that have not ended
// were refused for the same error.
func (l *Log) keep(b *batch) {
	ended := slices.DeleteFunc(slices.Clone(b.entries), func(e Entry) bool { return e.Ended.IsZero() })
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting := 0
	if l.next != nil {
		waiting = len(l.next.entries)
	}
	if room := max(0, maxKept-waiting); len(ended) > room {
		l.dropped += len(ended) - room
		ended = ended[:room]
	}
	l.o.Log.Error("storing the audit: calls that change something are refused until it works again", "err", b.err,
		"waiting", waiting+len(ended), "lost", l.dropped)
	if len(ended) == 0 {
		return
	}
	if l.next == nil {
		l.next = &batch{stored: make(chan struct{})}
	}
	l.next.entries = append(ended, l.next.entries...)
	if l.timer == nil {
		l.timer = time.AfterFunc(addAfter, l.flush)
	}
}
