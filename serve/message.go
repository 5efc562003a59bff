package serve

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"regexp"

	"github.com/google/uuid"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold/internal/ordered"
)

// maxID bounds the id of a request in bytes: ids are kept while it runs.
const maxID = 1 << 10

// message is a JSON-RPC message, read once for everything in front of mcp-go.
type message struct {
	raw    []byte // as it was written
	id     span   // empty when absent
	method span
	params span
	answer bool // it has a result or an error
}

// span is a part of a message. The zero span is empty.
type span struct{ start, end int }

func (m message) text(s span) json.RawMessage { return m.raw[s.start:s.end] }

func (m message) hasID() bool { return m.id != span{} }

// param finds a parameter.
func (m message) param(name string) (at span, ok bool) {
	ordered.Scan(m.text(m.params), func(found []byte, start, end int) {
		if string(found) == name {
			at, ok = span{m.params.start + start, m.params.start + end}, true
		}
	})
	return at, ok
}

// name returns the method; empty when there is none, or no text.
func (m message) name() mcp.MCPMethod {
	method := m.text(m.method)
	if len(method) > 2 && method[0] == '"' && bytes.IndexByte(method, '\\') < 0 {
		return mcp.MCPMethod(method[1 : len(method)-1])
	}
	var name mcp.MCPMethod
	_ = json.Unmarshal(method, &name)
	return name
}

// readMessage finds the members of a message. It reports false for what is no
// JSON object, which mcp-go refuses.
func readMessage(raw []byte) (m message, ok bool) {
	m.raw = raw
	if !json.Valid(raw) {
		return m, false
	}
	return m, ordered.Scan(raw, func(name []byte, start, end int) {
		switch string(name) {
		case "id":
			m.id = span{start, end}
		case "method":
			m.method = span{start, end}
		case "params":
			m.params = span{start, end}
		case "result", "error":
			m.answer = true
		}
	})
}

// malformed answers an object that is no JSON-RPC message; it returns nil for
// one. mcp-go lets some of these go unanswered, and names Go types to others.
func malformed(m message) []byte {
	id, params := m.text(m.id), m.text(m.params)
	switch {
	case len(id) > maxID:
		return failure(nil, mcp.INVALID_REQUEST, "id is longer than 1,024 bytes")
	case len(id) > 0 && id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9'):
		return failure(nil, mcp.INVALID_REQUEST, "id must be a string or a number")
	case m.answer && m.method == span{}:
		return nil
	case m.name() == "":
		return failure(id, mcp.INVALID_REQUEST, "a request needs a method")
	case len(params) > 0 && params[0] != '{' && string(params) != "null":
		return failure(id, mcp.INVALID_PARAMS, "params must be an object")
	}
	return nil
}

// edit is a text in place of a part of a message.
type edit struct {
	span
	text []byte
}

// edited returns the message with up to two parts replaced.
func (m message) edited(edits ...edit) []byte {
	if len(edits) == 2 && edits[0].start > edits[1].start {
		edits[0], edits[1] = edits[1], edits[0]
	}
	var out []byte
	rest := 0
	for _, e := range edits {
		out = append(append(out, m.raw[rest:e.start]...), e.text...)
		rest = e.end
	}
	if rest == 0 {
		return m.raw
	}
	return append(out, m.raw[rest:]...)
}

// failure is a JSON-RPC error. The id comes back byte by byte; a nil one as
// null.
func failure(id json.RawMessage, code int, text string) []byte {
	if len(id) == 0 {
		id = nil
	}
	return ordered.MustJSON(ordered.Map{
		{Key: "jsonrpc", Value: mcp.JSONRPC_VERSION}, {Key: "id", Value: id},
		{Key: "error", Value: ordered.Map{{Key: "code", Value: code}, {Key: "message", Value: text}}},
	})
}

// mcp-go reads ids as floating point or text, and writes them anew. An id that
// would not come back as it was travels through it as a text with a mark that
// no client can know.
var (
	idMark = "id-" + uuid.NewString() + "-"
	masked = regexp.MustCompile(`"` + idMark + `([0-9a-f]*)"`)
)

// mask returns what stands for an id; false when the id may go as it is: whole
// numbers of up to 15 digits, and texts that no encoder escapes.
func mask(id json.RawMessage) (text []byte, ok bool) {
	digits := bytes.TrimPrefix(id, []byte("-"))
	plain := len(digits) > 0 && len(digits) <= 15
	for _, c := range digits {
		plain = plain && c >= '0' && c <= '9'
	}
	if len(id) > 1 && id[0] == '"' {
		plain = true
		for _, c := range id[1 : len(id)-1] {
			plain = plain && c >= ' ' && c <= '~' && bytes.IndexByte([]byte(`\<>&`), c) < 0
		}
	}
	if plain {
		return nil, false
	}
	return []byte(`"` + idMark + hex.EncodeToString(id) + `"`), true
}

// unmask puts masked ids back as they were written.
func unmask(text []byte) []byte {
	if !bytes.Contains(text, []byte(idMark)) {
		return text
	}
	return masked.ReplaceAllFunc(text, func(found []byte) []byte {
		id, _ := hex.DecodeString(string(masked.FindSubmatch(found)[1]))
		return id
	})
}

// goTypes matches how encoding/json speaks of a value of the wrong type.
var goTypes = regexp.MustCompile(`(?:json: )?cannot unmarshal (.+?) into Go (?:struct field (?:\w+\.)?(\S+)|value) of type \S+`)

// inPlainWords rewrites an error of mcp-go that names Go types.
func inPlainWords(text string) string {
	return goTypes.ReplaceAllStringFunc(text, func(found string) string {
		parts := goTypes.FindStringSubmatch(found)
		if parts[2] == "" {
			parts[2] = "a value"
		}
		return parts[2] + " must not be of type " + parts[1]
	})
}

// plainError rewrites the message of a JSON-RPC error that names Go types; it
// returns every other answer as it is.
func plainError(answer []byte) []byte {
	if !bytes.Contains(answer, []byte(" into Go ")) {
		return answer
	}
	var m struct {
		ID    json.RawMessage `json:"id"`
		Error struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(answer, &m) != nil || m.Error.Code == 0 {
		return answer
	}
	return failure(m.ID, m.Error.Code, inPlainWords(m.Error.Message))
}
