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

// nothingThere is the message if no entry matches.
const nothingThere = "nothing is stored there; memory.stats lists the namespaces, memory.search looks into values"

// List lists keys, or earlier versions.
func (s *Service) List(ctx context.Context, in ListIn) (ListOut, error) {
	scope := Scope{Namespace: cmp.Or(in.Namespace, s.Namespace), Prefix: in.Prefix, Tags: tagSet(in.Tags),
		Workspace: s.workspace(ctx, in.Workspace, ""), Now: s.now()}
	if in.History {
		return s.listVersions(ctx, scope, in)
	}
	own := s.own(ctx)
	parts := partsOf(scope, own)
	order := cmp.Or(in.Order, byKey)
	after, err := parsePosition(in.Cursor, "list")
	if err != nil {
		return ListOut{}, err
	}
	headings, err := s.headings(ctx, parts, order, after, in.Limit+1)
	if err != nil {
		return ListOut{}, fmt.Errorf("listing keys: %w", err)
	}
	out := ListOut{Keys: []Item{}}
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
		out.Keys = append(out.Keys, Item{Key: h.Key, Namespace: h.Namespace, StoredAt: h.StoredAt,
			Labels: labels(own, h.Tags, h.Workspace, h.ExpiresAt)})
		if h.Workspace != own && h.Workspace != User && out.Message == "" {
			out.Message = ofOthers
		}
		after = parts.position(h, order)
	}
	return out, nil
}

// ofOthers explains the workspaces in a list.
const ofOthers = "entries that name a workspace belong to it, not to this project; user is all workspaces"

// parts are the scopes of a list, in order: the caller's own workspace comes before all other
// workspaces.
type parts []Scope

func partsOf(scope Scope, own string) parts {
	if scope.Workspace != "" {
		return parts{scope}
	}
	mine, rest := scope, scope
	mine.Workspace, rest.Except = own, own
	return parts{mine, rest}
}

// position returns the position of an entry in a list.
func (p parts) position(h Heading, order string) position {
	at := position{Place: Place{h.Namespace, h.Key, h.Workspace}}
	if order == newest {
		at = position{StoredAt: h.StoredAt.UnixMicro(), ID: h.ID}
	}
	if h.Workspace != p[0].Workspace {
		at.Part = 1
	}
	return at
}

// headings lists at most limit entries after a position.
func (s *Service) headings(ctx context.Context, in parts, order string, after position, limit int) (list []Heading, err error) {
	if after.Part < 0 || after.Part >= len(in) {
		return nil, badCursor("is of a list with other parameters")
	}
	for i, scope := range in[after.Part:] {
		if i > 0 {
			after = position{}
		}
		var more []Heading
		if order == newest {
			more, err = s.store.Newest(ctx, scope, after.moment(), limit-len(list))
		} else {
			more, err = s.store.Headings(ctx, scope, Page{After: after.Place, Limit: limit - len(list)})
		}
		if list = append(list, more...); err != nil || len(list) == limit {
			break
		}
	}
	return list, err
}

// encodedLen returns an upper bound for the bytes of an entry without its value in a response.
func (h Heading) encodedLen() int {
	size := encodedLen(h.Key) + encodedLen(h.Namespace) + encodedLen(h.Workspace) + perEntry
	for _, tag := range h.Tags {
		size += encodedLen(tag) + len(",")
	}
	return size
}

// position is the position of a page's last entry in one of the list's parts: its Place or its
// Moment, depending on the order. The zero value is before the first page.
type position struct {
	Place
	StoredAt, ID int64 // StoredAt in microseconds since 1970
	Part         int   // index of [parts]
}

func (p position) moment() Moment {
	if p.ID == 0 {
		return Moment{}
	}
	return Moment{time.UnixMicro(p.StoredAt).UTC(), p.ID}
}

// cursor returns the cursor of the page after the position.
func (p position) cursor() string {
	raw, _ := json.Marshal([]any{p.Namespace, p.Key, p.Workspace, p.StoredAt, p.ID, p.Part}) // plain values always encode
	return toolfold.CursorOf(string(raw))
}

// parsePosition parses a cursor of an action. An empty cursor is the position before the first
// entry.
func parsePosition(cursor, action string) (after position, err error) {
	if cursor == "" {
		return after, nil
	}
	raw, err := toolfold.Page{Cursor: cursor}.After("memory." + action)
	var members []json.RawMessage
	if err == nil && json.Unmarshal([]byte(raw), &members) == nil && len(members) == 4 {
		return position{}, badCursor("is of an earlier version, whose lists had another order")
	}
	places := []any{&after.Namespace, &after.Key, &after.Workspace, &after.StoredAt, &after.ID, &after.Part}
	if err != nil || len(members) != len(places) || json.Unmarshal([]byte(raw), &places) != nil {
		return position{}, badCursor("is not one that " + action + " returned")
	}
	return after, nil
}

func badCursor(reason string) error {
	return toolfold.Errorf(toolfold.InvalidInput, "cursor %s", reason).About(toolfold.ProblemRefused, "cursor").
		WithHint("pass nextCursor of the page before, with the same other parameters, or no cursor for the first page")
}

// maxStats limits the namespaces and the keys on a page of stats.
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
