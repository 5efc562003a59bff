package serve

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold/internal/engine"
)

// withProgress has what runs under ctx report to the client, if it asked.
func (s *Server) withProgress(ctx context.Context, request mcp.CallToolRequest) context.Context {
	meta := request.Params.Meta
	if meta == nil || meta.ProgressToken == nil {
		return ctx
	}
	return engine.WithProgress(ctx, func(p engine.Progress) {
		params := map[string]any{"progressToken": meta.ProgressToken, "progress": p.Done, "total": p.Total}
		if p.Message != "" {
			params["message"] = p.Message
		}
		// A client that does not listen any more is no reason to stop.
		_ = exchangeOf(ctx).notices.send(func() error {
			return s.mcp.SendNotificationToClient(ctx, "notifications/progress", params)
		})
	})
}
