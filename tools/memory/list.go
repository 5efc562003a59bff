package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolfold/toolfold"
)

// Orders of a list.
const (
	byKey  = "key"
	newest = "newest"
)

// nothingThere says what to do where no entry matches.
const nothingThere = "nothing is stored there; memory.stats lists the namespaces, memory.search looks into values"

// List lists keys.
func (s *Service) List(ctx context.Context, in ListIn) (ListOut, error) {
	scope := Scope{cmp.Or(in.Namespace, s.Namespace), in.Prefix, tagSet(in.Tags), s.workspace(in.Workspace), s.now()}
	order := cmp.Or(in.Order, byKey)
	after, err := parsePosition(in.Cursor, "list")
	if err != nil {
		return ListOut{}, err
	}
	var headings []Heading
	if order == newest {
		headings, err = s.store.Newest(ctx, scope, after.moment(), in.Limit+1)
	} else {
		headings, err = s.store.Headings(ctx, scope, Page{After: after.place(), Limit: in.Limit + 1})
	}
	if err != nil {
		return ListOut{}, fmt.Errorf("listing keys: %w", err)
	}
	out := ListOut{Keys: []Listed{}}
	if out.Total, err = s.store.Count(ctx, scope); err != nil {
		return ListOut{}, fmt.Errorf("counting keys: %w", err)
	}
	if out.Total == 0 {
		out.Message = nothingThere
	}
	room := maxAnswer
	for _, h := range headings {
		room -= h.encodedLen()
		if len(out.Keys) == in.Limit || room < 0 {
			out.HasMore, out.NextCursor = true, after.cursor()
			break
		}
		out.Keys = append(out.Keys, Listed{h.Key, h.Namespace, h.StoredAt, s.labels(h.Tags, h.Workspace, h.ExpiresAt)})
		if order == newest {
			after = position{StoredAt: h.StoredAt.UnixMicro(), ID: h.ID}
		} else {
			after = position{Namespace: h.Namespace, Key: h.Key}
		}
	}
	return out, nil
}

// encodedLen returns an upper bound of the bytes of an entry in an answer, without
// its value.
func (h Heading) encodedLen() int {
	size := encodedLen(h.Key) + encodedLen(h.Namespace) + encodedLen(h.Workspace) + perEntry
	for _, tag := range h.Tags {
		size += encodedLen(tag) + len(",")
	}
	return size
}

// position is the last entry of a page: its Place or its Moment, by the order of
// the list. The zero value is before the first page.
type position struct {
	Namespace, Key string
	StoredAt, ID   int64 // StoredAt in microseconds since 1970
}

func (p position) place() Place { return Place{p.Namespace, p.Key} }

func (p position) moment() Moment {
	if p.ID == 0 {
		return Moment{}
	}
	return Moment{time.UnixMicro(p.StoredAt).UTC(), p.ID}
}

// cursor returns the cursor of the page after the position.
func (p position) cursor() string {
	raw, _ := json.Marshal([]any{p.Namespace, p.Key, p.StoredAt, p.ID}) // plain values always encode
	return toolfold.CursorOf(string(raw))
}

// parsePosition parses a cursor that an action issued. An empty one is the position
// before the first entry.
func parsePosition(cursor, action string) (after position, err error) {
	if cursor == "" {
		return after, nil
	}
	raw, err := toolfold.Page{Cursor: cursor}.After("memory." + action)
	if err != nil || json.Unmarshal([]byte(raw), &[]any{&after.Namespace, &after.Key, &after.StoredAt, &after.ID}) != nil {
		return position{}, badCursor("is not one that " + action + " returned")
	}
	return after, nil
}

func badCursor(reason string) error {
	return toolfold.Errorf(toolfold.InvalidInput, "cursor %s", reason).About(toolfold.ProblemRefused, "cursor").
		WithHint("pass nextCursor of the page before, with the same other parameters, or no cursor for the first page")
}

// maxStats bounds the namespaces on a page of stats, and the keys that it names.
const maxStats = 1000

// Stats counts entries per namespace, a page of namespaces at a time.
func (s *Service) Stats(ctx context.Context, in StatsIn) (StatsOut, error) {
	after, err := in.After("memory.stats")
	if err != nil {
		return StatsOut{}, err
	}
	now := s.now()
	totals, err := s.store.Totals(ctx, Scope{Namespace: cmp.Or(in.Namespace, s.Namespace), Now: now})
	if err != nil {
		return StatsOut{}, fmt.Errorf("counting entries: %w", err)
	}
	out := StatsOut{NamespaceCount: len(totals), ByNamespace: map[string]NamespaceStats{}, GeneratedAt: now}
	room, named := maxAnswer, 0
	for _, t := range totals {
		out.TotalEntries += t.Count
		if in.Cursor != "" && t.Namespace <= after || out.HasMore {
			continue
		}
		room -= encodedLen(t.Namespace) + perEntry
		if len(out.ByNamespace) == in.Limit || room < 0 {
			out.HasMore = true
			continue
		}
		stats := NamespaceStats{Count: t.Count, Bytes: t.Bytes}
		if in.Detailed && named < maxStats {
			headings, err := s.store.Headings(ctx, Scope{Namespace: t.Namespace, Now: now}, Page{Limit: maxStats - named})
			if err != nil {
				return StatsOut{}, fmt.Errorf("listing keys: %w", err)
			}
			for _, h := range headings {
				if room -= encodedLen(h.Key); room < 0 {
					break
				}
				stats.Keys = append(stats.Keys, h.Key)
			}
			named += len(stats.Keys)
		}
		out.ByNamespace[t.Namespace] = stats
		out.NextCursor = toolfold.CursorOf(t.Namespace)
	}
	if !out.HasMore {
		out.NextCursor = ""
	}
	return out, nil
}
