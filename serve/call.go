package serve

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"go.opentelemetry.io/otel/propagation"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/engine"
)

// deprecatedMeta is the member of a result's _meta that tells a caller of a
// legacy name how to call it now.
const deprecatedMeta = "toolfold/deprecated"

// structuredMeta is the member of the _meta of a call, or of tools/describe, that
// asks for structured content, or not for it, whatever the server's default.
const structuredMeta = "toolfold/structured"

// routed is a call on its way through mcp-go to the dispatch tool.
type routed struct {
	name string
	args json.RawMessage
}

// route sends every call to the dispatch tool, under which the name that was
// called and the arguments as they were written travel along.
func route(ctx context.Context, _ any, request *mcp.CallToolRequest) {
	request.Params.Arguments = routed{name: request.Params.Name, args: exchangeOf(ctx).args}
	request.Params.Name = dispatch
}

func (s *Server) call(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	call := request.Params.Arguments.(routed)
	defer exchangeOf(ctx).notices.wait(ctx)
	x := exchangeOf(ctx)
	x.structured = s.structured
	if meta := request.Params.Meta; meta != nil {
		if asked, given := meta.AdditionalFields[structuredMeta]; given {
			var ok bool
			if x.structured, ok = asked.(bool); !ok {
				return result(ctx, toolfold.Fail(toolfold.Errorf(toolfold.InvalidInput, "_meta %s must be true or false", structuredMeta))), nil
			}
		}
	}
	ctx = withCaller(toolfold.WithOrigin(s.withProgress(ctx, request), origin(ctx)), request)
	run := func(ctx context.Context) toolfold.Answer {
		ctx, leave, refusal := s.calls.enter(ctx, s.waits.call)
		if refusal != nil {
			return toolfold.Fail(refusal)
		}
		defer leave()
		return s.surface.Client.Call(ctx, call.name, call.args)
	}
	if sampling(ctx) == nil {
		return result(ctx, run(ctx)), nil
	}
	if server.IsModernRequest(ctx) { // its client is asked between requests
		return s.callModern(ctx, request, run), nil
	}
	return result(ctx, run(engine.WithSampler(ctx, asking{s, ctx}))), nil
}

// withCaller returns a context for spans within the caller's trace, where its
// message or else the HTTP request says which that is.
func withCaller(ctx context.Context, request mcp.CallToolRequest) context.Context {
	carrier := propagation.MapCarrier{}
	for _, name := range []string{"traceparent", "tracestate"} {
		carrier[name] = request.Header.Get(name)
	}
	if meta := request.Params.Meta; meta != nil {
		if parent, ok := meta.AdditionalFields["traceparent"].(string); ok {
			state, _ := meta.AdditionalFields["tracestate"].(string)
			carrier = propagation.MapCarrier{"traceparent": parent, "tracestate": state}
		}
	}
	return propagation.TraceContext{}.Extract(ctx, carrier)
}
