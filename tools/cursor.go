package tools

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// Position is a place in a list that is in the order of time.
type Position struct {
	CreatedAt time.Time // whole microseconds
	ID        string    // decides between equals
}

// Cursor writes the position down for a caller, to whom it means nothing.
func (p Position) Cursor() string {
	text := strconv.FormatInt(p.CreatedAt.UnixMicro(), 10) + " " + p.ID
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// ParseCursor reads what Cursor wrote into the results of an action, of which
// an error says the full name. No text is no position, and nil.
func ParseCursor(text, action string) (*Position, error) {
	if text == "" {
		return nil, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	micros, id, found := strings.Cut(string(raw), " ")
	n, notTime := strconv.ParseInt(micros, 10, 64)
	if err != nil || notTime != nil || !found || strings.ContainsRune(id, 0) {
		return nil, &Error{Code: InvalidInput, Problems: []Problem{{
			Path: "/cursor", Kind: ProblemFormat, Want: "nextCursor of " + action,
		}}}
	}
	return &Position{CreatedAt: time.UnixMicro(n).UTC(), ID: id}, nil
}
