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

// Page holds the arguments of a paged list. Embed it in the arguments of an action that declares a
// field called limit, and [Cursor].
type Page struct {
	Limit  int    `json:"limit"`
	Cursor string `json:"cursor"`
}

// Paged holds the result fields of a paged list. Embed it in the result of an action.
type Paged struct {
	HasMore    bool   `json:"hasMore" doc:"Whether more entries follow."`
	NextCursor string `json:"nextCursor,omitempty" doc:"Cursor of the next page; absent on the last."`
}

// pager is the result of a paged list, such as one that embeds [Paged].
type pager interface {
	BindCursor(bind func(cursor string) string)
}

// BindCursor replaces the cursor of the next page, if there is one. Results that do not embed Paged
// have their own method.
func (p *Paged) BindCursor(bind func(cursor string) string) {
	if p.NextCursor != "" {
		p.NextCursor = bind(p.NextCursor)
	}
}

// CutPage cuts a list that was read with a limit of one more than the page. It returns the entries
// of the page, and its Paged. cursor returns the cursor of the page after an entry.
func CutPage[T any](list []T, limit int, cursor func(last T) string) ([]T, Paged) {
	if len(list) <= limit {
		return list, Paged{}
	}
	return list[:limit], Paged{HasMore: true, NextCursor: cursor(list[limit-1])}
}

// CursorOf returns an opaque cursor for the key after which a list continues, such as the last
// entry's id. [Page.After] is the reverse.
func CursorOf(key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(afterMark + key))
}

// afterMark begins the text of a cursor: without it, most texts would be valid cursors.
const afterMark = "after "

// After returns the key of the cursor, empty for the first page. It rejects invalid cursors; action
// is the full name that the error shows.
func (p Page) After(action string) (key string, err error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(p.Cursor)
	key, ok := strings.CutPrefix(string(raw), afterMark)
	// Databases cannot compare with NUL.
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

// Position returns the position of the cursor, nil for the first page. It rejects the same cursors
// as [Page.After].
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
