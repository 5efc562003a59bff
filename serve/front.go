package serve

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold/internal/ordered"
)

// Methods of the extension, which mcp-go does not know.
const (
	methodDescribe      = "tools/describe"
	methodDescribeBatch = "tools/describe_batch"
)

// A probe sends a message of a method through mcp-go, on the transport that the
// original came in on, and returns the answer. The extension uses it to have
// mcp-go check sessions, headers and versions.
type probe func(method mcp.MCPMethod, message []byte) []byte

// front looks at a message before mcp-go does. It answers the methods of the
// extension and what is no JSON-RPC; a nil reply means that next goes on to
// mcp-go, without what x keeps back.
func (s *Server) front(m message, x *exchange, ask probe) (reply, next []byte) {
	if reply := malformed(m); reply != nil {
		return reply, nil
	}
	var edits []edit
	switch m.name() {
	case methodDescribe, methodDescribeBatch:
		if m.hasID() {
			return s.describe(m, x, ask), nil
		}
	case mcp.MethodToolsList:
		change, reply := listLazily(m)
		if reply != nil {
			return reply, nil
		}
		edits = change
	case mcp.MethodToolsCall:
		if at, ok := m.param("arguments"); ok {
			x.args = m.text(at)
			edits = append(edits, edit{at, []byte("null")})
		}
	case mcp.MethodNotificationCancelled:
		if at, ok := m.param("requestId"); ok {
			if masked, ok := mask(m.text(at)); ok {
				edits = append(edits, edit{at, masked})
			}
		}
	}
	if m.hasID() {
		if masked, ok := mask(m.text(m.id)); ok {
			edits = append(edits, edit{m.id, masked})
		}
	}
	return nil, m.edited(edits...)
}

// listLazily moves the parameter lazy of tools/list to where mcp-go keeps it,
// and refuses cursors: the list has one page.
func listLazily(m message) (change []edit, reply []byte) {
	var params, meta ordered.Map
	if json.Unmarshal(m.text(m.params), &params) != nil {
		return nil, nil
	}
	if cursor, ok := raws(params, "cursor"); ok && string(cursor) != "null" && string(cursor) != `""` {
		return nil, failure(m.text(m.id), mcp.INVALID_PARAMS, "tools/list has one page and gives out no cursor: ask again without cursor")
	}
	value, ok := raws(params, "lazy")
	if !ok {
		return nil, nil
	}
	if text := string(value); text != "true" && text != "false" {
		return nil, failure(m.text(m.id), mcp.INVALID_PARAMS, "lazy must be true or false")
	}
	if old, ok := raws(params, "_meta"); ok && json.Unmarshal(old, &meta) != nil {
		return nil, nil
	}
	meta.Set(lazyMeta, value)
	params.Set("_meta", meta)
	return []edit{{m.params, ordered.MustJSON(params)}}, nil
}

func raws(m ordered.Map, name string) (json.RawMessage, bool) {
	value, _ := m.Get(name)
	raw, ok := value.(json.RawMessage)
	return raw, ok
}
