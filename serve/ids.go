package serve

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold/internal/ordered"
)

// mcp-go reads numbers as floating point. What it would round or refuse
// travels through it as a text that holds the JSON as it was written, behind
// a mark that no client can know.
var (
	idMark  = "id:" + uuid.NewString() + ":"
	rawMark = "raw:" + uuid.NewString()
)

// maskID rewrites a message whose id, or whose cancelled request's id, mcp-go
// would round. undo says that the answer will have the masked id.
func maskID(raw []byte) (masked []byte, undo bool) {
	// Clients write the id first or last.
	if !hasLongNumber(raw[:min(len(raw), 4096)]) && !hasLongNumber(raw[max(0, len(raw)-4096):]) {
		return raw, false
	}
	m, ok := parseMessage(raw)
	if !ok {
		return raw, false
	}
	if text, ok := masked64(m.id); ok {
		m.all.Set("id", text)
		return ordered.MustJSON(m.all), true
	}
	cancelled, _ := raws(m.params, "requestId")
	if text, ok := masked64(cancelled); ok && m.method == "notifications/cancelled" {
		m.params.Set("requestId", text)
		m.all.Set("params", m.params)
		return ordered.MustJSON(m.all), false
	}
	return raw, false
}

// hasLongNumber tells whether there are 16 digits in a row, the least that
// can be rounded.
func hasLongNumber(raw []byte) bool {
	run := 0
	for _, c := range raw {
		if c < '0' || c > '9' {
			run = 0
			continue
		}
		if run++; run == 16 {
			return true
		}
	}
	return false
}

// masked64 is the text for a number that a float64 does not hold as written.
func masked64(id json.RawMessage) (text string, ok bool) {
	f, err := strconv.ParseFloat(string(id), 64)
	if err != nil || strconv.FormatFloat(f, 'f', -1, 64) == string(id) {
		return "", false
	}
	return idMark + string(id), true
}

// unmaskID puts the number back into an answer.
func unmaskID(answer []byte) []byte {
	before := `"id":"` + idMark
	start := bytes.Index(answer[:min(len(answer), 256)], []byte(before))
	if start < 0 {
		return answer
	}
	number, rest, ok := bytes.Cut(answer[start+len(before):], []byte(`"`))
	if !ok {
		return answer
	}
	restored := append(answer[:start:start], `"id":`...)
	return append(append(restored, number...), rest...)
}
