package serve

import (
	"bytes"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold/internal/ordered"
)

// Methods of the extension, which mcp-go does not know.
const (
	methodDescribe      = "tools/describe"
	methodDescribeBatch = "tools/describe_batch"
)

// message is a JSON-RPC message with its members as they were written.
type message struct {
	all    ordered.Map
	id     json.RawMessage // nil for notifications
	method string
	params ordered.Map
}

func parseMessage(raw []byte) (m message, ok bool) {
	if json.Unmarshal(raw, &m.all) != nil {
		return message{}, false
	}
	m.id, _ = raws(m.all, "id")
	if method, ok := raws(m.all, "method"); !ok || json.Unmarshal(method, &m.method) != nil {
		return message{}, false
	}
	if params, ok := raws(m.all, "params"); ok && json.Unmarshal(params, &m.params) != nil {
		return message{}, false
	}
	return m, true
}

func raws(m ordered.Map, name string) (json.RawMessage, bool) {
	value, _ := m.Get(name)
	raw, ok := value.(json.RawMessage)
	return raw, ok
}

// A probe sends a message through mcp-go, on the transport that the original
// came in on, and returns what it answered. It is how the extension has
// sessions, headers and versions checked by the one who knows them.
type probe func(message []byte) []byte

// front sees a message before mcp-go does. It answers the methods of the
// extension and what is no JSON-RPC, rewrites what mcp-go would lose, and
// leaves all else alone: no reply means that next goes on to mcp-go.
func (s *Server) front(raw []byte, ask probe) (reply, next []byte) {
	if mayBeMalformed(raw) {
		if reply := malformed(raw); reply != nil {
			return reply, nil
		}
	}
	if !mayConcernFront(raw) {
		return nil, maskHuge(raw)
	}
	m, ok := parseMessage(raw)
	if version, _ := raws(m.all, "jsonrpc"); !ok || string(version) != `"2.0"` {
		return nil, raw
	}
	switch {
	case m.id != nil && (m.method == methodDescribe || m.method == methodDescribeBatch):
		return s.describe(m, ask), nil
	case m.method == string(mcp.MethodToolsList):
		return listLazily(m, raw)
	}
	return nil, maskHuge(raw)
}

// mayConcernFront spares most messages, large ones above all, from being
// parsed twice.
func mayConcernFront(raw []byte) bool {
	head := raw[:min(len(raw), 64<<10)]
	return bytes.Contains(head, []byte(`tools/describe`)) ||
		bytes.Contains(head, []byte(`tools/list`)) && bytes.Contains(head, []byte(`"lazy"`))
}

// listLazily moves the parameter lazy of tools/list to where mcp-go keeps it.
func listLazily(m message, raw []byte) (reply, next []byte) {
	value, ok := raws(m.params, "lazy")
	if !ok {
		return nil, raw
	}
	if text := string(value); text != "true" && text != "false" {
		return failure(m.id, mcp.INVALID_PARAMS, "lazy must be true or false"), nil
	}
	var meta ordered.Map
	if old, ok := raws(m.params, "_meta"); ok && json.Unmarshal(old, &meta) != nil {
		return nil, raw
	}
	meta.Set(lazyMeta, value)
	m.params.Set("_meta", meta)
	m.all.Set("params", m.params)
	return nil, ordered.MustJSON(m.all)
}

// failure is a JSON-RPC error. The id comes back byte by byte.
func failure(id json.RawMessage, code int, text string) []byte {
	return ordered.MustJSON(ordered.Map{
		{Key: "jsonrpc", Value: mcp.JSONRPC_VERSION}, {Key: "id", Value: id},
		{Key: "error", Value: ordered.Map{{Key: "code", Value: code}, {Key: "message", Value: text}}},
	})
}

func success(id json.RawMessage, result ordered.Map) []byte {
	return ordered.MustJSON(ordered.Map{
		{Key: "jsonrpc", Value: mcp.JSONRPC_VERSION}, {Key: "id", Value: id}, {Key: "result", Value: result},
	})
}
