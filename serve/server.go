// Package serve speaks MCP. It is the only importer of mcp-go, which carries
// the protocol in both eras; what a client is listed and what a call answers
// comes from the other packages.
package serve

import (
	"context"
	"log/slog"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/lazy"
)

// MaxInstructions is the most characters of server instructions: they are
// billed on every turn of every client.
const MaxInstructions = 400

// listTTL is how long clients may keep a list, in milliseconds.
const listTTL = 5 * 60 * 1000

// dispatch is the one tool that mcp-go knows. Every call is routed to it and
// the list it answers is replaced by ours, so that names can be callable
// without being listed and unknown ones get an answer a model can read.
const dispatch = "toolfold"

// Options say what a server serves.
type Options struct {
	Version      string
	Instructions string
	List         []lazy.Listed // what tools/list shows, in order
	Caller       *consolidate.Caller
	Log          *slog.Logger
}

// Server serves one surface over any number of connections.
type Server struct {
	mcp     *server.MCPServer
	caller  *consolidate.Caller
	listed  []mcp.Tool
	log     *slog.Logger
	metrics *metrics
}

// New returns a server. It opens nothing.
func New(o Options) *Server {
	s := &Server{caller: o.Caller, listed: listing(o.List), log: o.Log, metrics: newMetrics()}
	o.Caller.Observe = s.metrics.observe
	hooks := &server.Hooks{}
	hooks.AddBeforeCallTool(route)
	hooks.AddAfterListTools(s.list)
	s.mcp = server.NewMCPServer("toolfold", o.Version,
		server.WithInstructions(o.Instructions),
		server.WithToolCapabilities(false),
		server.WithMethodCacheHints(mcp.MethodToolsList, listTTL, mcp.CacheScopePrivate),
		server.WithHooks(hooks),
		server.WithRecovery(),
	)
	s.mcp.AddTool(mcp.NewTool(dispatch), s.call)
	return s
}

func listing(list []lazy.Listed) []mcp.Tool {
	listed := make([]mcp.Tool, len(list))
	for i, l := range list {
		listed[i] = mcp.Tool{
			Name: l.Name, Description: l.Description, RawInputSchema: l.InputSchema,
			Annotations: mcp.ToolAnnotation{
				ReadOnlyHint:    new(l.Hints.ReadOnly),
				DestructiveHint: new(l.Hints.Destructive),
				IdempotentHint:  new(l.Hints.Idempotent),
				OpenWorldHint:   new(l.Hints.OpenWorld),
			},
		}
	}
	return listed
}

func (s *Server) list(_ context.Context, _ any, _ *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
	result.Tools = s.listed
}
