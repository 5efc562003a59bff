package memory

import (
	"context"
	"encoding/json"
	"time"
)

// Entry is a value under a key. Its value is stored byte by byte.
type Entry struct {
	Namespace, Key string // any characters, never empty
	Value          json.RawMessage
	StoredAt       time.Time // UTC, whole microseconds

	// Words is [IndexText] of an entry that is to be stored. Entries that were
	// read lack it: stores hand the words back in a [Candidate] only.
	Words string
}

// Heading is an entry without its value.
type Heading struct {
	Namespace, Key string
	StoredAt       time.Time
	Size           int // bytes of the value
}

// Scope narrows an operation down. Its zero value means all entries.
type Scope struct {
	Namespace string // empty: every namespace
	Prefix    string // of the key
}

// Place is the position of an entry in the order of namespace and key, both by
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

// Totals sums up a namespace.
type Totals struct {
	Namespace string
	Count     int
	Bytes     int // of the values
}

// Store keeps entries. It is safe for concurrent use. What a method
// acknowledged is durable, and visible to every later call. Methods that
// change several entries change all of them or, on an error, none.
type Store interface {
	Index

	// Put stores an entry and reports whether it replaced one.
	Put(ctx context.Context, e Entry) (replaced bool, err error)

	// Get returns an entry; found is false where there is none.
	Get(ctx context.Context, namespace, key string) (e Entry, found bool, err error)

	// Import stores entries in their order and returns how many it stored.
	// Those whose key exists are left out, unless overwrite is set.
	Import(ctx context.Context, entries []Entry, overwrite bool) (stored int, err error)

	// Headings lists entries without their values, in the order of Place.
	Headings(ctx context.Context, scope Scope, page Page) ([]Heading, error)

	// Entries lists whole entries, in the order of Place.
	Entries(ctx context.Context, scope Scope, page Page) ([]Entry, error)

	// Count counts the entries of a scope.
	Count(ctx context.Context, scope Scope) (int, error)

	// Totals sums up the namespaces of a scope that are not empty, in order.
	Totals(ctx context.Context, scope Scope) ([]Totals, error)

	// Delete removes entries by key and returns the keys that existed, in the
	// order given. It does not return nil without an error.
	Delete(ctx context.Context, namespace string, keys []string) (deleted []string, err error)

	// DeleteAll removes the entries of one namespace whose keys start with
	// prefix. It returns their number and, sorted, the first of their keys, at
	// most naming. It takes no Scope, because nothing may delete from every
	// namespace at once.
	DeleteAll(ctx context.Context, namespace, prefix string, naming int) (deleted int, first []string, err error)

	// Reindex replaces the words of up to limit entries that an earlier version
	// indexed in another form, and reports whether more are left.
	Reindex(ctx context.Context, limit int, words func(Entry) string) (left bool, err error)
}

// Index finds entries by the words of their [IndexText]. Entries may change
// between two calls: one that is gone is left out.
type Index interface {
	// Matching returns the ids of the entries of a scope that match, the
	// latest first, at most limit. Where thousands match, a store may leave
	// out later ones rather than visit them all.
	Matching(ctx context.Context, scope Scope, m Match, limit int) ([]int64, error)

	// CountMatching counts the entries of a scope that match, up to limit.
	CountMatching(ctx context.Context, scope Scope, m Match, limit int) (int, error)

	// Known returns those of the words that an entry has, in any order.
	Known(ctx context.Context, words []string) ([]string, error)

	// LastID returns the highest id in use. Ids are given in ascending order;
	// there are at most as many entries.
	LastID(ctx context.Context) (int64, error)

	// Candidates returns the words of the entries with these ids, in any order.
	Candidates(ctx context.Context, ids []int64) ([]Candidate, error)

	// Load returns the entries with these ids.
	Load(ctx context.Context, ids []int64) (map[int64]Entry, error)
}

// Match is a condition on the words of an entry: it has one of each group.
// There is at least one group, and no group is empty.
type Match []Group

// Group lists words of which any will do.
type Group []Word

// Word is a word of [IndexText], or the beginning of one. It has no spaces
// and no quotes.
type Word struct {
	Text   string
	Prefix bool
}

// Candidate is an entry that matched, with what ranking needs of it.
type Candidate struct {
	ID       int64 // the store's own
	StoredAt time.Time
	Words    string // IndexText
}
