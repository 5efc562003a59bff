package serve

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/tools"
)

// deprecatedMeta is the member of a result's _meta that tells a caller of a
// legacy name how to call it now.
const deprecatedMeta = "toolfold/deprecated"

// routed is a call on its way through mcp-go to the dispatch tool.
type routed struct {
	name string
	args json.RawMessage
}

// route sends every call to the dispatch tool, under which the name that was
// called and the arguments as they were written travel along.
func route(_ context.Context, _ any, request *mcp.CallToolRequest) {
	args := request.Params.RawArguments
	if args == nil {
		args, _ = json.Marshal(request.Params.Arguments)
	}
	request.Params.Arguments = routed{name: request.Params.Name, args: unmaskHuge(args)}
	request.Params.Name = dispatch
}

func (s *Server) call(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	call := request.Params.Arguments.(routed)
	ctx = lazy.WithSession(s.withProgress(ctx, request), session(ctx))
	run := func(ctx context.Context) tools.Answer { return s.surface.Client.Call(ctx, call.name, call.args) }
	if server.IsModernRequest(ctx) && samples(ctx) {
		return s.callModern(ctx, request, run)
	}
	return result(run(s.withSampler(ctx))), nil
}

// result carries an answer as structured content and as the same JSON in one
// text block, for clients that read only text.
func result(answer tools.Answer) *mcp.CallToolResult {
	r := &mcp.CallToolResult{
		Content:           []mcp.Content{mcp.NewTextContent(string(answer.Content))},
		StructuredContent: answer.Content,
		IsError:           answer.IsError(),
	}
	if answer.Deprecated != nil {
		r.Meta = &mcp.Meta{AdditionalFields: map[string]any{deprecatedMeta: answer.Deprecated}}
	}
	return r
}
