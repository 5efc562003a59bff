package serve

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/foreign"
	"github.com/toolfold/toolfold/internal/text/estimate"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/unseen"
	"github.com/toolfold/toolfold/lazy"
)

// lazyMeta is the member of the _meta of tools/list that overrides the server's level: true lists
// stubs, false lists everything.
const lazyMeta = "toolfold/lazy"

// toolList is a list of tools, encoded, with an estimate of its tokens.
type toolList struct {
	tools  []byte
	tokens int
}

// listedTool is a tool in tools/list.
type listedTool struct {
	lazy.ListedTool
	Title        json.RawMessage `json:"title,omitempty"`
	Icons        json.RawMessage `json:"icons,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  annotations     `json:"annotations"`
	Meta         any             `json:"_meta,omitempty"`
}

// asDefined adds the title, icons and _meta that another server defines for its tool.
func (s *Server) asDefined(l *listedTool) {
	definition, dropped, err := foreign.Object("", l.Definition)
	if err != nil { // there is no definition
		return
	}
	if len(dropped) > 0 {
		s.log.Debug("members of a tool of another server are left out of the list", "tool", l.Name, "members", dropped)
	}
	ordered.Scan(definition, func(name []byte, start, end int) {
		switch value := definition[start:end]; string(name) {
		case "title":
			l.Title = unseen.Text(value)
		case "icons":
			l.Icons = value
		case "_meta":
			l.Meta = value
		}
	})
}

type annotations struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

// Loads names the tools that hosts should show at once if they load tools on demand. Other hosts
// ignore the mark.
type Loads string

// The values of Loads.
const (
	LoadNone      Loads = "none"
	LoadDiscovery Loads = "discovery" // the tools that find and call the other tools
	LoadCore      Loads = "core"      // these and the core tier
	LoadAll       Loads = "all"       // all except tools of other servers
)

// Holds reports whether l marks a tool.
func (l Loads) Holds(t lazy.ListedTool) bool {
	switch l {
	case LoadNone:
		return false
	case LoadCore:
		return t.Discovery || t.Tier == toolfold.Core && !t.External
	case LoadAll:
		return !t.External
	}
	return t.Discovery
}

// alwaysLoad is the _meta of a tool that Claude Code always shows to the model. The model finds
// other tools by Claude Code's search.
var alwaysLoad = map[string]any{"anthropic/alwaysLoad": true}

// searchHint is the _meta by which Claude Code finds a tool that it does not show. Its search looks
// at names, at these words, and then at descriptions.
func searchHint(words string) map[string]any { return map[string]any{"anthropic/searchHint": words} }

// list appends the result of tools/list. Clients with the same list get the same bytes.
func (s *Server) list(ctx context.Context, r *request, out []byte) ([]byte, *protocolError) {
	if cursor := string(r.params.cursor); cursor != "" && cursor != "null" && cursor != `""` {
		return nil, &protocolError{code: mcp.INVALID_PARAMS, message: "tools/list has one page and gives out no cursor: ask again without cursor"}
	}
	lazy := string(r.params.lazy)
	if lazy != "" && lazy != "true" && lazy != "false" {
		return nil, &protocolError{code: mcp.INVALID_PARAMS, message: "lazy must be true or false"}
	}
	if byMeta := string(r.meta.lazy); lazy == "" && (byMeta == "true" || byMeta == "false") {
		lazy = byMeta
	}
	key := []byte(lazy)
	if rights := r.caller.rights; rights != nil {
		key = append(append(key, ' '), rights.Text...)
	}
	own := false // whether the session has its own, longer list
	if lazy == "" && r.session != nil {
		_, own = s.grown.Load(r.session.SessionID())
	}
	lists := s.lists.Load() // lists of the current catalogue
	list, cached := lists.get(key)
	if cached = cached && !own; !cached {
		list = s.listTools(ctx, lazy)
		if !own {
			lists.put(key, list)
		}
	}
	s.metrics.countList(list.tokens, cached)
	r.singleLine = true
	return r.admission.append(append(append(grow(out, len(list.tools)+512), `"tools":`...), list.tools...), nil), nil
}

func (s *Server) listTools(ctx context.Context, detail string) toolList {
	var tools []lazy.ListedTool
	switch detail {
	case "true":
		tools = s.surface.Discovery.View(ctx).Stubs()
	case "false":
		tools = s.surface.Discovery.View(ctx).ListAt(lazy.Full)
	default:
		tools = s.surface.Discovery.List(ctx)
	}
	list, tokens := make([]listedTool, len(tools)), 0
	for i, l := range tools {
		tokens += estimate.Tokens([]byte(l.Name+l.Description)) + estimate.Tokens(l.InputSchema)
		list[i] = listedTool{
			ListedTool: l, OutputSchema: l.OutputSchema,
			Annotations: annotations{l.Hints.ReadOnly, l.Hints.Destructive, l.Hints.Idempotent, l.Hints.OpenWorld},
		}
		s.asDefined(&list[i])
		switch {
		case s.loads.Holds(l):
			list[i].Meta = alwaysLoad
		case s.hints && list[i].Meta == nil && l.Words != nil:
			if words := l.Words(); words != "" {
				list[i].Meta = searchHint(words)
			}
		}
	}
	text, err := foreign.JSON(ordered.MustJSON(list)) // definitions of other servers may have a member twice
	if err != nil {
		panic(fmt.Sprintf("encoding the list of tools: %s", err))
	}
	return toolList{text, tokens}
}

// tellGrown notifies the session of a call that its list of tools has grown.
func (s *Server) tellGrown(ctx context.Context, tools []string) {
	if r := requestOf(ctx); r != nil && r.session != nil {
		s.grown.Store(r.session.SessionID(), true)
		s.shareLoaded(ctx, r.session.SessionID(), tools)
		r.notify(mcp.MethodNotificationToolsListChanged, ordered.Map{})
	}
}

// forget drops the state of a session. Requests of 2026-07-28 have their own sessions without an
// id, which load nothing.
func (s *Server) forget(_ context.Context, session server.ClientSession) {
	s.grown.Delete(session.SessionID())
	s.watches.remove(session.SessionID(), "")
	s.surface.Discovery.Drop(session.SessionID())
}
