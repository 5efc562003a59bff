package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"time"
	"unicode/utf8"

	"github.com/toolfold/toolfold/tools"
)

// ExportIn says what to export. A zero Limit is everything.
type ExportIn struct {
	Namespace       string `json:"namespace"`
	Prefix          string `json:"prefix"`
	IncludeMetadata bool   `json:"includeMetadata"`
	Limit           int    `json:"limit"`
	Cursor          string `json:"cursor"`
}

// ExportOut is a list of entries that Import takes.
type ExportOut struct {
	Count      int        `json:"count"`
	ExportedAt time.Time  `json:"exportedAt"`
	Data       []Exported `json:"data"`
	HasMore    bool       `json:"hasMore"`
	NextCursor string     `json:"nextCursor,omitempty"`
}

// Exported is an entry on its way. StoredAt is nil without metadata.
type Exported struct {
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	Namespace string          `json:"namespace"`
	StoredAt  *time.Time      `json:"storedAt,omitempty"`
}

// Export returns whole entries.
func (s *Service) Export(ctx context.Context, in ExportIn) (ExportOut, error) {
	scope := Scope{in.Namespace, in.Prefix}
	page, err := newPage(scope, in.Cursor, in.Limit)
	if err != nil {
		return ExportOut{}, err
	}
	entries, err := s.store.Entries(ctx, scope, page.oneMore())
	if err != nil {
		return ExportOut{}, fmt.Errorf("exporting entries: %w", err)
	}
	entries, next := page.cut(entries)
	out := ExportOut{
		Count: len(entries), ExportedAt: s.now(), Data: make([]Exported, len(entries)),
		HasMore: next != "", NextCursor: next,
	}
	for i, e := range entries {
		out.Data[i] = Exported{Key: e.Key, Value: e.Value, Namespace: e.Namespace}
		if in.IncludeMetadata {
			out.Data[i].StoredAt = &entries[i].StoredAt
		}
	}
	return out, nil
}

// ImportIn is a list of entries, each judged on its own.
type ImportIn struct {
	Data      []json.RawMessage `json:"data"`
	Overwrite bool              `json:"overwrite"`
	Namespace string            `json:"namespace"`
}

// ImportOut tells what became of the entries.
type ImportOut struct {
	Imported   int        `json:"imported"`
	Skipped    int        `json:"skipped"`
	Errors     []Rejected `json:"errors,omitempty"`
	ImportedAt time.Time  `json:"importedAt"`
}

// Rejected is an entry that was not imported.
type Rejected struct {
	Index   int    `json:"index"`
	Message string `json:"message"`
}

// Import stores the good ones of many entries.
func (s *Service) Import(ctx context.Context, in ImportIn) (ImportOut, error) {
	out := ImportOut{ImportedAt: s.now()}
	var entries []Entry
	for i, raw := range in.Data {
		e, err := readEntry(raw)
		if err != nil {
			out.Errors = append(out.Errors, Rejected{i, plain(err)})
			continue
		}
		if in.Namespace != "" {
			e.Namespace = in.Namespace
		}
		if e.StoredAt.IsZero() {
			e.StoredAt = out.ImportedAt
		}
		entries = append(entries, e)
	}
	stored, err := s.store.Import(ctx, entries, in.Overwrite)
	if err != nil {
		return ImportOut{}, fmt.Errorf("importing entries: %w", err)
	}
	out.Imported, out.Skipped = stored, len(entries)-stored
	return out, nil
}

// readEntry reads one entry of an import. A missing storedAt is the zero time.
func readEntry(raw json.RawMessage) (Entry, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return Entry{}, fmt.Errorf("an entry must be an object with key and value")
	}
	e := Entry{Namespace: defaultNamespace}
	for _, name := range sortedNames(members) {
		if err := e.set(name, members[name]); err != nil {
			return Entry{}, err
		}
	}
	switch {
	case e.Key == "":
		return Entry{}, fmt.Errorf("key is missing")
	case e.Value == nil:
		return Entry{}, fmt.Errorf("value is missing")
	}
	return e, nil
}

func (e *Entry) set(name string, raw json.RawMessage) (err error) {
	switch name {
	case "key":
		e.Key, err = readText(name, raw, maxKey)
	case "namespace":
		e.Namespace, err = readText(name, raw, maxNamespace)
		e.Namespace = orDefault(e.Namespace)
	case "value":
		e.Value, err = compact(raw)
	case "storedAt":
		e.StoredAt, err = readTime(raw)
	default:
		err = fmt.Errorf("an entry has no member %q", name)
	}
	return err
}

// readText reads a string. Null counts as absent, as it does for parameters.
func readText(name string, raw json.RawMessage, limit int) (string, error) {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return "", fmt.Errorf("%s must be a string", name)
	}
	if n := utf8.RuneCountInString(text); n > limit {
		return "", fmt.Errorf("%s has %d characters, the limit is %d", name, n, limit)
	}
	return text, nil
}

func readTime(raw json.RawMessage) (time.Time, error) {
	var t time.Time
	if err := json.Unmarshal(raw, &t); err != nil {
		return t, fmt.Errorf("storedAt must be a time such as 2026-01-31T12:00:00Z")
	}
	return t.UTC().Truncate(time.Microsecond), nil
}

// plain is the text of an error without its code.
func plain(err error) string {
	if told, ok := err.(*tools.Error); ok {
		return told.Message
	}
	return err.Error()
}

func sortedNames(members map[string]json.RawMessage) []string {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
