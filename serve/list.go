package serve

import (
	"context"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/estimate"
	"github.com/toolfold/toolfold/lazy"
)

// lazyMeta is the member of a tools/list request's _meta that asks for less
// (true) or all (false) than the server's level shows.
const lazyMeta = "toolfold/lazy"

// alwaysLoad is the _meta of a tool that Claude Code always shows: such a tool is
// shown to the model where the others are left to its own search.
var alwaysLoad = mcp.NewMetaFromMap(map[string]any{"anthropic/alwaysLoad": true})

// list replaces mcp-go's answer to tools/list by ours.
func (s *Server) list(ctx context.Context, _ any, request *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
	ctx = toolfold.WithOrigin(ctx, origin(ctx))
	var asked any
	if meta := request.Params.Meta; meta != nil {
		asked = meta.AdditionalFields[lazyMeta]
	}
	var list []lazy.Listed
	switch asked {
	case true:
		list = s.surface.Discovery.View(ctx).Stubs()
	case false:
		list = s.surface.Discovery.View(ctx).ListAt(lazy.Full)
	default:
		list = s.surface.Discovery.List(ctx)
	}
	result.Tools = make([]mcp.Tool, len(list))
	size := 0
	for i, l := range list {
		size += estimate.Tokens([]byte(l.Name+l.Description)) + estimate.Tokens(l.InputSchema)
		result.Tools[i] = mcp.Tool{
			Name: l.Name, Description: l.Description, RawInputSchema: l.InputSchema,
			Annotations: mcp.ToolAnnotation{
				ReadOnlyHint:    new(l.Hints.ReadOnly),
				DestructiveHint: new(l.Hints.Destructive),
				IdempotentHint:  new(l.Hints.Idempotent),
				OpenWorldHint:   new(l.Hints.OpenWorld),
			},
		}
		if l.Discovery {
			result.Tools[i].Meta = alwaysLoad
		}
	}
	exchangeOf(ctx).listTokens = size
	s.metrics.listed(size, false)
}

// origin returns where a request comes from.
func origin(ctx context.Context) toolfold.Origin {
	x := exchangeOf(ctx)
	from := toolfold.Origin{Rights: x.rights()}
	session := server.ClientSessionFromContext(ctx)
	if session != nil {
		from.Session, from.ListGrows = session.SessionID(), !server.IsModernRequest(ctx)
	}
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		if info.ClientInfo != nil {
			from.Client = info.ClientInfo.Name
		}
	} else if client, ok := session.(server.SessionWithClientInfo); ok {
		from.Client = client.GetClientInfo().Name
	}
	if x.caller != nil && x.caller.name != "" {
		from.Client = strings.TrimSpace(x.caller.name + " " + from.Client)
	}
	return from
}

// tellGrown notifies the session of a call that its list has grown.
func (s *Server) tellGrown(ctx context.Context) {
	s.grown.Store(origin(ctx).Session, true)
	err := exchangeOf(ctx).notices.send(func() error {
		return s.mcp.SendNotificationToClient(ctx, mcp.MethodNotificationToolsListChanged, nil)
	})
	if err != nil {
		s.log.Warn("sending list_changed", "err", err)
	}
}

// hasGrown reports whether the list of a session is longer than that of others.
func (s *Server) hasGrown(session string) bool {
	_, ok := s.grown.Load(session)
	return ok
}

// forget drops what a session loaded. Requests of 2026-07-28 have sessions of
// their own without an id, which load nothing.
func (s *Server) forget(_ context.Context, session server.ClientSession) {
	s.grown.Delete(session.SessionID())
	s.surface.Discovery.Drop(session.SessionID())
}
