// Package serve speaks MCP. It is the only importer of mcp-go, which carries
// the protocol in both eras; what a client is listed and what a call answers
// comes from the other packages.
//
// mcp-go knows one tool: calls are routed to it and its list is replaced, so
// that an unknown name gets an answer that a model can read and mend. Arguments
// and answers pass mcp-go by (exchange.go), which would decode and encode them
// several times and round numbers: it sees a call without arguments and a
// placeholder as the result. What mcp-go does not do stands in front of it, the
// same for stdio and HTTP; whether a request is in order for its era is asked of
// mcp-go itself.
package serve

import (
	"cmp"
	"log/slog"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
)

// MaxInstructions is the most characters of server instructions: they are
// billed on every turn of every client.
const MaxInstructions = 400

// dispatch is the only tool that mcp-go knows. Every call is routed to it and
// the list it answers is replaced by ours, so that names can be callable
// without being listed and unknown ones get an answer a model can read.
const dispatch = "toolfold"

// Options say what a server serves.
type Options struct {
	Name         string // empty = toolfold
	Version      string
	Instructions string // at most [MaxInstructions] characters
	Surface      *surface.Surface
	Metrics      *Metrics     // nil keeps figures of its own
	Log          *slog.Logger // nil = the default logger
	Limits       Limits

	// Structured sends every answer as structured content too, and describes
	// it with an output schema.
	Structured bool
}

// Limits bound what clients may cost. A field that is not set has its default.
type Limits struct {
	Body        int64 // bytes of one message; 4 MiB
	Sessions    int   // of protocols up to 2025-11-25 at a time; 1,000
	Connections int   // over HTTP at a time; 1,024
	Calls       int   // that run at a time; 256
}

// DefaultLimits apply where a limit is not set.
var DefaultLimits = Limits{Body: 4 << 20, Sessions: 1000, Connections: 1024, Calls: 256}

// patience bounds how long the server waits for clients and for calls.
type patience struct {
	body  time.Duration // for the body of a request
	write time.Duration // for a client to read what was written
	call  time.Duration // of a call for its turn
}

var usualPatience = patience{body: 30 * time.Second, write: 30 * time.Second, call: 10 * time.Second}

func (l Limits) complete() Limits {
	return Limits{
		Body:        cmp.Or(l.Body, DefaultLimits.Body),
		Sessions:    cmp.Or(l.Sessions, DefaultLimits.Sessions),
		Connections: cmp.Or(l.Connections, DefaultLimits.Connections),
		Calls:       cmp.Or(l.Calls, DefaultLimits.Calls),
	}
}

// Server serves one surface over any number of connections.
type Server struct {
	mcp     *server.MCPServer
	surface *surface.Surface
	log     *slog.Logger
	metrics *Metrics
	limits  Limits

	structured bool
	waits      patience
	calls      calls
	parking    parking
	lists      lists
	grown      sync.Map // ids of the sessions whose list has grown
}

// New returns a server. It opens nothing.
func New(o Options) *Server {
	if o.Name == "" {
		o.Name = "toolfold"
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	limits := o.Limits.complete()
	s := &Server{
		surface: o.Surface, log: o.Log, metrics: o.Metrics, limits: limits, structured: o.Structured, waits: usualPatience,
		calls: calls{free: make(chan struct{}, limits.Calls)},
	}
	o.Metrics.caches(o.Surface.Discovery)
	hooks := &server.Hooks{}
	hooks.AddBeforeCallTool(route)
	hooks.AddAfterListTools(s.list)
	hooks.AddOnUnregisterSession(s.forget)
	s.mcp = server.NewMCPServer(o.Name, o.Version,
		server.WithInstructions(o.Instructions),
		server.WithToolCapabilities(true),
		server.WithExtensions(extensions),
		server.WithMethodCacheHints(mcp.MethodToolsList, lazy.TTL.Milliseconds(), mcp.CacheScopePrivate),
		server.WithHooks(hooks),
		server.WithRecovery(),
	)
	s.mcp.AddTool(mcp.NewTool(dispatch), s.call)
	o.Surface.OnGrow(s.tellGrown)
	o.Surface.OnChange(func() {
		s.lists.forget()
		s.mcp.SendNotificationToAllClients(mcp.MethodNotificationToolsListChanged, nil)
	})
	return s
}
