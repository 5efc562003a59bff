// Package serve speaks MCP. It is the only importer of mcp-go, which carries
// the protocol in both eras; what a client is listed and what a call answers
// comes from the other packages.
package serve

import (
	"log/slog"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools"
)

// MaxInstructions is the most characters of server instructions: they are
// billed on every turn of every client.
const MaxInstructions = 400

// dispatch is the one tool that mcp-go knows. Every call is routed to it and
// the list it answers is replaced by ours, so that names can be callable
// without being listed and unknown ones get an answer a model can read.
const dispatch = "toolfold"

// Options say what a server serves.
type Options struct {
	Version      string
	Instructions string // at most [MaxInstructions] characters
	Surface      *surface.Surface
	Log          *slog.Logger
}

// Server serves one surface over any number of connections.
type Server struct {
	mcp     *server.MCPServer
	surface *surface.Surface
	log     *slog.Logger
	metrics *metrics
	parking lot
}

// New returns a server. It opens nothing.
func New(o Options) *Server {
	s := &Server{surface: o.Surface, log: o.Log, metrics: newMetrics()}
	hooks := &server.Hooks{}
	hooks.AddBeforeCallTool(route)
	hooks.AddAfterListTools(s.list)
	hooks.AddOnUnregisterSession(s.forget)
	s.mcp = server.NewMCPServer("toolfold", o.Version,
		server.WithInstructions(o.Instructions),
		server.WithToolCapabilities(true),
		server.WithExtensions(extensions),
		server.WithMethodCacheHints(mcp.MethodToolsList, lazy.TTL.Milliseconds(), mcp.CacheScopePrivate),
		server.WithHooks(hooks),
		server.WithRecovery(),
	)
	s.mcp.AddTool(mcp.NewTool(dispatch), s.call)
	o.Surface.Observe(s.metrics.observe)
	o.Surface.OnGrown(s.tellGrown)
	s.followCatalogue()
	return s
}

// followCatalogue tells clients when tools are added or removed.
func (s *Server) followCatalogue() {
	started := false
	s.surface.Catalogue.Watch(func([]*tools.Spec) {
		if started {
			s.mcp.SendNotificationToAllClients(mcp.MethodNotificationToolsListChanged, nil)
		}
		started = true
	})
}
