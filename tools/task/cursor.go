package task

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold/engine/queue"
	"github.com/toolfold/toolfold/tools"
)

// cursorAfter writes a task's place down for the caller, to whom it means
// nothing.
func cursorAfter(t queue.Task) string {
	text := strconv.FormatInt(t.CreatedAt.UnixMicro(), 10) + " " + t.ID
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// parseCursor reads what cursorAfter wrote. No text is no position.
func parseCursor(text string) (*Position, error) {
	if text == "" {
		return nil, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	micros, id, _ := strings.Cut(string(raw), " ")
	n, notTime := strconv.ParseInt(micros, 10, 64)
	if err != nil || notTime != nil || uuid.Validate(id) != nil {
		return nil, &tools.Error{Code: tools.InvalidInput, Problems: []tools.Problem{{
			Path: "/cursor", Kind: tools.ProblemFormat, Want: "nextCursor of task.list",
		}}}
	}
	return &Position{CreatedAt: time.UnixMicro(n).UTC(), ID: id}, nil
}
