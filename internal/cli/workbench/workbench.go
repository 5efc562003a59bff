// Package workbench assembles everything that runs calls: store, families, the tools of other servers,
// traces and counters.
package workbench

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/app/offer"
	"github.com/toolfold/toolfold/internal/app/telemetry"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/issuer"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/run/audit"
	"github.com/toolfold/toolfold/internal/run/embed"
	"github.com/toolfold/toolfold/internal/run/metric"
	"github.com/toolfold/toolfold/internal/run/usage"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/system/clock"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/ability"
	"github.com/toolfold/toolfold/tools/trace"
)

// Workbench is everything that runs calls, assembled from the options.
type Workbench struct {
	*surface.Surface
	env       *env.Env
	store     *storage.LazyDB
	Workspace string        // name of the workspace that notes, traces and tasks belong to
	taskPlace string        // Workspace, or a place for scripts alone
	retention time.Duration // how long ended tasks are kept
	metrics   *serve.Metrics
	tracing   *telemetry.Tracing
	legacy    *usage.Counter
	audit     *audit.Log                            // nil = no audit
	sessions  *app.Sessions                         // shares sessions over HTTP with other servers; nil = they stay in this process
	audited   call.Middleware                       // records who called what
	taskEnded func(by json.RawMessage, code string) // records the end of a call that became a task; nil = no audit
	tasks     serve.Tasks                           // for clients that accept a task as answer
	rights    *toolfold.Rights                      // of all callers; nil = all
	offer     offer.Offer
	server    atomic.Pointer[serve.Server] // set once it serves
	gateway   *gateway.Gateway             // to the other servers; nil without any
	others    []gateway.Upstream           // these servers
	shared    bool                         // several machines can use the store
	logins    *gateway.CallerLogins        // of callers at these; nil = no server has such logins
	issuer    *issuer.Issuer               // of callers over HTTP; nil before NewServer, or if they have tokens only
	beside    bool                         // the store is another workbench's, which closes it
	log       *slog.Logger
	lapses    lapses
	off       []*toolfold.Family // the workbench's, if only other servers are served

	opening   atomic.Bool    // the store is being opened for the traces of upstreams
	recording sync.WaitGroup // waits for that
}

// Open returns the workbench for a command's options, with the tools of other servers.
func Open(c *cli.Context, o *settings.Options) (*Workbench, error) {
	others, err := servers.Upstreams(c, o)
	if err != nil {
		return nil, err
	}
	return New(o, others)
}

// New returns a workbench with the tools of others. It opens nothing: the first call that needs the
// store opens it.
func New(o *settings.Options, others []gateway.Upstream) (*Workbench, error) {
	return build(o, &Workbench{store: storage.Lazy(o.Store, o.StoreOptions()...), others: others})
}

// Beside returns a workbench with other options, on the store and with the servers of b. It has to be closed
// before b.
func (b *Workbench) Beside(o *settings.Options) (*Workbench, error) {
	return build(o, &Workbench{store: b.store, others: b.others, beside: true})
}

// build completes a workbench that has its store and the servers.
func build(o *settings.Options, b *Workbench) (*Workbench, error) {
	if err := settings.CheckWorkbench(o.Options); err != nil {
		return nil, env.UsageError("%v", err)
	}
	b.env = o.Env
	b.Workspace = workspace.Name(o.Files.Workspace, o.WorkspaceName, o.Trusted())
	switch {
	case b.taskPlace != "":
	case o.GatewayOnly():
		b.taskPlace = b.Workspace + upstreamsOnly
	default:
		b.taskPlace = b.Workspace
	}
	b.retention = time.Duration(o.TaskRetentionDays) * 24 * time.Hour
	b.metrics = serve.NewMetrics()
	b.log = o.Env.Log()
	b.off = o.Off()
	var err error
	b.tracing, err = telemetry.New(telemetry.Options{
		Open: func(ctx context.Context) (trace.Store, error) {
			db, err := b.store.Open(ctx)
			if err != nil {
				return nil, err
			}
			return db.Trace(), nil
		},
		Opened: b.store.Opened(), Arguments: o.TraceArguments, RunsOnly: !o.TraceCalls, Days: o.TraceDays, Megabytes: o.TraceMegabytes,
		Workspace: b.Workspace, Version: env.Version(), Log: b.log, Now: time.Now,
	})
	if err != nil {
		return nil, env.UsageError("%v", err)
	}
	if err := b.metrics.Add(telemetry.Collector(telemetry.Sources{
		Open: func(ctx context.Context) (telemetry.Stores, error) {
			select {
			case <-b.store.Opened():
			default:
				if o.GatewayOnly() || !storage.MayHold(o.Store) {
					return nil, nil
				}
			}
			return b.store.Open(ctx)
		},
		Dropped: b.tracing.Dropped,
	})); err != nil {
		return nil, err
	}
	options := o.SurfaceOptions()
	options.ResultLimit, options.Strict, options.Rights, options.Log = o.ResultLimit, o.StrictNames, o.Rights(len(b.others) > 0), b.log
	b.audited = b.auditFor(o.AuditDays)
	b.shared = storage.IsPostgres(o.Store)
	if o.ManyClients && b.shared {
		b.sessions = &app.Sessions{Open: b.store.Open, Log: b.log}
	}
	options.Middleware = []call.Middleware{
		b.metrics.Calls, b.notify, b.countLegacy, b.recordUpstreams, b.tracing.Calls, b.audited,
		app.Policies(o.Files.Workspace, b.store.Open, b.sessions),
	}
	b.legacy = usage.New(usage.Options{
		Open: func(ctx context.Context) (usage.Store, error) {
			db, err := b.store.Open(ctx)
			if err != nil {
				return nil, err
			}
			return db.Usage(), nil
		},
		Opened: b.store.Opened(), Opens: storage.MayHold(o.Store), Log: b.log, Now: time.Now,
	})
	vectors := embed.New(embed.Settings(o.Embeddings), b.log)
	if vectors != nil {
		options.Meaning = embed.NewTexts(vectors)
	}
	b.rights = options.Rights
	b.Surface = surface.New(options)
	if b.sessions != nil {
		b.Discovery.ShareAnswers(app.Answers{Open: b.store.Open}, func(err error) {
			b.log.Warn("the rest of an answer can only be read at this server", "err", err)
		})
	}
	host := app.Host{
		Open: b.store.Open, Files: o.Files, WorkspaceName: b.Workspace, ScriptPlace: b.taskPlace,
		MaxInterruptions: o.MaxInterruptions, MemoryNamespace: o.MemoryNamespace, ScriptsConfirm: o.ScriptsConfirm,
		Opened:      b.store.Opened(),
		NoteHistory: o.NoteHistory(),
		NotesFolder: o.NotesFolder, NotesLock: notesLock(), MemoryScope: o.MemoryScope, NotesByCaller: o.ManyClients && !o.HasWorkspace(),
		Trusted: o.Trusted, Vectors: vectors, Rights: options.Rights,
		Tracer: b.tracing.Provider(), Recorded: b.tracing.Flush, Record: b.Change,
		Metrics: metric.Retention{Days: o.MetricDays, Points: o.MetricPoints}, GatewayOnly: o.GatewayOnly(), Works: o.Worker,
		Caller: b.Runner, Discovery: b.Discovery, Log: b.log, Now: time.Now, NewID: uuid.NewString,
	}
	if !o.GatewayOnly() {
		b.tasks = host.Tasks()
	}
	b.offer = offer.Offer{
		Caller: b.Runner, Discovery: b.Discovery, Workflows: host.Workflows(), Memory: o.Resources == "all",
		Abilities: func(ctx context.Context) (*ability.Service, error) { return host.Abilities(ctx, b.Holds(o.Store)) },
		Scripts:   host.Scripts,
		HasStore:  func() bool { return b.Holds(o.Store) },
		Stored:    host.Stored,
		OwnNotes:  host.OwnNotes,
	}
	families, err := app.Mount(host)
	if err != nil {
		return nil, err
	}
	if err := b.PutValid(families...); err != nil {
		return nil, err
	}
	if len(b.others) > 0 {
		if err := b.openGateway(o, b.others); err != nil {
			return nil, err
		}
	}
	if err := b.checkRules(o.Rules()); err != nil {
		return nil, env.UsageError("%v", err)
	}
	b.printOff(o, len(b.others))
	return b, nil
}

// upstreamsOnly ends the name of the workspace of tasks without the workbench. Servers with the workbench have
// other actions, so neither runs scripts of the other.
const upstreamsOnly = " (upstreams only)"

// notesLock returns the beginning of the paths of lock files for notes as files. It is empty if there is no data directory: then
// only calls of this process take turns.
func notesLock() string {
	dir, err := storage.DataDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "notes")
}

// Holds reports whether the store is open, or may have content.
func (b *Workbench) Holds(store string) bool {
	select {
	case <-b.store.Opened():
		return true
	default:
		return storage.MayHold(store)
	}
}

// notify is middleware that notifies clients of changed resources.
func (b *Workbench) notify(next call.Func) call.Func {
	return func(ctx context.Context, c *call.Call) toolfold.Answer {
		answer := next(ctx, c)
		if server := b.server.Load(); server != nil {
			b.offer.Tell(server, c, answer)
		}
		return answer
	}
}

// countLegacy is middleware that counts calls by legacy names, and logs them for their client.
func (b *Workbench) countLegacy(next call.Func) call.Func {
	return func(ctx context.Context, c *call.Call) toolfold.Answer {
		if c.Entry != nil && c.Entry.Legacy {
			b.legacy.Called(c.Entry.Tool, c.Origin.Client)
			serve.Log(ctx).Warn("called by a legacy name", "name", c.Entry.Tool, "action", c.Entry.Action.FullName())
		}
		return next(ctx, c)
	}
}

// recordUpstreams is middleware that opens the store to trace calls of upstreams, which do not need the
// store themselves. Traces wait until it is open. If it cannot be opened, later calls try again.
func (b *Workbench) recordUpstreams(next call.Func) call.Func {
	return func(ctx context.Context, c *call.Call) toolfold.Answer {
		if c.Entry != nil && c.Entry.Action.Definition != nil && b.opening.CompareAndSwap(false, true) {
			b.recording.Go(func() {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
				defer cancel()
				if _, err := b.store.Open(ctx); err != nil {
					b.log.Warn("calls of upstreams are not recorded until the store can be opened", "err", err)
					time.AfterFunc(recordAgain, func() { b.opening.Store(false) })
				}
			})
		}
		return next(ctx, c)
	}
}

const (
	recordTime  = 5 * time.Second // limit for opening the store for traces
	recordAgain = 5 * time.Second // before the next try
)

// auditFor returns middleware that records who called what, and keeps it for some days; with no days it
// records nothing.
func (b *Workbench) auditFor(days int) call.Middleware {
	if days == 0 {
		return func(next call.Func) call.Func { return next }
	}
	now := clock.Micros(time.Now)
	b.audit = audit.New(audit.Options{
		Open: func(ctx context.Context) (audit.Store, error) {
			db, err := b.store.Open(ctx)
			if err != nil {
				return nil, err
			}
			return db.Audit(), nil
		},
		Days: days, Log: b.log, Now: now,
	})
	b.taskEnded = app.TaskEnded(b.audit, now)
	return app.Audit(b.audit, now)
}

// Change makes a change that is not a call, and records it as if the caller of ctx had called a name, such as
// upstream.approve. The change is not made if it cannot be recorded.
func (b *Workbench) Change(ctx context.Context, name string, arguments any, change func(context.Context) error) error {
	family, action, _ := strings.Cut(name, ".")
	e := entry.New(&toolfold.Action{Name: action, Effect: toolfold.Sets, Family: &toolfold.Family{Name: family}}, name)
	var failed error
	answer := b.audited(func(ctx context.Context, _ *call.Call) toolfold.Answer {
		failed = change(ctx)
		refused, known := errors.AsType[*toolfold.Error](failed)
		switch {
		case failed == nil:
			return toolfold.Answer{}
		case !known:
			refused = toolfold.Errorf(toolfold.Internal, "%v", failed)
		}
		return refused.Answer()
	})(ctx, &call.Call{Name: name, Raw: ordered.MustJSON(arguments), Entry: e, Origin: toolfold.OriginOf(ctx)})
	if failed == nil && answer.Err != nil {
		return answer.Err
	}
	return failed
}

// Close stores everything pending, and closes the store.
func (b *Workbench) Close() {
	if b.gateway != nil {
		b.gateway.Close()
	}
	b.recording.Wait()
	b.legacy.Close()
	b.tracing.Close()
	if b.audit != nil {
		b.audit.Close()
	}
	if !b.beside {
		b.store.Close()
	}
}
