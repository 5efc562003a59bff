package toolfold

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Limit is the name of the argument that bounds a list. Each list has bounds of
// its own.
const Limit = "limit"

// Cursor is the argument with which a list is read on.
var Cursor = String{Name: "cursor", Doc: "nextCursor of the page before.", MaxLen: 2000}

// Page holds the arguments of a list that can be read on. Embed it in the
// arguments of an action that declares [Limit] and [Cursor].
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

// CutPage cuts a list that was read with a limit of one more than the page has:
// it returns the entries of the page, and how the list is read on. cursor
// returns the cursor of the page after an entry.
func CutPage[T any](list []T, limit int, cursor func(last T) string) ([]T, Paged) {
	if len(list) <= limit {
		return list, Paged{}
	}
	return list[:limit], Paged{HasMore: true, NextCursor: cursor(list[limit-1])}
}

// Position is a place in a list that is ordered by time, then by ID.
type Position struct {
	CreatedAt time.Time // whole microseconds
	ID        string
}

// Cursor encodes the position as an opaque text.
func (p Position) Cursor() string {
	return EncodeCursor(strconv.FormatInt(p.CreatedAt.UnixMicro(), 10) + " " + p.ID)
}

// ParseCursor parses a cursor issued by action, whose full name an error
// mentions. It returns nil for an empty cursor.
func ParseCursor(text, action string) (*Position, error) {
	key, err := DecodeCursor(text, action)
	if err != nil || text == "" {
		return nil, err
	}
	micros, id, found := strings.Cut(key, " ")
	n, notTime := strconv.ParseInt(micros, 10, 64)
	if notTime != nil || !found {
		return nil, badCursor(action)
	}
	return &Position{CreatedAt: time.UnixMicro(n).UTC(), ID: id}, nil
}

// afterMark begins the key of a cursor of [CursorOf]: without it, most texts
// would pass for one.
const afterMark = "after "

// CursorOf makes the cursor of a list that is ordered by id, and CursorAfter
// returns that id. An empty cursor is an empty id; what action did not issue is
// refused.
func CursorOf(id string) string { return EncodeCursor(afterMark + id) }

// CursorAfter is the reverse of [CursorOf].
func CursorAfter(cursor, action string) (id string, err error) {
	key, err := DecodeCursor(cursor, action)
	if err != nil || cursor == "" {
		return "", err
	}
	id, ok := strings.CutPrefix(key, afterMark)
	if !ok {
		return "", badCursor(action)
	}
	return id, nil
}

// EncodeCursor makes an opaque cursor of the key after which a list goes on.
func EncodeCursor(key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(key))
}

// DecodeCursor returns the key of a cursor issued by action. It refuses what
// no list has issued: other encodings, invalid UTF-8, and NUL, which a
// database could not compare with. An empty cursor is an empty key.
func DecodeCursor(text, action string) (string, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || !utf8.Valid(raw) || strings.ContainsRune(string(raw), 0) {
		return "", badCursor(action)
	}
	return string(raw), nil
}

// BindCursor binds a cursor to the list that issued it, which is named by its
// action and everything that chooses its entries; [UnbindCursor] is the reverse
// and reports whether the cursor is of that list. Actions need neither: the call
// binds the cursors of every list.
func BindCursor(cursor, list string) string { return cursorMark(list) + "." + cursor }

// UnbindCursor returns the cursor that an action issued.
func UnbindCursor(bound, list string) (cursor string, ok bool) {
	return strings.CutPrefix(bound, cursorMark(list)+".")
}

func cursorMark(list string) string {
	sum := sha256.Sum256([]byte(list))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

func badCursor(action string) error {
	return &Error{Code: InvalidInput, Problems: []Problem{{
		Path: "/cursor", Kind: ProblemFormat, Want: "nextCursor of " + action,
	}}}
}
