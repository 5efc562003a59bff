package memory

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// ErrNotFound is returned by [Store.Get] for a key that does not exist.
var ErrNotFound = errors.New("entry not found")

// Entry is what is kept under a key.
type Entry struct {
	Namespace, Key string // any characters, never empty
	Value          json.RawMessage
	StoredAt       time.Time // UTC, whole microseconds
}

// Scope narrows an operation down. Its zero value means all entries.
type Scope struct {
	Namespace string // empty: every namespace
	Prefix    string // of the key
}

// Place is where an entry stands in the order of namespace and key, both by
// their bytes. The zero value is before the first entry.
type Place struct {
	Namespace, Key string
}

// Page is a part of a list: what follows After, at most Limit entries. A zero
// Limit is no limit.
type Page struct {
	After Place
	Limit int
}

// Totals is what a namespace holds.
type Totals struct {
	Namespace string
	Count     int
	Bytes     int // of the values
}

// Store keeps entries. It is safe for concurrent use. What a method
// acknowledged is durable, and visible to every later call. Methods that
// change several entries change all of them or, on an error, none.
//
// A store keeps [IndexText] of every entry beside it, so that Index finds it.
type Store interface {
	Index

	// Put stores an entry and tells whether it replaced one.
	Put(ctx context.Context, e Entry) (replaced bool, err error)

	// Get returns an entry, or ErrNotFound.
	Get(ctx context.Context, namespace, key string) (Entry, error)

	// Import stores entries in their order and returns how many it stored.
	// Those whose key exists are left out, unless overwrite is set.
	Import(ctx context.Context, entries []Entry, overwrite bool) (stored int, err error)

	// Headings lists entries without their values, in the order of Place.
	Headings(ctx context.Context, scope Scope, page Page) ([]Entry, error)

	// Entries lists whole entries, in the order of Place.
	Entries(ctx context.Context, scope Scope, page Page) ([]Entry, error)

	// Count counts the entries of a scope.
	Count(ctx context.Context, scope Scope) (int, error)

	// Totals sums up the namespaces of a scope that hold something, in order.
	Totals(ctx context.Context, scope Scope) ([]Totals, error)

	// Delete removes entries by key and returns the keys that existed, in the
	// order given. Neither Delete nor DeleteAll returns nil without an error.
	Delete(ctx context.Context, namespace string, keys []string) (deleted []string, err error)

	// DeleteAll removes the entries of one namespace whose keys start with
	// prefix, and returns the keys, sorted. It takes no Scope, because nothing
	// may delete from every namespace at once.
	DeleteAll(ctx context.Context, namespace, prefix string) (deleted []string, err error)
}

// Index finds entries by the words of their [IndexText]. It may be asked
// while entries change: an entry that is gone by the next question is left
// out.
type Index interface {
	// Frequency counts the entries that match, up to limit.
	Frequency(ctx context.Context, m Match, limit int) (int, error)

	// Candidates returns entries that match, in any order. When more than
	// limit do, it returns those that were added last.
	Candidates(ctx context.Context, m Match, limit int) ([]Candidate, error)

	// Load returns the entries with these ids, in any order.
	Load(ctx context.Context, ids []int64) (map[int64]Entry, error)
}

// Match is a condition on the words of an entry: it has every one of them.
// There is at least one.
type Match []Word

// Word is a word of [IndexText], or the beginning of one. It has no spaces
// and no quotes.
type Word struct {
	Text   string
	Prefix bool
}

// Candidate is an entry that matched, as far as ranking needs it.
type Candidate struct {
	ID       int64 // the store's own
	StoredAt time.Time
	Words    string // IndexText
}
