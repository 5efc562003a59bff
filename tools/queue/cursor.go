package queue

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/toolfold/toolfold/tools"
)

// cursor writes a queue's place down for the caller, to whom it means
// nothing.
func (q Queue) cursor() string {
	text := strconv.FormatInt(q.CreatedAt.UnixMicro(), 10) + " " + q.ID
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// parseCursor reads what cursor wrote. No text is no position.
func parseCursor(text string) (*Position, error) {
	if text == "" {
		return nil, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	micros, id, found := strings.Cut(string(raw), " ")
	n, notTime := strconv.ParseInt(micros, 10, 64)
	if err != nil || notTime != nil || !found {
		return nil, &tools.Error{Code: tools.InvalidInput, Problems: []tools.Problem{{
			Path: "/cursor", Kind: tools.ProblemFormat, Want: "nextCursor of queue.list",
		}}}
	}
	return &Position{CreatedAt: time.UnixMicro(n).UTC(), ID: id}, nil
}
