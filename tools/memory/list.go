package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolfold/toolfold"
)

// List lists keys.
func (s *Service) List(ctx context.Context, in ListIn) (ListOut, error) {
	scope := Scope{cmp.Or(in.Namespace, s.Namespace), in.Prefix}
	after, err := parseCursor(scope, in.Cursor)
	if err != nil {
		return ListOut{}, err
	}
	headings, err := s.store.Headings(ctx, scope, Page{After: after, Limit: in.Limit + 1})
	if err != nil {
		return ListOut{}, fmt.Errorf("listing keys: %w", err)
	}
	out := ListOut{Keys: []Listed{}}
	if out.Total, err = s.store.Count(ctx, scope); err != nil {
		return ListOut{}, fmt.Errorf("counting keys: %w", err)
	}
	room := maxAnswer
	for _, h := range headings {
		room -= encodedLen(h.Key) + encodedLen(h.Namespace) + perEntry
		if len(out.Keys) == in.Limit || room < 0 {
			out.HasMore, out.NextCursor = true, writeCursor(after)
			break
		}
		out.Keys = append(out.Keys, Listed{h.Key, h.Namespace, h.StoredAt})
		after = Place{h.Namespace, h.Key}
	}
	return out, nil
}

// writeCursor returns the cursor of the page after a place.
func writeCursor(after Place) string {
	raw, _ := json.Marshal([2]string{after.Namespace, after.Key}) // strings always encode
	return toolfold.EncodeCursor(string(raw))
}

// parseCursor parses a cursor of list or export. An empty one is the place
// before the first entry.
func parseCursor(scope Scope, cursor string) (Place, error) {
	if cursor == "" {
		return Place{}, nil
	}
	raw, err := toolfold.DecodeCursor(cursor, "list or export")
	var place [2]string
	if err != nil || json.Unmarshal([]byte(raw), &place) != nil {
		return Place{}, badCursor("is not one that list or export returned")
	}
	if scope.Namespace != "" && scope.Namespace != place[0] || !strings.HasPrefix(place[1], scope.Prefix) {
		return Place{}, badCursor("belongs to another namespace or prefix")
	}
	return Place{place[0], place[1]}, nil
}

func badCursor(reason string) error {
	return toolfold.Errorf(toolfold.InvalidInput, "cursor %s", reason).
		WithHint("pass nextCursor of the page before, with the same other parameters, or no cursor for the first page")
}

// maxStats bounds the namespaces that stats lists, and the keys that it names.
const maxStats = 1000

// Stats counts entries per namespace.
func (s *Service) Stats(ctx context.Context, in StatsIn) (StatsOut, error) {
	totals, err := s.store.Totals(ctx, Scope{Namespace: cmp.Or(in.Namespace, s.Namespace)})
	if err != nil {
		return StatsOut{}, fmt.Errorf("counting entries: %w", err)
	}
	out := StatsOut{NamespaceCount: len(totals), ByNamespace: map[string]NamespaceStats{}, GeneratedAt: s.now()}
	room, named := maxAnswer, 0
	for _, t := range totals {
		out.TotalEntries += t.Count
		room -= encodedLen(t.Namespace) + perEntry
		if len(out.ByNamespace) == maxStats || room < 0 {
			continue
		}
		stats := NamespaceStats{Count: t.Count, Bytes: t.Bytes}
		if in.Detailed && named < maxStats {
			headings, err := s.store.Headings(ctx, Scope{Namespace: t.Namespace}, Page{Limit: maxStats - named})
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
	}
	return out, nil
}
