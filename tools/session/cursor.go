package session

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold/tools"
)

func (l Listed) position() Position { return Position{CreatedAt: l.CreatedAt, ID: l.ID} }

// cursor writes the position down for the caller, to whom it means nothing.
func (p Position) cursor() string {
	text := strconv.FormatInt(p.CreatedAt.UnixMicro(), 10) + " " + p.ID
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// parseCursor reads what cursor wrote. No text is no position.
func parseCursor(text string) (*Position, error) {
	if text == "" {
		return nil, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	micros, id, _ := strings.Cut(string(raw), " ")
	n, notTime := strconv.ParseInt(micros, 10, 64)
	if err != nil || notTime != nil || uuid.Validate(id) != nil {
		return nil, &tools.Error{Code: tools.InvalidInput, Problems: []tools.Problem{{
			Path: "/cursor", Kind: tools.ProblemFormat, Want: "nextCursor of session.list",
		}}}
	}
	return &Position{CreatedAt: time.UnixMicro(n).UTC(), ID: id}, nil
}
