package serve

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold/lazy"
)

// lazyMeta is the member of a tools/list request's _meta that asks for less
// (true) or all (false) than the server's level shows.
const lazyMeta = "toolfold/lazy"

// list replaces mcp-go's answer to tools/list by ours.
func (s *Server) list(ctx context.Context, _ any, request *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
	result.Tools = defined(s.listFor(ctx, request))
}

func (s *Server) listFor(ctx context.Context, request *mcp.ListToolsRequest) []lazy.Listed {
	if meta := request.Params.Meta; meta != nil {
		switch meta.AdditionalFields[lazyMeta] {
		case true:
			return s.surface.Discovery.Stubs()
		case false:
			return s.surface.Discovery.ListAt(lazy.Full)
		}
	}
	return s.surface.Discovery.ListFor(session(ctx))
}

func defined(list []lazy.Listed) []mcp.Tool {
	tools := make([]mcp.Tool, len(list))
	for i, l := range list {
		tools[i] = mcp.Tool{
			Name: l.Name, Description: l.Description, RawInputSchema: l.InputSchema,
			Annotations: mcp.ToolAnnotation{
				ReadOnlyHint:    new(l.Hints.ReadOnly),
				DestructiveHint: new(l.Hints.Destructive),
				IdempotentHint:  new(l.Hints.Idempotent),
				OpenWorldHint:   new(l.Hints.OpenWorld),
			},
		}
	}
	return tools
}

// session is the connection of a request, as far as discovery needs it.
func session(ctx context.Context) lazy.Session {
	s := server.ClientSessionFromContext(ctx)
	if s == nil {
		return lazy.Session{}
	}
	return lazy.Session{ID: s.SessionID(), Keeps: !server.IsModernRequest(ctx)}
}

// tellGrown notifies the session of a call that its list has grown.
func (s *Server) tellGrown(ctx context.Context) {
	err := s.mcp.SendNotificationToClient(ctx, mcp.MethodNotificationToolsListChanged, nil)
	if err != nil {
		s.log.Warn("sending list_changed", "err", err)
	}
}

// forget drops what a session loaded. Requests of 2026-07-28 have sessions of
// their own without an id, which load nothing.
func (s *Server) forget(_ context.Context, session server.ClientSession) {
	s.surface.Discovery.Drop(session.SessionID())
}
