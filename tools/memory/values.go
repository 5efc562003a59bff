package memory

import (
	"encoding/json"
	"time"

	"github.com/toolfold/toolfold"
)

// Labels are result fields of an entry. Each is absent if the entry has no such label.
type Labels struct {
	Tags      []string   `json:"tags,omitempty" doc:"Labels of the entry."`
	Workspace string     `json:"workspace,omitempty" doc:"Workspace it belongs to, user for all; absent for this one."`
	ExpiresAt *time.Time `json:"expiresAt,omitempty" doc:"When the entry expires."`
}

// StoreIn holds the arguments of store. Nil Tags and TTLMs keep the tags and the expiry of the
// replaced entry. Empty Tags mean no tags, and a zero TTLMs means no expiry.
type StoreIn struct {
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	Namespace string          `json:"namespace"`
	Tags      []string        `json:"tags"`
	TTLMs     *int            `json:"ttlMs"`
	IfAbsent  bool            `json:"ifAbsent"`
	Scope     string          `json:"scope"` // empty = by the setting
}

// StoreOut is the result of store.
type StoreOut struct {
	Success   bool   `json:"success" doc:"Always true."`
	Key       string `json:"key" doc:"Name of the entry."`
	Namespace string `json:"namespace" doc:"Notebook of the entry."`
	Workspace string `json:"workspace,omitempty" doc:"Workspace it belongs to, user for all; absent for this one."`
	Replaced  bool   `json:"replaced" doc:"Whether the key existed."`
	Message   string `json:"message" doc:"The outcome in words."`

	Previous  *Previous  `json:"previous,omitempty" doc:"The version that was replaced."`
	Tags      []string   `json:"tags,omitempty" doc:"Labels of the replaced entry, if they stay."`
	ExpiresAt *time.Time `json:"expiresAt,omitempty" doc:"When the entry expires."`
}

// Previous is a replaced version of an entry.
type Previous struct {
	Author   string    `json:"author,omitempty" doc:"Client that stored it; absent if that is unknown."`
	StoredAt time.Time `json:"storedAt" doc:"When it was stored."`
	Version  int       `json:"version" doc:"Its number, for restore."`
}

// GetIn holds the arguments of get: Key or Keys. A zero Version is the current one.
type GetIn struct {
	Version   int      `json:"version"`
	Key       string   `json:"key"`
	Keys      []string `json:"keys"`
	Namespace string   `json:"namespace"`
	Workspace string   `json:"workspace"`
}

// GetOut is the result of get. Value and StoredAt belong to Key. Entries, Missing and Left answer
// Keys.
type GetOut struct {
	Found     bool            `json:"found" doc:"Whether the key, or all of keys, exist."`
	Key       string          `json:"key,omitempty" doc:"Name of the entry."`
	Namespace string          `json:"namespace" doc:"Notebook of the entry."`
	Value     json.RawMessage `json:"value,omitempty" doc:"The value of key."`
	StoredAt  *time.Time      `json:"storedAt,omitempty" doc:"When the entry was stored."`
	Version   int             `json:"version,omitempty" doc:"Number of the version."`
	Entries   []GetItem       `json:"entries,omitempty" doc:"The entries of keys."`
	Missing   []string        `json:"missing,omitempty" doc:"Keys that do not exist."`
	Left      []string        `json:"left,omitempty" doc:"Keys that did not fit: ask again."`
	Message   string          `json:"message,omitempty" doc:"The outcome in words."`
	Labels                    // of key
}

// GetItem is an entry in the result of a get with several keys.
type GetItem struct {
	Key      string          `json:"key" doc:"Name of the entry."`
	Value    json.RawMessage `json:"value" doc:"JSON, up to 256 KiB."`
	StoredAt time.Time       `json:"storedAt" doc:"When the entry was stored."`
	Labels
}

// DeleteIn holds the arguments of delete.
type DeleteIn struct {
	Key       string `json:"key"`
	Namespace string `json:"namespace"`
	Workspace string `json:"workspace"`
	DryRun    bool   `json:"dryRun"`
	Purge     bool   `json:"purge"`
}

// DeleteOut is the result of delete.
type DeleteOut struct {
	Deleted   bool   `json:"deleted" doc:"Whether an entry was removed."`
	Key       string `json:"key" doc:"Name of the entry."`
	Namespace string `json:"namespace" doc:"Notebook of the entry."`
	Workspace string `json:"workspace,omitempty" doc:"Workspace it belongs to, user for all; absent for this one."`
	Message   string `json:"message" doc:"The outcome in words."`

	WouldDelete *int `json:"wouldDelete,omitempty" doc:"With dryRun: entries that the call would remove."`
	Purged      int  `json:"purged,omitempty" doc:"Earlier versions removed."`
}

// RestoreIn holds the arguments of restore. A zero Version is the latest earlier one.
type RestoreIn struct {
	Key       string `json:"key"`
	Version   int    `json:"version"`
	Namespace string `json:"namespace"`
	Scope     string `json:"scope"` // empty = by the setting
}

// RestoreOut is the result of restore.
type RestoreOut struct {
	Restored  bool      `json:"restored" doc:"Whether the entry changed; false if that version was current."`
	Key       string    `json:"key" doc:"Name of the entry."`
	Namespace string    `json:"namespace" doc:"Notebook of the entry."`
	Workspace string    `json:"workspace,omitempty" doc:"Workspace it belongs to, user for all; absent for this one."`
	Version   int       `json:"version" doc:"The version that is current again."`
	Previous  *Previous `json:"previous,omitempty" doc:"The version that was replaced."`
	Message   string    `json:"message" doc:"The outcome in words."`
}

// SearchIn holds the arguments of search.
type SearchIn struct {
	Query     string   `json:"query"`
	Namespace string   `json:"namespace"`
	Prefix    string   `json:"prefix"`
	Tags      []string `json:"tags"`
	Workspace string   `json:"workspace"`
	toolfold.Page
}

// SearchOut is the result of search.
type SearchOut struct {
	Query     string         `json:"query" doc:"As asked."`
	Namespace string         `json:"namespace,omitempty" doc:"Notebook searched; absent if all were."`
	Count     int            `json:"count" doc:"How many results follow."`
	Total     int            `json:"total" doc:"All that match, counted up to 10,000."`
	Results   []SearchResult `json:"results" doc:"Best first; at most 400 on all pages."`
	Message   string         `json:"message,omitempty" doc:"What workspaces mean, or next step if nothing matches or not all can be read."`

	// Sessions are not among Results, Count and Total.
	Sessions []FoundSession `json:"sessions,omitempty" doc:"On the first page: up to 3 sessions with all words, if no filter is given."`
	toolfold.Paged
}

// FoundSession is a session with all words of a query in its task, summary or notes.
type FoundSession struct {
	SessionID string `json:"sessionId" doc:"For session.status, which shows the notes."`
	Task      string `json:"task" doc:"Beginning of its task."`
	Status    string `json:"status" doc:"State of the session."`
	Workspace string `json:"workspace,omitempty" doc:"Workspace of the session, if it is another one."`
	Note      string `json:"note,omitempty" doc:"Beginning of its hand-over, if one waits."`
}

// SearchResult is an entry that a query found. It has Value if the value is short, otherwise Excerpt.
type SearchResult struct {
	Key       string          `json:"key" doc:"Name of the entry."`
	Namespace string          `json:"namespace" doc:"Notebook of the entry."`
	Value     json.RawMessage `json:"value,omitempty" doc:"Whole, up to 500 characters."`
	Excerpt   string          `json:"excerpt,omitempty" doc:"Of a longer value, around the words found; get has the whole."`
	Size      int             `json:"size" doc:"Bytes of the value."`
	StoredAt  time.Time       `json:"storedAt" doc:"When the entry was stored."`
	Score     float64         `json:"score" doc:"0 to 1."`
	Labels
}

// ListIn holds the arguments of list.
type ListIn struct {
	Namespace string   `json:"namespace"`
	Prefix    string   `json:"prefix"`
	Tags      []string `json:"tags"`
	Workspace string   `json:"workspace"`
	Order     string   `json:"order"` // empty = byKey
	History   bool     `json:"history"`
	toolfold.Page
}

// ListOut is the result of list.
type ListOut struct {
	Keys    []Item `json:"keys" doc:"This workspace's first, sorted by namespace and key, or newest first."`
	Total   int    `json:"total" doc:"Keys that match, on all pages."`
	Message string `json:"message,omitempty" doc:"What workspaces mean, or next step if nothing matches."`
	toolfold.Paged
}

// Item is an entry in a list of keys, or an earlier version. Only versions have the members from
// Version on.
type Item struct {
	Key       string    `json:"key" doc:"Name of the entry."`
	Namespace string    `json:"namespace" doc:"Notebook of the entry."`
	StoredAt  time.Time `json:"storedAt" doc:"When the entry was stored."`
	Labels

	Version    int        `json:"version,omitempty" doc:"With history: number of the version."`
	Author     string     `json:"author,omitempty" doc:"With history: client that stored it, if known."`
	Size       int        `json:"size,omitempty" doc:"With history: bytes of the value."`
	ReplacedAt *time.Time `json:"replacedAt,omitempty" doc:"With history: when it was replaced or deleted."`
	Deleted    bool       `json:"deleted,omitempty" doc:"With history: whether the entry does not exist now."`
}

// ExportIn holds the arguments of export. A zero Limit means a page of up to 100 entries and 24
// KiB.
type ExportIn struct {
	Namespace       string   `json:"namespace"`
	Prefix          string   `json:"prefix"`
	Tags            []string `json:"tags"`
	Workspace       string   `json:"workspace"`
	IncludeMetadata bool     `json:"includeMetadata"`
	toolfold.Page
}

// ExportOut is the result of export.
type ExportOut struct {
	Count      int          `json:"count" doc:"How many entries follow."`
	ExportedAt time.Time    `json:"exportedAt" doc:"When."`
	Data       []ExportItem `json:"data" doc:"Entries, as import takes them."`
	Message    string       `json:"message,omitempty" doc:"How to get omitted entries whole, if any."`
	toolfold.Paged
}

// ExportItem is an entry for import. Without metadata it has no StoredAt, and Workspace only if it is
// not the caller's own. An omitted entry has no value, because the value exceeds the response.
// Import rejects it.
type ExportItem struct {
	Key       string          `json:"key" doc:"Name of the entry."`
	Value     json.RawMessage `json:"value,omitempty" doc:"JSON, up to 256 KiB."`
	Bytes     int             `json:"bytes,omitempty" doc:"Size of a value that is omitted."`
	Omitted   bool            `json:"omitted,omitempty" doc:"Whether the value exceeds the answer and is left out; import refuses it."`
	Namespace string          `json:"namespace" doc:"Notebook of the entry."`
	StoredAt  *time.Time      `json:"storedAt,omitempty" doc:"When the entry was stored."`
	Tags      []string        `json:"tags,omitempty" doc:"Labels of the entry."`
	Workspace string          `json:"workspace,omitempty" doc:"Workspace it belongs to; user for all."`
	ExpiresAt *time.Time      `json:"expiresAt,omitempty" doc:"When the entry expires."`
}

// ImportIn holds the arguments of import: Data or Path. Each entry is checked on its own. HasMore
// comes from the export of Data; its other fields are accepted and ignored.
type ImportIn struct {
	Data      []json.RawMessage `json:"data"`
	Path      string            `json:"path"`
	Overwrite bool              `json:"overwrite"`
	Namespace string            `json:"namespace"`

	HasMore    bool   `json:"hasMore"`
	Count      int    `json:"count"`
	ExportedAt string `json:"exportedAt"`
	Message    string `json:"message"`
	NextCursor string `json:"nextCursor"`
}

// ImportOut is the result of import.
type ImportOut struct {
	Imported   int             `json:"imported" doc:"Entries stored."`
	Skipped    int             `json:"skipped" doc:"Entries whose key existed."`
	Failed     int             `json:"failed" doc:"Bad entries."`
	Errors     []ImportProblem `json:"errors,omitempty" doc:"The first 100 bad entries, if any."`
	ImportedAt time.Time       `json:"importedAt" doc:"When."`
	Message    string          `json:"message,omitempty" doc:"Next step, if the export had more pages."`
}

// ImportProblem is an entry that was not imported.
type ImportProblem struct {
	Index   int    `json:"index" doc:"Place of the entry in the list, from 0."`
	Message string `json:"message" doc:"Why it is bad."`
}

// StatsIn holds the arguments of stats.
type StatsIn struct {
	Namespace string `json:"namespace"`
	Detailed  bool   `json:"detailed"`
	toolfold.Page
}

// StatsOut is the result of stats.
type StatsOut struct {
	TotalEntries   int                       `json:"totalEntries" doc:"Entries, of all pages."`
	NamespaceCount int                       `json:"namespaceCount" doc:"Namespaces that are not empty, of all pages."`
	ByNamespace    map[string]NamespaceStats `json:"byNamespace" doc:"Per namespace, a page of them."`
	GeneratedAt    time.Time                 `json:"generatedAt" doc:"When."`
	toolfold.Paged
}

// NamespaceStats sums up a namespace.
type NamespaceStats struct {
	Count int      `json:"count" doc:"Entries counted."`
	Bytes int      `json:"bytes" doc:"Bytes of the values."`
	Keys  []string `json:"keys,omitempty" doc:"Keys, if detailed: the first 1,000 of the page; list has the rest."`
}

// BulkDeleteIn holds the arguments of bulk_delete: Keys or Prefix.
type BulkDeleteIn struct {
	Keys      []string `json:"keys"`
	Namespace string   `json:"namespace"`
	Prefix    string   `json:"prefix"`
	Workspace string   `json:"workspace"`
	DryRun    bool     `json:"dryRun"`
	Purge     bool     `json:"purge"`
}

// BulkDeleteOut is the result of bulk_delete.
type BulkDeleteOut struct {
	Deleted     int       `json:"deleted" doc:"Entries removed."`
	NotFound    int       `json:"notFound" doc:"Keys that did not exist."`
	DeletedKeys []string  `json:"deletedKeys" doc:"The first 100 of their keys, sorted."`
	Namespace   string    `json:"namespace" doc:"Notebook of the entry."`
	DeletedAt   time.Time `json:"deletedAt" doc:"When."`

	WouldDelete *int     `json:"wouldDelete,omitempty" doc:"With dryRun: entries that the call would remove."`
	Keys        []string `json:"keys,omitempty" doc:"With dryRun: the first 100 of their keys, sorted."`
	Purged      int      `json:"purged,omitempty" doc:"Earlier versions removed."`
	Message     string   `json:"message,omitempty" doc:"The outcome in words."`
}

// ClearIn holds the arguments of clear.
type ClearIn struct {
	Namespace string `json:"namespace"`
	Workspace string `json:"workspace"`
	Confirm   bool   `json:"confirm"`
	Purge     bool   `json:"purge"`
}

// ClearOut is the result of clear.
type ClearOut struct {
	Cleared   int       `json:"cleared" doc:"Entries removed."`
	Namespace string    `json:"namespace" doc:"Notebook of the entry."`
	ClearedAt time.Time `json:"clearedAt" doc:"When."`
	Purged    int       `json:"purged,omitempty" doc:"Earlier versions removed."`
	Message   string    `json:"message,omitempty" doc:"Entries of other workspaces, or next step if there are none."`
}
