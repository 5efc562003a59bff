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
	Tags           []string  // sorted, each once; nil for none
	Workspace      string    // to which it belongs, or [User]
	Author         string    // name of the client that stored it; empty if that is unknown
	StoredAt       time.Time // UTC, whole microseconds, as all times
	ExpiresAt      time.Time // zero: never
	Version        int       // number of the version, from 1; the store gives it

	// Words is [IndexText] of an entry that is to be stored. Entries that were
	// read lack it: stores hand the words back in a [Candidate] only.
	Words string
}

// Same reports whether two versions of an entry hold the same: one that is stored again as it
// is makes no new version.
func (e Entry) Same(other Entry) bool {
	return bytes.Equal(e.Value, other.Value) && slices.Equal(e.Tags, other.Tags)
}

// History bounds the earlier versions of an entry, also of a deleted one, that a store keeps. The
// zero value keeps none. A version that expires is not kept longer.
type History struct {
	Versions int           // of an entry, the latest
	Age      time.Duration // since they were replaced or deleted
}

// HistoryBytes bounds the values of all earlier versions of an entry.
const HistoryBytes = 1 << 20

// On reports whether anything is kept.
func (h History) On() bool { return h.Versions > 0 && h.Age > 0 }

// Since returns the time after which a version that is kept was replaced.
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
	Author     string    // as in [Entry]
	ReplacedAt time.Time // or deleted
	Deleted    bool      // there is no such entry now
}

// VersionPosition is the position of a version in a list: of its Place and Number, or of its
// Moment, which has ReplacedAt. The zero value is before the first.
type VersionPosition struct {
	Place
	Number int
	Moment
}

// Restorer is who restores a version, and when. Words returns [IndexText].
type Restorer struct {
	Author string
	Now    time.Time
	Words  func(Entry) string
}

// Restored is the outcome of [Store.Restore].
type Restored struct {
	From    int    // the version that is current now; 0: there is no such version, and nothing changed
	Done    bool   // false: it was current already
	Current *Entry // the entry that was there; nil for none
}

// User is the workspace of entries that belong to all workspaces.
const User = "user"

// Heading is an entry without its value.
type Heading struct {
	ID                  int64 // the store's own
	Namespace, Key      string
	Tags                []string
	Workspace           string
	StoredAt, ExpiresAt time.Time
	Size                int // bytes of the value
}

// Scope narrows an operation down. Its zero value means all entries.
type Scope struct {
	Namespace string    // empty: every namespace
	Key       string    // empty: every key
	Prefix    string    // of the key
	Tags      []string  // entries have all of them
	Workspace string    // empty: every workspace
	Except    string    // a workspace whose entries are left out; lists and counts alone look at it
	Now       time.Time // entries that expired by then are left out; zero leaves out none
}

// Marks returns the words of [IndexText] that every entry with the namespace,
// the tags and the workspace of the scope has, and no other entry.
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

// Place identifies an entry, and is its position in the order of namespace, key and
// workspace, each by its bytes. The zero value is before the first entry.
type Place struct {
	Namespace, Key, Workspace string
}

// Page is a part of a list: what follows After, at most Limit entries. A zero
// Limit is no limit.
type Page struct {
	After Place
	Limit int
}

// Moment is the position of an entry in the order of time. The zero value is
// before the latest entry.
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

// Store keeps entries, and earlier versions of those that Put, Import and Restore replace or
// Delete and DeleteAll remove; expired entries leave none. It is safe for concurrent use. What a method
// acknowledged is durable, and visible to every later call. Methods that
// change several entries change all of them or, on an error, none.
type Store interface {
	Index

	// Put stores an entry, or what merge makes of it and of the entry that it replaces, and
	// returns the latter. Nil merge stores the entry as it is. An entry that had expired when e was
	// stored is not replaced: there is none then, and old is nil. Merge may be called several times.
	// An entry that is the [Entry.Same] as before stays the same version.
	Put(ctx context.Context, e Entry, merge func(e, old Entry) Entry) (old *Entry, err error)

	// Add stores an entry, unless one is at its place, and reports whether it did.
	Add(ctx context.Context, e Entry) (added bool, err error)

	// Get returns an entry; found is false where there is none, or where it has
	// expired.
	Get(ctx context.Context, at Place, now time.Time) (e Entry, found bool, err error)

	// Import stores entries in their order and returns how many it stored.
	// Those whose place is taken are left out, unless overwrite is set.
	Import(ctx context.Context, entries []Entry, overwrite bool, now time.Time) (stored int, err error)

	// Headings lists entries without their values, in the order of Place.
	Headings(ctx context.Context, scope Scope, page Page) ([]Heading, error)

	// Newest lists entries without their values, the latest first, and those of
	// one moment by descending ID: what follows after, at most limit.
	Newest(ctx context.Context, scope Scope, after Moment, limit int) ([]Heading, error)

	// Entries lists whole entries, in the order of Place.
	Entries(ctx context.Context, scope Scope, page Page) ([]Entry, error)

	// Count counts the entries of a scope.
	Count(ctx context.Context, scope Scope) (int, error)

	// Totals sums up the namespaces of a scope that are not empty, in order.
	Totals(ctx context.Context, scope Scope) ([]Totals, error)

	// Existing returns those of the keys that exist in the namespace and workspace of a
	// scope, sorted. It does not return nil without an error.
	Existing(ctx context.Context, scope Scope, keys []string) ([]string, error)

	// Delete removes entries of the namespace and workspace of a scope by key and returns the
	// keys that existed, in the order given. It does not return nil without an
	// error.
	Delete(ctx context.Context, scope Scope, keys []string) (deleted []string, err error)

	// DeleteAll removes the entries of the namespace and workspace of a scope whose keys start
	// with its prefix. It returns their number and, sorted, the first of their
	// keys, at most naming. An empty namespace has no entries: nothing may delete
	// from every namespace at once.
	DeleteAll(ctx context.Context, scope Scope, naming int) (deleted int, first []string, err error)

	// Version returns an earlier version of an entry. Found is false if there is none, or if it has
	// expired or is older than the history reaches back; so for all methods that read versions.
	Version(ctx context.Context, at Place, number int, now time.Time) (e Entry, found bool, err error)

	// Versions lists earlier versions of the entries of a scope, without its tags: in the order of Place
	// and number, or the latest replaced first; what follows after, at most limit.
	Versions(ctx context.Context, scope Scope, latest bool, after VersionPosition, limit int) ([]Version, error)

	// CountVersions counts the earlier versions of the entries of a scope, without its tags.
	CountVersions(ctx context.Context, scope Scope) (int, error)

	// Restore makes an earlier version current, and the entry that is there an earlier version. Number 0
	// is the latest earlier version; it changes nothing if the entry was restored and not stored since.
	Restore(ctx context.Context, at Place, number int, by Restorer) (Restored, error)

	// Purge removes the earlier versions of keys in the namespace and workspace of a scope, or of all
	// that start with its prefix if keys is nil, and returns how many it removed.
	Purge(ctx context.Context, scope Scope, keys []string) (removed int, err error)

	// Expire removes up to limit entries and versions that have expired, or are older than the history
	// reaches back, and returns how many it removed.
	Expire(ctx context.Context, now time.Time, limit int) (removed int, err error)

	// WithoutVector lists entries that have no vector of a model for what they hold
	// now, the latest first, at most limit.
	WithoutVector(ctx context.Context, model string, limit int) ([]Unread, error)

	// PutVectors stores vectors of a model, each in the place of one that the entry
	// had. An entry that changed since it was read, or is gone, gets none.
	PutVectors(ctx context.Context, model string, list []EntryVector) error

	// Vectors lists the vectors of a model of the latest entries of a scope, at most
	// limit, without those of entries that changed since.
	Vectors(ctx context.Context, scope Scope, model string, limit int) ([]EntryVector, error)

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
	ID        int64 // the store's own
	StoredAt  time.Time
	Workspace string
	Words     string // IndexText
}

// Unread is an entry of which no vector was made yet.
type Unread struct {
	ID int64 // the store's own
	Entry
}

// EntryVector is the vector of an entry as it was stored at a time.
type EntryVector struct {
	ID       int64 // the store's own
	StoredAt time.Time
	Vector   []int8
}
