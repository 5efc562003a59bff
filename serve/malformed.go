package serve

import (
	"bytes"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold/internal/ordered"
)

// mayBeMalformed spares well-formed messages from being parsed twice: they
// have a method, and an id that starts like a text or a number.
func mayBeMalformed(raw []byte) bool {
	if !bytes.Contains(raw, []byte(`"method"`)) {
		return true
	}
	for rest := raw; ; {
		_, after, found := bytes.Cut(rest, []byte(`"id"`))
		if !found {
			return false
		}
		value := bytes.TrimLeft(after, " \t\r\n:")
		if len(value) > 0 && bytes.IndexByte([]byte(`ntf[{`), value[0]) >= 0 {
			return true
		}
		rest = after
	}
}

// malformed is the answer to a JSON object that is no JSON-RPC message; nil
// for everything else. mcp-go lets some of these go unanswered.
func malformed(raw []byte) []byte {
	var m ordered.Map
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return nil
	}
	id, hasID := raws(m, "id")
	if hasID && !isID(id) {
		return failure(json.RawMessage("null"), mcp.INVALID_REQUEST, "id must be a string or a number")
	}
	for _, member := range []string{"method", "result", "error"} {
		if _, ok := m.Get(member); ok {
			return nil
		}
	}
	if !hasID {
		id = json.RawMessage("null")
	}
	return failure(id, mcp.INVALID_REQUEST, "a request needs a method")
}

func isID(id json.RawMessage) bool {
	return len(id) > 0 && (id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9')
}
