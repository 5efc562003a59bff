package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"
)

// Entry is a value under a key. Its value is stored byte by byte.
type Entry struct {
	Namespace, Key string // any characters, never empty
	Value          json.RawMessage
	Tags           []string  // sorted, each once; nil = no tags
	Workspace      string    // owner, or [User]
	Author         string    // name of the client that stored it; empty if that is unknown
	StoredAt       time.Time // UTC, whole microseconds, as all times
	ExpiresAt      time.Time // zero = never
	Version        int       // from 1; the store assigns it

	// Words is the [IndexText] of an entry to store. Stores do not return it in entries, only in a
	// [Candidate].
	Words string
}

// Same reports whether two versions have the same value and tags. Storing the same entry again
// creates no new version.
func (e Entry) Same(other Entry) bool {
	return bytes.Equal(e.Value, other.Value) && slices.Equal(e.Tags, other.Tags)
}

// History limits the earlier versions that a store keeps of an entry, also of a deleted one. The
// zero value keeps no versions, and leaves those of other processes. Versions are not kept after
// they expire.
type History struct {
	Versions int           // latest versions of an entry
	Age      time.Duration // since a version was replaced or deleted
}

// HistoryBytes limits the values of all earlier versions of an entry, in bytes.
const HistoryBytes = 1 << 20

// On reports whether earlier versions are kept.
func (h History) On() bool { return h.Versions > 0 && h.Age > 0 }

// Since returns the time of the history's beginning: versions replaced before it are dropped.
func (h History) Since(now time.Time) time.Time {
	if !h.On() {
		return now
	}
	return now.Add(-h.Age)
}

// Version is an earlier version of an entry without its value.
type Version struct {
	Heading
	Number     int
	Author     string    // see [Entry]
	ReplacedAt time.Time // or deleted
	Deleted    bool      // the entry does not exist now
}

// VersionPosition is the position of a version in a list: its Place and Number, or its Moment,
// whose time is ReplacedAt. The zero value is before the first version.
type VersionPosition struct {
	Place
	Number int
	Moment
}

// Restorer has the author and the time of a restore. Words returns [IndexText].
type Restorer struct {
	Author string
	Now    time.Time
	Words  func(Entry) string
}

// RestoreResult is the outcome of [Store.Restore].
type RestoreResult struct {
	From    int    // the version that is current now; 0 = there is no such version, and nothing changed
	Done    bool   // false = it was current already
	Current *Entry // the replaced entry; nil = there was no entry
}

// PurgeResult is the outcome of [Store.Purge].
type PurgeResult struct {
	Entries, Versions int      // removed
	Keys              []string // of the first removed entries, sorted
}

// User is the workspace of entries that belong to all workspaces.
const User = "user"

// Heading is an entry without its value.
type Heading struct {
	ID                  int64 // assigned by the store
	Namespace, Key      string
	Tags                []string
	Workspace           string
	StoredAt, ExpiresAt time.Time
	Size                int // bytes of the value
	Version             int // of the entry; lists of versions have their Number instead
}

// Scope selects the entries of an operation. The zero value means all entries.
type Scope struct {
	Namespace string    // empty = every namespace
	Key       string    // empty = every key
	Prefix    string    // of the key
	Tags      []string  // entries must have all of them
	Workspace string    // empty = every workspace
	Except    string    // excluded workspace; only for lists and counts
	Now       time.Time // excludes entries that expired by then; zero = no exclusion
}

// Marks returns the words of [IndexText] that exactly the entries with the namespace, tags and
// workspace of the scope have.
func (s Scope) Marks() Match {
	var marks Match
	if s.Namespace != "" {
		marks = append(marks, Group{{Text: namespaceToken(s.Namespace)}})
	}
	if s.Workspace != "" {
		marks = append(marks, Group{{Text: workspaceToken(s.Workspace)}})
	}
	for _, tag := range s.Tags {
		marks = append(marks, Group{{Text: tagToken(tag)}})
	}
	return marks
}

// Place identifies an entry, and is its position in the byte order of namespace, key and workspace.
// The zero value is before the first entry.
type Place struct {
	Namespace, Key, Workspace string
}

// Page is a part of a list: at most Limit entries after After. A zero Limit means no limit.
type Page struct {
	After Place
	Limit int
}

// Moment is the position of an entry in a list ordered latest first. The zero value is before the
// latest entry.
type Moment struct {
	StoredAt time.Time
	ID       int64
}

// Totals sums up a namespace.
type Totals struct {
	Namespace string
	Count     int
	Bytes     int // of the values
}

// Store stores entries, and earlier versions of entries that Put, Import and Restore replace or
// Delete and DeleteAll remove. Expired entries leave no versions. It is safe for concurrent use. A
// successful change is durable and visible to every later call. A method that changes several
// entries changes none of them if it returns an error.
type Store interface {
	Index
	Marks

	// Put stores an entry and returns the replaced one as old, or nil. If merge is not nil, Put
	// stores the result of merge for the new and the replaced entry. Merge may be called several
	// times. An entry that has expired when e is stored counts as missing, so old is nil. An entry
	// that is the [Entry.Same] as before keeps its version.
	Put(ctx context.Context, e Entry, merge func(e, old Entry) Entry) (old *Entry, err error)

	// Add stores an entry if its place is free, and reports whether it did.
	Add(ctx context.Context, e Entry) (added bool, err error)

	// Get returns an entry; found is false if it does not exist or has expired.
	Get(ctx context.Context, at Place, now time.Time) (e Entry, found bool, err error)

	// Import stores entries in order and returns the number of stored ones. It skips entries whose
	// place is taken, unless overwrite is set.
	Import(ctx context.Context, entries []Entry, overwrite bool, now time.Time) (stored int, err error)

	// Headings lists entries without their values, in the order of Place.
	Headings(ctx context.Context, scope Scope, page Page) ([]Heading, error)

	// Newest lists at most limit entries after a position, without their values: latest first, then
	// by descending ID.
	Newest(ctx context.Context, scope Scope, after Moment, limit int) ([]Heading, error)

	// Entries lists whole entries, in the order of Place.
	Entries(ctx context.Context, scope Scope, page Page) ([]Entry, error)

	// Count counts the entries of a scope.
	Count(ctx context.Context, scope Scope) (int, error)

	// Totals sums up the namespaces of a scope that are not empty, in order.
	Totals(ctx context.Context, scope Scope) ([]Totals, error)

	// Existing returns the keys that exist in the namespace and workspace of a scope, sorted.
	// Without an error it does not return nil.
	Existing(ctx context.Context, scope Scope, keys []string) ([]string, error)

	// Delete removes entries in the namespace and workspace of a scope by key. It returns the keys
	// that existed, in the given order. Without an error it does not return nil.
	Delete(ctx context.Context, scope Scope, keys []string) (deleted []string, err error)

	// DeleteAll removes the entries in the namespace and workspace of a scope whose keys start with
	// its prefix. It returns their number and their first keys, sorted, at most naming. An empty
	// namespace matches no entries, so that no call deletes from every namespace.
	DeleteAll(ctx context.Context, scope Scope, naming int) (deleted int, first []string, err error)

	// Version returns an earlier version of an entry. Found is false if it does not exist, has
	// expired or is older than the history. This applies to all methods that read versions.
	Version(ctx context.Context, at Place, number int, now time.Time) (e Entry, found bool, err error)

	// Versions lists at most limit earlier versions of the entries of a scope, ignoring its tags,
	// after a position. The order is by Place and number or, if latest is set, by time of
	// replacement, latest first.
	Versions(ctx context.Context, scope Scope, latest bool, after VersionPosition, limit int) ([]Version, error)

	// CountVersions counts the earlier versions of the entries of a scope, ignoring its tags.
	CountVersions(ctx context.Context, scope Scope) (int, error)

	// Restore makes an earlier version current, and the current entry an earlier version. Number 0
	// is the latest earlier version; it changes nothing if the entry was restored and not stored
	// since.
	Restore(ctx context.Context, at Place, number int, by Restorer) (RestoreResult, error)

	// Purge removes the entries in the namespace and workspace of a scope and all their earlier
	// versions, also of entries that were deleted before: those with keys or, if keys is nil, those
	// whose keys start with the scope's prefix. It names the first keys, at most naming.
	Purge(ctx context.Context, scope Scope, keys []string, naming int) (PurgeResult, error)

	// Expire removes up to limit entries and versions that have expired or are older than the
	// history, and returns their number.
	Expire(ctx context.Context, now time.Time, limit int) (removed int, err error)

	// WithoutVector lists at most limit entries without a current vector of a model, latest first.
	WithoutVector(ctx context.Context, model string, limit int) ([]StoredEntry, error)

	// PutVectors stores vectors of a model and replaces earlier vectors of their entries. It skips
	// entries that were changed or deleted after they were read.
	PutVectors(ctx context.Context, model string, list []EntryVector) error

	// Vectors lists the vectors of a model for the latest entries of a scope, at most limit. It
	// skips outdated vectors.
	Vectors(ctx context.Context, scope Scope, model string, limit int) ([]EntryVector, error)

	// Reindex replaces the words of up to limit entries with words of an earlier form, and reports
	// whether more are left.
	Reindex(ctx context.Context, limit int, words func(Entry) string) (left bool, err error)
}

// Index finds entries by the words of their [IndexText]. Entries may change between two calls;
// results skip deleted ones.
type Index interface {
	// Matching returns the ids of the matching entries of a scope, latest first, at most limit. If
	// thousands match, a store may omit later ones instead of visiting them all.
	Matching(ctx context.Context, scope Scope, m Match, limit int) ([]int64, error)

	// CountMatching counts the matching entries of a scope, up to limit.
	CountMatching(ctx context.Context, scope Scope, m Match, limit int) (int, error)

	// Known returns the words that at least one entry has, in any order.
	Known(ctx context.Context, words []string) ([]string, error)

	// LastID returns the highest id in use. Ids are assigned in ascending order, so there are at
	// most as many entries.
	LastID(ctx context.Context) (int64, error)

	// Candidates returns the words of the entries with these ids, in any order.
	Candidates(ctx context.Context, ids []int64) ([]Candidate, error)

	// Load returns the entries with these ids.
	Load(ctx context.Context, ids []int64) (map[int64]Entry, error)
}

// Match is a condition on the words of an entry: it must have a word of each group. There is at
// least one group, and no group is empty.
type Match []Group

// Group is a list of alternative words.
type Group []Word

// Word is a word of [IndexText] or a prefix of one. It has no spaces or quotes.
type Word struct {
	Text   string
	Prefix bool
}

// Candidate is a matching entry with the data for ranking.
type Candidate struct {
	ID        int64 // assigned by the store
	StoredAt  time.Time
	Workspace string
	Words     string // IndexText
}

// StoredEntry is an entry without a current vector.
type StoredEntry struct {
	ID int64 // assigned by the store
	Entry
}

// EntryVector is the vector of the version of an entry that was stored at StoredAt.
type EntryVector struct {
	ID       int64 // assigned by the store
	StoredAt time.Time
	Vector   []int8
}
