package toolfold

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Cursor is the argument for the next page of a list.
var Cursor = String{Name: "cursor", Doc: "nextCursor of the page before.", MaxLen: 2000}

// Page holds the arguments of a list that can be read on. Embed it in the
// arguments of an action that declares a field called limit, and [Cursor].
type Page struct {
	Limit  int    `json:"limit"`
	Cursor string `json:"cursor"`
}

// Paged holds the result fields of a list that can be read on. Embed it in the
// result of an action.
type Paged struct {
	HasMore    bool   `json:"hasMore" doc:"Whether more entries follow."`
	NextCursor string `json:"nextCursor,omitempty" doc:"Cursor of the next page; absent on the last."`
}

// pager is the result of a list that can be read on, such as one that embeds
// [Paged].
type pager interface {
	BindCursor(bind func(cursor string) string)
}

// BindCursor replaces the cursor of the next page, where there is one. Results that
// do not embed Paged have a method of their own.
func (p *Paged) BindCursor(bind func(cursor string) string) {
	if p.NextCursor != "" {
		p.NextCursor = bind(p.NextCursor)
	}
}

// CutPage cuts a list that was read with a limit of one more than the page has:
// it returns the entries of the page, and how the list is read on. cursor
// returns the cursor of the page after an entry.
func CutPage[T any](list []T, limit int, cursor func(last T) string) ([]T, Paged) {
	if len(list) <= limit {
		return list, Paged{}
	}
	return list[:limit], Paged{HasMore: true, NextCursor: cursor(list[limit-1])}
}

// CursorOf returns an opaque cursor of the key after which a list goes on, such as
// the last entry's id; [Page.After] is the reverse.
func CursorOf(key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(afterMark + key))
}

// afterMark begins the text of a cursor: without it, most texts would pass for one.
const afterMark = "after "

// After returns the key of the cursor, empty for the first page. A cursor that the
// action, which is given by its full name, did not make is refused.
func (p Page) After(action string) (key string, err error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(p.Cursor)
	key, ok := strings.CutPrefix(string(raw), afterMark)
	// A database could not compare with NUL.
	if p.Cursor != "" && (err != nil || !ok || !utf8.ValidString(key) || strings.ContainsRune(key, 0)) {
		return "", notOf(action)
	}
	return key, nil
}

func notOf(action string) error {
	return &Error{Code: InvalidInput, Problems: []Problem{{
		Path: "/cursor", Kind: ProblemFormat, Want: "nextCursor of " + action,
	}}}
}

// Position is a place in a list that is ordered by time, then by ID.
type Position struct {
	CreatedAt time.Time // whole microseconds
	ID        string
}

// Cursor returns the cursor of the list after the position.
func (p Position) Cursor() string {
	return CursorOf(strconv.FormatInt(p.CreatedAt.UnixMicro(), 10) + " " + p.ID)
}

// Position returns the position of the cursor, nil for the first page. It refuses
// what [Page.After] refuses.
func (p Page) Position(action string) (*Position, error) {
	key, err := p.After(action)
	if err != nil || key == "" {
		return nil, err
	}
	micros, id, found := strings.Cut(key, " ")
	n, notTime := strconv.ParseInt(micros, 10, 64)
	if notTime != nil || !found {
		return nil, notOf(action)
	}
	return &Position{CreatedAt: time.UnixMicro(n).UTC(), ID: id}, nil
}
