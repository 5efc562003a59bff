package memory

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/toolfold/toolfold/tools"
)

// ListIn narrows a list of keys down.
type ListIn struct {
	Namespace string `json:"namespace"`
	Prefix    string `json:"prefix"`
	Limit     int    `json:"limit"`
	Cursor    string `json:"cursor"`
}

// ListOut is a page of keys.
type ListOut struct {
	Keys       []Heading `json:"keys"`
	Total      int       `json:"total"`
	HasMore    bool      `json:"hasMore"`
	NextCursor string    `json:"nextCursor,omitempty"`
}

// Heading is an entry without its value.
type Heading struct {
	Key       string    `json:"key"`
	Namespace string    `json:"namespace"`
	StoredAt  time.Time `json:"storedAt"`
}

// List lists keys.
func (s *Service) List(ctx context.Context, in ListIn) (ListOut, error) {
	scope := Scope{in.Namespace, in.Prefix}
	page, err := newPage(scope, in.Cursor, in.Limit)
	if err != nil {
		return ListOut{}, err
	}
	entries, err := s.store.Headings(ctx, scope, page.oneMore())
	if err != nil {
		return ListOut{}, fmt.Errorf("listing keys: %w", err)
	}
	total, err := s.store.Count(ctx, scope)
	if err != nil {
		return ListOut{}, fmt.Errorf("counting keys: %w", err)
	}
	entries, next := page.cut(entries)
	out := ListOut{Keys: make([]Heading, len(entries)), Total: total, HasMore: next != "", NextCursor: next}
	for i, e := range entries {
		out.Keys[i] = Heading{e.Key, e.Namespace, e.StoredAt}
	}
	return out, nil
}

// newPage reads a cursor. An empty one is the first page.
func newPage(scope Scope, cursor string, limit int) (Page, error) {
	page := Page{Limit: limit}
	if cursor == "" {
		return page, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	var place [2]string
	if err != nil || json.Unmarshal(raw, &place) != nil {
		return page, badCursor("is not one that list or export returned")
	}
	page.After = Place{place[0], place[1]}
	if scope.Namespace != "" && scope.Namespace != page.After.Namespace || !strings.HasPrefix(page.After.Key, scope.Prefix) {
		return page, badCursor("belongs to another namespace or prefix")
	}
	return page, nil
}

func badCursor(reason string) error {
	return tools.Errorf(tools.InvalidInput, "cursor %s", reason).
		WithHint("pass nextCursor of the page before, with the same namespace and prefix, or no cursor for the first page")
}

// oneMore is the page and the entry after it, which tells whether more follow.
func (p Page) oneMore() Page {
	if p.Limit > 0 {
		p.Limit++
	}
	return p
}

// cut drops the entry after the page and returns the cursor that leads to it,
// empty when there is none.
func (p Page) cut(entries []Entry) (page []Entry, next string) {
	if p.Limit == 0 || len(entries) <= p.Limit {
		return entries, ""
	}
	page = entries[:p.Limit]
	last := page[len(page)-1]
	place, _ := json.Marshal([2]string{last.Namespace, last.Key}) // strings always encode
	return page, base64.RawURLEncoding.EncodeToString(place)
}

// StatsIn says what to count.
type StatsIn struct {
	Namespace string `json:"namespace"`
	Detailed  bool   `json:"detailed"`
}

// StatsOut is what there is.
type StatsOut struct {
	TotalEntries   int                       `json:"totalEntries"`
	NamespaceCount int                       `json:"namespaceCount"`
	ByNamespace    map[string]NamespaceStats `json:"byNamespace"`
	GeneratedAt    time.Time                 `json:"generatedAt"`
}

// NamespaceStats is what a namespace holds.
type NamespaceStats struct {
	Count int      `json:"count"`
	Bytes int      `json:"bytes"`
	Keys  []string `json:"keys,omitempty"`
}

// maxStatsKeys is how many keys of a namespace stats names.
const maxStatsKeys = 1000

// Stats counts entries per namespace.
func (s *Service) Stats(ctx context.Context, in StatsIn) (StatsOut, error) {
	totals, err := s.store.Totals(ctx, Scope{Namespace: in.Namespace})
	if err != nil {
		return StatsOut{}, fmt.Errorf("counting entries: %w", err)
	}
	out := StatsOut{NamespaceCount: len(totals), ByNamespace: map[string]NamespaceStats{}, GeneratedAt: s.now()}
	for _, t := range totals {
		stats := NamespaceStats{Count: t.Count, Bytes: t.Bytes}
		if in.Detailed {
			if stats.Keys, err = s.firstKeys(ctx, t.Namespace); err != nil {
				return StatsOut{}, err
			}
		}
		out.TotalEntries += t.Count
		out.ByNamespace[t.Namespace] = stats
	}
	return out, nil
}

func (s *Service) firstKeys(ctx context.Context, namespace string) ([]string, error) {
	entries, err := s.store.Headings(ctx, Scope{Namespace: namespace}, Page{Limit: maxStatsKeys})
	if err != nil {
		return nil, fmt.Errorf("listing keys: %w", err)
	}
	keys := make([]string, len(entries))
	for i, e := range entries {
		keys[i] = e.Key
	}
	return keys, nil
}
