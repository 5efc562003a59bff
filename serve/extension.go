package serve

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/lazy"
)

// extensionName identifies the lazy-describe extension among the
// capabilities.
const extensionName = "io.github.toolfold/lazy-describe"

// extensions are announced among the capabilities.
var extensions = map[string]any{
	extensionName: map[string]any{
		"methods":    []string{methodDescribe, methodDescribeBatch},
		"toolsList":  "lazy",
		"toolsMeta":  lazyMeta,
		"maxPerCall": maxDescribed,
	},
}

// maxDescribed bounds the names of one batch.
const maxDescribed = 200

// describe answers tools/describe and tools/describe_batch.
func (s *Server) describe(m message, x *exchange, ask probe) []byte {
	var params ordered.Map
	_ = json.Unmarshal(m.text(m.params), &params) // without any there is no name
	marks, refusal := inOrder(m, params, ask)
	if refusal != nil {
		return refusal
	}
	describe := s.describeOne
	if m.name() == methodDescribeBatch {
		describe = s.describeBatch
	}
	structured := s.structured
	if meta, ok := raws(params, "_meta"); ok {
		var members map[string]json.RawMessage
		_ = json.Unmarshal(meta, &members)
		if asked, given := members[structuredMeta]; given && json.Unmarshal(asked, &structured) != nil {
			return failure(m.text(m.id), mcp.INVALID_PARAMS, "_meta "+structuredMeta+" must be true or false")
		}
	}
	view := s.surface.Discovery.View(toolfold.WithOrigin(context.Background(), toolfold.Origin{Rights: x.rights()}))
	result, err := describe(view, params, structured)
	if err != nil {
		text := err.Message
		if err.Hint != "" {
			text += "; " + err.Hint
		}
		return failure(m.text(m.id), mcp.INVALID_PARAMS, text)
	}
	return ordered.MustJSON(ordered.Map{
		{Key: "jsonrpc", Value: mcp.JSONRPC_VERSION}, {Key: "id", Value: m.text(m.id)}, {Key: "result", Value: append(result, marks...)},
	})
}

func (s *Server) describeOne(view *lazy.View, params ordered.Map, structured bool) (ordered.Map, *toolfold.Error) {
	var name string
	if raw, ok := raws(params, "tool_name"); !ok || json.Unmarshal(raw, &name) != nil || name == "" {
		return nil, toolfold.Errorf(toolfold.InvalidInput, `tool_name must be a text, such as {"tool_name":"memory.store"}`)
	}
	return s.schemaOf(view, name, structured)
}

// schemaOf returns the definition of a tool, with the schema of its results where
// these are sent as structured content.
func (s *Server) schemaOf(view *lazy.View, name string, structured bool) (ordered.Map, *toolfold.Error) {
	definition, err := view.Define(name, structured)
	if err != nil {
		return nil, err
	}
	s.metrics.described(definition)
	return ordered.Map{{Key: "tool_name", Value: name}, {Key: "schema", Value: definition}}, nil
}

func (s *Server) describeBatch(view *lazy.View, params ordered.Map, structured bool) (ordered.Map, *toolfold.Error) {
	var names []string
	if raw, ok := raws(params, "tool_names"); !ok || json.Unmarshal(raw, &names) != nil || names == nil {
		return nil, toolfold.Errorf(toolfold.InvalidInput, `tool_names must be a list of texts, such as {"tool_names":["memory.store"]}`)
	}
	if len(names) > maxDescribed {
		return nil, toolfold.Errorf(toolfold.InvalidInput, "%d names are too many: at most %d a call", len(names), maxDescribed)
	}
	described, failed := []ordered.Map{}, []ordered.Map{}
	for _, name := range names {
		one, err := s.schemaOf(view, name, structured)
		if err != nil {
			failed = append(failed, ordered.Map{
				{Key: "tool_name", Value: name}, {Key: "message", Value: err.Message}, {Key: "hint", Value: err.Hint},
			})
			continue
		}
		described = append(described, one)
	}
	return ordered.Map{{Key: "tools", Value: described}, {Key: "errors", Value: failed}}, nil
}

// inOrder has mcp-go answer the plainest request of the message's era under the
// same session, headers and version: server/discover from 2026-07-28 on, ping
// before. A refusal of that is the refusal of the message; what mcp-go marks
// every result with, such as the resultType of 2026-07-28, is returned.
func inOrder(m message, params ordered.Map, ask probe) (marks ordered.Map, refusal []byte) {
	method, plainest := mcp.MethodPing, ordered.Map{}
	if meta, ok := raws(params, "_meta"); ok {
		plainest.Set("_meta", meta)
		var members map[string]json.RawMessage
		_ = json.Unmarshal(meta, &members)
		if _, modern := members[mcp.MetaKeyProtocolVersion]; modern {
			method = mcp.MethodServerDiscover
		}
	}
	answer := ask(method, ordered.MustJSON(ordered.Map{
		{Key: "jsonrpc", Value: mcp.JSONRPC_VERSION}, {Key: "id", Value: 1},
		{Key: "method", Value: method}, {Key: "params", Value: plainest},
	}))
	var reply struct {
		Result ordered.Map     `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(answer, &reply); err != nil {
		return nil, answer
	}
	if reply.Error != nil {
		return nil, ordered.MustJSON(ordered.Map{
			{Key: "jsonrpc", Value: mcp.JSONRPC_VERSION}, {Key: "id", Value: m.text(m.id)}, {Key: "error", Value: reply.Error},
		})
	}
	for _, name := range []string{"resultType", "_meta"} {
		if value, ok := reply.Result.Get(name); ok {
			marks.Set(name, value)
		}
	}
	return marks, nil
}
