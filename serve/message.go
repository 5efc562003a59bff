package serve

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/regex"
)

// maxID limits the id of a request in bytes: ids are stored while requests run.
const maxID = 1 << 10

// message is a JSON-RPC message, parsed once. Its parts are the original bytes, or nil if they are
// absent.
type message struct {
	raw             json.RawMessage
	version, id     json.RawMessage
	result, failure json.RawMessage
	methodText      json.RawMessage
	method          mcp.MCPMethod
	rawParams       json.RawMessage
	tool            string // name of the called tool; empty if it is not a text
	params          struct {
		name, arguments     json.RawMessage // of tools/call, prompts/get
		state, responses    json.RawMessage // of a continued call
		lazy, cursor        json.RawMessage // of a list
		toolName, toolNames json.RawMessage // of the extension
		requestID           json.RawMessage // of a cancellation
		rawMeta             json.RawMessage
	}
	meta struct {
		progressToken, traceparent, tracestate, structured, lazy json.RawMessage
		protocol                                                 json.RawMessage // object with the members that the protocol reserves
	}
}

// isAnswer reports whether the message answers a request of ours.
func (m *message) isAnswer() bool {
	return m.methodText == nil && (m.result != nil || m.failure != nil)
}

// protocolMeta is the prefix of names in _meta that the protocol reserves.
const protocolMeta = "io.modelcontextprotocol/"

// readMessage parses a message. It returns nil if raw is not a JSON object.
func readMessage(raw []byte) *message {
	m := &message{raw: raw}
	if !json.Valid(raw) || !scan(raw, []memberTarget{
		{"jsonrpc", &m.version}, {"id", &m.id}, {"method", &m.methodText}, {"params", &m.rawParams},
		{"result", &m.result}, {"error", &m.failure},
	}) {
		return nil
	}
	if m.method = mcp.MethodToolsCall; string(m.methodText) != toolsCall { // the usual method needs no allocation
		m.method = mcp.MCPMethod(textOfJSON(m.methodText))
	}
	p, meta := &m.params, &m.meta
	scan(m.rawParams, []memberTarget{
		{"name", &p.name}, {"arguments", &p.arguments}, {"_meta", &p.rawMeta}, {"requestState", &p.state}, {"inputResponses", &p.responses},
		{"lazy", &p.lazy}, {"cursor", &p.cursor}, {"tool_name", &p.toolName}, {"tool_names", &p.toolNames}, {"requestId", &p.requestID},
	})
	if m.method == mcp.MethodToolsCall {
		m.tool = textOfJSON(p.name)
	}
	meta.protocol = p.rawMeta
	if scan(p.rawMeta, []memberTarget{
		{"progressToken", &meta.progressToken}, {"traceparent", &meta.traceparent}, {"tracestate", &meta.tracestate},
		{structuredMeta, &meta.structured}, {lazyMeta, &meta.lazy},
	}) {
		meta.protocol = []byte("{")
		ordered.Scan(p.rawMeta, func(name []byte, start, end int) {
			if bytes.HasPrefix(name, []byte(protocolMeta)) {
				meta.protocol = appendMember(meta.protocol, string(name), p.rawMeta[start:end])
			}
		})
		meta.protocol = append(meta.protocol, '}')
	}
	return m
}

// memberTarget is a member of an object and the place for its value.
type memberTarget struct {
	name string
	to   *json.RawMessage
}

// scan finds members of a JSON object. It returns false for any other value.
func scan(raw json.RawMessage, members []memberTarget) bool {
	return ordered.Scan(raw, func(name []byte, start, end int) {
		for _, member := range members {
			if string(name) == member.name {
				*member.to = raw[start:end:end]
			}
		}
	})
}

// appendMember appends a member to an object that is not closed yet. A nil value is omitted.
func appendMember(out []byte, name string, value json.RawMessage) []byte {
	if value == nil {
		return out
	}
	if out[len(out)-1] != '{' {
		out = append(out, ',')
	}
	out, _ = jsontext.AppendQuote(out, name)
	return append(append(out, ':'), value...)
}

// appendMembers appends comma-separated members to an open object, or to a list of members.
func appendMembers(out, members []byte) []byte {
	if len(members) > 0 && len(out) > 0 && out[len(out)-1] != '{' {
		out = append(out, ',')
	}
	return append(out, members...)
}

// encode returns a message of the parts that are not nil.
func encode(version, id, method, params json.RawMessage) []byte {
	out := appendMember([]byte("{"), "jsonrpc", version)
	out = appendMember(out, "id", id)
	out = appendMember(out, "method", method)
	return append(appendMember(out, "params", params), '}')
}

const toolsCall = `"` + string(mcp.MethodToolsCall) + `"`

// textOfJSON decodes a JSON string. It returns an empty text for any other value.
func textOfJSON(raw json.RawMessage) string {
	text, _ := ordered.Text(raw)
	return text
}

// refusedBatch returns the answer to a batch, which only one version of the protocol had. It
// returns nil for other texts. mcp-go would answer that a batch cannot be parsed.
func refusedBatch(text []byte) []byte {
	if text = bytes.TrimSpace(text); len(text) == 0 || text[0] != '[' || !json.Valid(text) {
		return nil
	}
	return failure(nil, mcp.INVALID_REQUEST, "batches are not served: send each message by itself")
}

// checkForm returns the error of an invalid JSON-RPC message; nil if it is valid. mcp-go leaves
// some of these unanswered, and names Go types in other answers.
func (m *message) checkForm() *protocolError {
	switch id, params := m.id, m.rawParams; {
	case len(id) > maxID:
		m.id = nil
		return &protocolError{code: mcp.INVALID_REQUEST, message: "id is longer than 1,024 bytes"}
	case len(id) > 0 && id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9'):
		m.id = nil
		return &protocolError{code: mcp.INVALID_REQUEST, message: "id must be a string or a number"}
	case !utf8.Valid(id):
		m.id = nil
		return &protocolError{code: mcp.INVALID_REQUEST, message: "id is not UTF-8"}
	case m.isAnswer():
		return nil
	case m.method == "":
		return &protocolError{code: mcp.INVALID_REQUEST, message: "a request needs a method"}
	case !utf8.Valid(m.raw) && utf8.Valid(m.params.arguments): // the call rejects invalid arguments, and names the place
		return &protocolError{code: mcp.INVALID_REQUEST, message: "the message is not UTF-8"}
	case len(params) > 0 && params[0] != '{' && string(params) != "null":
		return &protocolError{code: mcp.INVALID_PARAMS, message: "params must be an object"}
	}
	return nil
}

// protocolError is an error that JSON-RPC reports, in place of a tool's result.
type protocolError struct {
	code    int
	message string
	data    any // may be nil
}

// Error implements [error].
func (e *protocolError) Error() string { return e.message }

// answer returns the answer to a request. The id is repeated byte by byte; an empty id becomes
// null.
func (e *protocolError) answer(id json.RawMessage) []byte {
	if len(id) == 0 {
		id = nil
	}
	body := ordered.Map{{Key: "code", Value: e.code}, {Key: "message", Value: e.message}}
	if e.data != nil {
		body.Set("data", e.data)
	}
	return ordered.MustJSON(ordered.Map{{Key: "jsonrpc", Value: mcp.JSONRPC_VERSION}, {Key: "id", Value: id}, {Key: "error", Value: body}})
}

// status returns the HTTP status that 2026-07-28 requires for the error.
func (e *protocolError) status() int {
	switch e.code {
	case mcp.METHOD_NOT_FOUND:
		return http.StatusNotFound
	case mcp.HEADER_MISMATCH, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, mcp.UNSUPPORTED_PROTOCOL_VERSION,
		mcp.INVALID_REQUEST, mcp.INVALID_PARAMS, mcp.PARSE_ERROR:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// failure returns an error answer without data.
func failure(id json.RawMessage, code int, text string) []byte {
	return (&protocolError{code: code, message: text}).answer(id)
}

// mcp-go reads ids as floating point or text and encodes them again. An id that would change is
// passed through mcp-go as a text with a mark that no client can know.
var (
	idMark = "id-" + uuid.NewString() + "-"
	masked = regex.Lazy(`"` + idMark + `([0-9a-f]*)"`)
	plain  = regex.Lazy(`^(-?[0-9]{1,15}|"[ !#-%'-;=?-\[\]-~]*")$`) // the same after decoding and encoding
)

// mask returns the message for mcp-go. Its id, and the id of a request that it cancels, have a
// form that mcp-go does not change.
func (m *message) mask() []byte {
	params := m.rawParams
	if m.isAnswer() {
		return m.raw
	}
	if id := m.params.requestID; id != nil {
		params = append(appendMember([]byte("{"), "requestId", mask(id)), '}')
	}
	return encode(m.version, mask(m.id), m.methodText, params)
}

func mask(id json.RawMessage) json.RawMessage {
	if id == nil || plain().Match(id) {
		return id
	}
	return json.RawMessage(`"` + idMark + hex.EncodeToString(id) + `"`)
}

// unmask restores masked ids.
func unmask(text []byte) []byte {
	return masked().ReplaceAllFunc(text, func(found []byte) []byte {
		id, _ := hex.DecodeString(string(masked().FindSubmatch(found)[1]))
		return id
	})
}

// goTypes matches the errors of encoding/json about a value of the wrong type.
var goTypes = regex.Lazy(`(?:json: )?cannot unmarshal (.+?) into Go (?:struct field (?:\w+\.)?(\S+)|value) of type \S+`)

// inPlainWords rewrites an error of mcp-go that names Go types.
func inPlainWords(text string) string {
	return goTypes().ReplaceAllStringFunc(text, func(found string) string {
		parts := goTypes().FindStringSubmatch(found)
		if parts[2] == "" {
			parts[2] = "a value"
		}
		return parts[2] + " must not be of type " + parts[1]
	})
}

// inOurWords returns an answer of mcp-go with the original ids, and with errors that do not name Go
// types.
func inOurWords(answer []byte) []byte {
	answer = unmask(answer)
	if !bytes.Contains(answer, []byte(" into Go ")) {
		return answer
	}
	return rewriteID(answer, nil)
}

// rewriteID returns an error of mcp-go in plain words, with another id if that is not nil. It
// returns other answers unchanged.
func rewriteID(answer []byte, id json.RawMessage) []byte {
	var m struct {
		ID    json.RawMessage
		Error *struct {
			Code    int
			Message string
			Data    any
		}
	}
	if json.Unmarshal(answer, &m) != nil || m.Error == nil {
		return answer
	}
	if id == nil {
		id = m.ID
	}
	return (&protocolError{m.Error.Code, inPlainWords(m.Error.Message), m.Error.Data}).answer(id)
}
