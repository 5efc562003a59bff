// Package serve serves families over MCP, on standard input and output and over HTTP. [New] makes a server of
// [Options].
//
// mcp-go carries the protocol in both eras; only this package imports it. It checks each request for
// its era (session, headers, version and metadata), once for all requests that look the same to it.
// The package then answers the methods in methods.go itself, and mcp-go answers the other ones.
// Tools are looked up and arguments are read here. So a model can read and fix the answer to an
// unknown name, and numbers stay as they were written.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/content"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/system/target"
	"github.com/toolfold/toolfold/internal/text/suggest"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/surface"
)

// MaxInstructions is the most characters that server instructions should have, without the texts of other
// servers. Every client pays for them on every turn.
const MaxInstructions = 400

// anyTool is the only tool registered with mcp-go, which checks every call under this name.
const anyTool = "toolfold"

// Options configure a server. Either Families are set, which [New] puts together with the actions that find
// and describe them, or Surface is set.
type Options struct {
	Name         string // empty = toolfold
	Version      string
	Instructions string // for the model; see [MaxInstructions]

	// InstructionsFor returns the instructions for callers with limited rights, in place of
	// Instructions. Nil = all callers get Instructions.
	InstructionsFor func(*toolfold.Rights) string

	// Families are the families that the server offers, as [toolfold.Mount] returns them, in the order of
	// lists.
	Families []*toolfold.Family

	Mode     string   // consolidated (one tool per family) or legacy (one per action); empty = consolidated
	Listing  string   // how much of each tool is listed: lazy, signature, full or search; empty = lazy, or full in mode legacy
	Fold     string   // what one tool holds: family, effect (reads apart from writes) or none (one action); empty = family
	Params   string   // the place in a call for parameters that a list leaves out: object, text (JSON) or flat; empty = object
	ReadOnly bool     // offer only actions that read, or that restrain themselves to reading
	Allow    []string // offer only the actions that a pattern matches, such as note.*; empty = all
	Deny     []string // offer no action that a pattern matches

	// For names a client, such as cursor, or a kind of clients: eager, deferring, code or strict.
	// It presets Listing, Fold, Params and AlwaysLoad, and adds Structured and SearchHints; options
	// that are set win. Resources are listed as before. The names are the values of toolfold serve
	// --for. Empty = no presets.
	For string

	// Surface is the surface to offer, if the caller has put it together. The options from Families
	// to For must not be set then. Nil = New makes a surface of Families.
	Surface *surface.Surface

	// Prompts returns the prompts of the caller that ctx carries, see
	// [toolfold.OriginOf], in the order of lists. Nil = the server has none.
	Prompts func(ctx context.Context) ([]Prompt, error)

	// Resources returns the resources that the caller may read, in the order of lists. The first
	// one that matches a URI is read. Nil = the server has none.
	Resources func(ctx context.Context) ([]Resource, error)

	// Others has prompts and resources of other servers, listed after Prompts and Resources. Each
	// kind is offered only if Prompts or Resources is not nil. Nil = no other servers.
	Others Others

	// Sessions stores sessions over HTTP of protocols up to 2025-11-25, and passes retries of later protocols, for all
	// servers that use it. Nil = a session, and a call that waits for its client, stay with the server that began it.
	Sessions SharedSessions

	// SessionEnded is called when a session over HTTP has ended, with its id in [toolfold.Origin]. May be nil.
	SessionEnded func(id string)

	// Skills returns the skills of the caller, in the order of lists. Their files are resources too. Nil = the
	// server has none, and does not declare the extension.
	Skills func(ctx context.Context) ([]Skill, error)

	// AnswerLink returns the resource that holds the whole of a truncated answer, by its [toolfold.Answer.RestID].
	// A link to it follows the text of the answer. Nil = no links.
	AnswerLink func(id string) content.Link

	Metrics *Metrics     // nil = new metrics
	Log     *slog.Logger // nil = the default logger
	Limits  Limits

	// Tasks stores the calls of actions that may outlive their request, see [toolfold.Action]. Nil
	// = the server offers no tasks.
	Tasks Tasks

	// TaskGrace is the time to wait for the result of a call that became a task. A later result is
	// answered with the task. 0 = 2 s; negative = always answer with the task.
	TaskGrace time.Duration

	// Structured sends every answer as structured content too, and describes
	// it with an output schema.
	Structured bool

	// AlwaysLoad names the tools that hosts which load tools on demand should show at once. Empty =
	// [LoadDiscovery].
	AlwaysLoad Loads

	// Authorize returns the caller of a request to /mcp and /metrics over HTTP, if its token is not known
	// otherwise. It must not read the body. A [*toolfold.Error] refuses the request: with 403 if its code is
	// [toolfold.PermissionDenied] or [InsufficientScope], else with 401; the client gets its message. Any other
	// error is logged and answered with 503. While a stream is open, it is asked again each second, and a
	// refusal ends the stream.
	// Nil = callers are known by their token, if one is required.
	Authorize func(*http.Request) (Identity, error)

	// Protected describes the server to clients that log in. Nil = clients find no issuer by themselves.
	Protected *ProtectedResource

	// SearchHints adds search words to the tools without that mark, so that such hosts find them.
	// They cost half as much as a list with one line per tool.
	SearchHints bool
}

// Limits bound the cost of clients. A zero field has its default, see [DefaultLimits].
type Limits struct {
	Body        int64 // bytes of one message; 4 MiB
	Sessions    int   // of protocols up to 2025-11-25 at a time; 1,000
	Connections int   // over HTTP at a time; 1,024
	Calls       int   // that run at a time; 256
	PerMinute   int   // calls that a caller with an identity or a token begins in a minute; no limit
}

// DefaultLimits are the limits of [Options] that leave them zero.
var DefaultLimits = Limits{Body: 4 << 20, Sessions: 1000, Connections: 1024, Calls: 256}

// patience bounds how long the server waits for clients and for calls.
type patience struct {
	body  time.Duration // for the body of a request
	write time.Duration // for a client to read what was written
	call  time.Duration // for a call to get its turn
	task  time.Duration // for a task call to end, so that its result is the answer
	look  time.Duration // between two checks of the resources that clients watch

	silence time.Duration // see [letters]
}

var usualPatience = patience{
	body: 30 * time.Second, write: 30 * time.Second, call: 10 * time.Second, task: 2 * time.Second, look: 2 * time.Second,
	silence: 10 * time.Second,
}

func (l Limits) complete() Limits {
	return Limits{
		Body:        cmp.Or(l.Body, DefaultLimits.Body),
		Sessions:    cmp.Or(l.Sessions, DefaultLimits.Sessions),
		Connections: cmp.Or(l.Connections, DefaultLimits.Connections),
		Calls:       cmp.Or(l.Calls, DefaultLimits.Calls),
		PerMinute:   l.PerMinute,
	}
}

// Server serves one surface over any number of connections.
type Server struct {
	name    string
	version string
	mcp     *server.MCPServer
	surface *surface.Surface
	log     *slog.Logger
	metrics *Metrics
	limits  Limits
	tasks   Tasks // nil = no tasks

	methods      map[mcp.MCPMethod]*method // answered here
	prompts      func(context.Context) ([]Prompt, error)
	resources    func(context.Context) ([]Resource, error)
	skills       func(context.Context) ([]Skill, error)
	others       Others // nil = no other servers
	answerLink   func(id string) content.Link
	shared       SharedSessions       // nil = sessions stay in this process
	onSessionEnd func(session string) // see [Options.SessionEnded]
	watches      watches

	instructions func(*toolfold.Rights) string // see [Options.InstructionsFor]

	authorize func(*http.Request) (Identity, error) // nil = by tokens
	protected *ProtectedResource                    // nil = none

	structured   bool
	loads        Loads
	hints        bool // whether search hints are listed
	waits        patience
	calls        calls
	pendingCalls pendingCalls
	letters      *letters // nil = calls wait in this process only
	admissions   cache[*admission]
	lists        atomic.Pointer[cache[toolList]] // by rights and the request's lazy member; without lists of sessions that loaded tools
	grown        sync.Map                        // ids of the sessions whose list has grown
}

// Caller calls the actions of the server's families for code that runs outside a call, such as a
// timer, see [toolfold.Do]. Calls use the rights and the origin of their context.
func (s *Server) Caller() toolfold.Caller { return s.surface.Runner }

// check rejects options with an unknown value.
func (o Options) check() error {
	for _, option := range []struct {
		name, value string
		allowed     []string
	}{
		{"Mode", o.Mode, texts(surface.Modes())},
		{"Listing", o.Listing, texts(lazy.Levels())},
		{"Fold", o.Fold, texts(consolidate.Folds())},
		{"Params", o.Params, texts(entry.Forms())},
		{"For", o.For, target.Names()},
		{"AlwaysLoad", string(o.AlwaysLoad), texts([]Loads{LoadNone, LoadDiscovery, LoadCore, LoadAll})},
	} {
		if option.value != "" && !slices.Contains(option.allowed, option.value) {
			return fmt.Errorf("serving: %s", suggest.OneOf(option.name, option.value, option.allowed))
		}
	}
	if err := o.Protected.check(); err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}

func texts[T ~string](words []T) []string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = string(word)
	}
	return list
}

// suited returns the row of For, or a row without presets if For is empty.
func (o Options) suited() target.Row {
	if row := target.Find(o.For); row != nil {
		return *row
	}
	return target.Row{Surface: &target.Surface{}}
}

// surface returns the surface that a server with these options offers.
func (o Options) surface() (*surface.Surface, error) {
	rules := permission.Rules{ReadOnly: o.ReadOnly, Allow: o.Allow, Deny: o.Deny}
	rights := rules.Rights()
	if o.Surface != nil {
		if len(o.Families) > 0 || o.Mode+o.Listing+o.Fold+o.Params+o.For != "" || rights != nil {
			return nil, errors.New("serving: Surface is set, so Families, Mode, Listing, Fold, Params, ReadOnly, Allow, Deny and For must not be")
		}
		return o.Surface, nil
	}
	if err := rules.Check(o.Families); err != nil {
		return nil, err
	}
	for _, f := range o.Families {
		if f.Category == callctx.Discovery { // permission rules do not apply to its actions
			return nil, fmt.Errorf("family %s: the category %s is for the tools that find other tools: choose another", f.Name, f.Category)
		}
	}
	suits := o.suited().Surface
	offer := surface.Options{
		Mode: surface.Mode(o.Mode), Level: lazy.Level(cmp.Or(o.Listing, suits.Listing)),
		Fold: consolidate.Fold(cmp.Or(o.Fold, suits.Fold)), Params: entry.Form(cmp.Or(o.Params, suits.Params)),
		Structured: o.Structured || suits.Structured, ResultLimit: suits.ResultLimit, Rights: rights, Log: o.Log,
	}
	if o.Fold == "" && suits.Fold != "" { // the presets were measured without tools of other servers
		offer.FoldOthers = consolidate.ByFamily
	}
	s := surface.New(offer)
	return s, s.Put(append(slices.Clone(o.Families), lazy.Mount(s.Discovery))...)
}

// capabilities returns the capabilities that a server with these options announces.
func (o Options) capabilities() []server.ServerOption {
	all := []server.ServerOption{server.WithToolCapabilities(true), server.WithExtensions(o.extensions()), server.WithLogging()}
	if o.Prompts != nil {
		all = append(all, server.WithPromptCapabilities(true))
	}
	if o.Resources != nil {
		all = append(all, server.WithResourceCapabilities(true, true))
	}
	if o.Prompts != nil || o.Resources != nil {
		all = append(all, server.WithCompletions())
	}
	return all
}

// New returns a server. It opens nothing. An error names the invalid option, or the fault in a
// family's declaration.
func New(o Options) (*Server, error) {
	o = o.withSkills()
	if err := o.check(); err != nil {
		return nil, err
	}
	offered, err := o.surface()
	if err != nil {
		return nil, err
	}
	suits := o.suited()
	o.Structured = o.Structured || suits.Surface.Structured
	o.AlwaysLoad = cmp.Or(o.AlwaysLoad, Loads(suits.Surface.AlwaysLoad))
	o.SearchHints = o.SearchHints || suits.Kind == target.Deferring
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
		name: o.Name, version: o.Version,
		surface: offered, log: o.Log, metrics: o.Metrics, limits: limits, tasks: o.Tasks, structured: o.Structured,
		loads: o.AlwaysLoad, hints: o.SearchHints,
		waits: usualPatience,
		calls: newCalls(limits), methods: o.ownMethods(), prompts: o.Prompts, resources: o.Resources,
		skills: o.Skills, others: o.Others, answerLink: o.AnswerLink, shared: o.Sessions, onSessionEnd: o.SessionEnded,
		instructions: o.InstructionsFor, authorize: o.Authorize, protected: o.Protected,
		pendingCalls: pendingCalls{process: uuid.NewString()[:processDigits] + "-"},
	}
	if o.Others != nil {
		s.watches.watch = o.Others.Watch
	}
	s.letters = newLetters(o.Sessions, &s.pendingCalls, s.log)
	s.waits.task = cmp.Or(o.TaskGrace, s.waits.task)
	s.lists.Store(&cache[toolList]{})
	o.Metrics.caches(offered.Discovery)
	hooks := &server.Hooks{}
	hooks.AddBeforeAny(onAdmission)
	hooks.AddBeforeCallTool(func(_ context.Context, _ any, call *mcp.CallToolRequest) { call.Params.Name = anyTool })
	hooks.AddAfterInitialize(onInitialize)
	hooks.AddAfterInitialize(func(ctx context.Context, _ any, _ *mcp.InitializeRequest, result *mcp.InitializeResult) {
		s.instruct(ctx, &result.Instructions)
	})
	hooks.AddAfterDiscover(func(ctx context.Context, _ any, _ *mcp.DiscoverRequest, result *mcp.DiscoverResult) {
		s.instruct(ctx, &result.Instructions)
	})
	hooks.AddAfterSetLevel(s.shareLevel)
	hooks.AddOnUnregisterSession(s.forget)
	hooks.AddBeforeSubscriptionsListen(s.listen)
	s.mcp = server.NewMCPServer(o.Name, o.Version, append(o.capabilities(),
		server.WithInstructions(o.Instructions),
		server.WithMethodCacheHints(mcp.MethodToolsList, lazy.TTL.Milliseconds(), mcp.CacheScopePrivate),
		server.WithHooks(hooks),
		server.WithRecovery(),
	)...)
	s.mcp.AddTool(mcp.NewTool(anyTool), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	})
	offered.OnGrow(s.tellGrown)
	offered.OnChange(func() {
		s.lists.Store(&cache[toolList]{})
		s.mcp.SendNotificationToAllClients(mcp.MethodNotificationToolsListChanged, nil)
	})
	return s, nil
}

// instruct replaces the instructions for a caller with limited rights.
func (s *Server) instruct(ctx context.Context, text *string) {
	if r := requestOf(ctx); r != nil && r.caller.rights != nil && s.instructions != nil {
		*text = s.instructions(r.caller.rights)
	}
}
