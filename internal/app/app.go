// Package app connects the families with the store and the engine of the application.
package app

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/code/policy"
	"github.com/toolfold/toolfold/internal/code/scan"
	"github.com/toolfold/toolfold/internal/run/embed"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/metric"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/tools/ability"
	"github.com/toolfold/toolfold/tools/agent"
	"github.com/toolfold/toolfold/tools/bugfix"
	"github.com/toolfold/toolfold/tools/config"
	"github.com/toolfold/toolfold/tools/design"
	"github.com/toolfold/toolfold/tools/guard"
	"github.com/toolfold/toolfold/tools/memory"
	"github.com/toolfold/toolfold/tools/metrics"
	"github.com/toolfold/toolfold/tools/queue"
	"github.com/toolfold/toolfold/tools/refactor"
	"github.com/toolfold/toolfold/tools/script"
	"github.com/toolfold/toolfold/tools/session"
	"github.com/toolfold/toolfold/tools/task"
	"github.com/toolfold/toolfold/tools/telemetry"
	"github.com/toolfold/toolfold/tools/timer"
	"github.com/toolfold/toolfold/tools/trace"
	"github.com/toolfold/toolfold/tools/workflow"
)

// Host holds the services that the families depend on.
type Host struct {
	// Open opens the store, or returns the open one. The first call of each family that stores data
	// calls it.
	Open func(context.Context) (*storage.DB, error)

	// WorkspaceName is the workspace of submitted tasks. ScriptPlace is the workspace of runs of scripts; empty means
	// the same.
	WorkspaceName, ScriptPlace string

	// NotesByCaller separates the notes of callers whose token has a name, see
	// [memory.Service.ByCaller].
	NotesByCaller bool

	// MemoryScope is the default scope of stored notes; empty means workspace.
	MemoryScope string

	// NotesFolder is the folder of the workspace that has notes as files; empty means no folder. NotesLock is
	// the path of its lock file.
	NotesFolder, NotesLock string

	// NoteHistory limits the earlier versions of notes; zero stores no versions.
	NoteHistory memory.History

	// MaxInterruptions bounds how often a run of a task may be interrupted.
	MaxInterruptions int

	// ScriptsConfirm is which calls of scripts wait for the user; empty means none. It is the setting scriptsConfirm.
	ScriptsConfirm string

	// MemoryNamespace is the default namespace of memory; empty leaves the choice to the family.
	MemoryNamespace string

	// Vectors computes embeddings of notes, which find them by meaning. If nil, notes are only
	// found by words.
	Vectors *embed.Client

	Files config.Files

	// Trusted reports whether the user trusts the workspace of Files: agents, abilities,
	// workflows and scripts in its files only run then. Nil means true.
	Trusted func() bool

	// Rights are the server's rights, which bound everything that runs later; nil means all.
	Rights *toolfold.Rights

	// Tracer opens the spans of runs and steps; nil means the global one. Recorded stores the spans
	// that this process has recorded so far; nil does nothing.
	Tracer   oteltrace.TracerProvider
	Recorded func(context.Context) error

	// Record makes a change that is not a call, and records who made it, under the name of an action. Nil records
	// nothing.
	Record func(ctx context.Context, name string, arguments any, change func(context.Context) error) error

	Metrics metric.Retention // zero keeps all points

	// Opened is closed once the store is open: tools.find then finds saved scripts too. If nil, it finds only files.
	Opened <-chan struct{}

	// Works reports that this process runs tasks.
	Works bool

	// GatewayOnly mounts only the families of [OfGateway].
	GatewayOnly bool

	Caller    *call.Runner // runs the steps of tasks, agents and workflows
	Discovery *lazy.Discovery
	Log       *slog.Logger // of steps that crash
	Now       func() time.Time
	NewID     func() string // returns UUIDs
}

// Mount returns all families of the host, bound to its services, in listing order. It opens
// nothing.
func Mount(h Host) ([]*toolfold.Family, error) {
	var m mounter
	if h.GatewayOnly {
		mount(&m, script.Family, always(h.findable(h.scripts())))
		return append(m.families, lazy.MountWithFiles(h.Discovery, resultFiles{h.ownFolder()})), m.err
	}
	runner := h.runner()
	mount(&m, memory.Family, openStore(h, func(db *storage.DB) *memory.Service {
		service := memory.New(db.Memory(h.NoteHistory), h.Now)
		service.Namespace, service.Workspace, service.ByCaller = h.MemoryNamespace, h.WorkspaceName, h.NotesByCaller
		service.ForAll, service.History, service.Folder = h.MemoryScope == memory.User, h.NoteHistory, h.ownFolder()
		if h.Caller != nil {
			service.Caller = h.Caller
		}
		if h.Vectors != nil {
			service.Vectors = h.Vectors
		}
		if h.NotesFolder != "" {
			id := workspace.Name(h.Files.Workspace, "", false)
			service.Files = memory.NewFiles(h.Files.Workspace, h.NotesFolder, id, h.NotesLock, h.noNotesFolder)
		}
		return service
	}))
	mount(&m, session.Family, openStore(h, func(db *storage.DB) *session.Service {
		service := session.New(db.Session(), h.Now, h.NewID)
		service.Workspace, service.Folder = h.WorkspaceName, h.Files.Workspace
		return service
	}))
	mount(&m, task.Family, openStore(h, h.tasks))
	mount(&m, queue.Family, openStore(h, func(db *storage.DB) *queue.Service { return queue.New(db.Queue(), h.Now, h.NewID) }))
	mount(&m, agent.Family, openStore(h, func(db *storage.DB) *agent.Service {
		return agent.New(db.Agent(), agent.Options{Folder: h.folder(), Runner: runner, ParseRights: permission.Parse, Rights: h.Rights,
			Tools: h.Caller, Now: h.Now})
	}))
	mount(&m, ability.Family, openStore(h, func(db *storage.DB) *ability.Service {
		return ability.New(db.Ability(), h.folder())
	}))
	mount(&m, workflow.Family, always(h.workflows(runner)))
	mount(&m, script.Family, always(h.findable(h.scripts())))
	mount(&m, design.Family, openStore(h, func(db *storage.DB) *design.Service {
		return design.New(db.Design(), h.Files.Workspace, h.Now)
	}))
	mount(&m, bugfix.Family, openStore(h, func(db *storage.DB) *bugfix.Service { return bugfix.New(h.bench(db.Scan())) }))
	mount(&m, refactor.Family, openStore(h, func(db *storage.DB) *refactor.Service { return refactor.New(h.bench(db.Scan())) }))
	mount(&m, guard.Family, openStore(h, func(db *storage.DB) *guard.Service {
		return guard.New(db.Guard(), h.folder(), h.testCommand, h.Now)
	}))
	mount(&m, trace.Family, openStore(h, func(db *storage.DB) *trace.Service {
		service := trace.New(db.Trace(), h.Recorded, h.Now)
		service.Workspace = h.WorkspaceName
		return service
	}))
	mount(&m, metrics.Family, openStore(h, func(db *storage.DB) *metrics.Service {
		return metrics.New(db.Metrics(), h.Metrics, h.Now)
	}))
	mount(&m, timer.Family, openStore(h, func(db *storage.DB) *timer.Service {
		return timer.New(db.Metrics(), h.Metrics, h.Now, h.NewID)
	}))
	mount(&m, telemetry.Family, openStore(h, func(db *storage.DB) *telemetry.Service {
		return telemetry.New(db.Metrics(), h.Now)
	}))
	mount(&m, config.Family, always(config.New(h.Files, tryProvider(runner.Providers))))
	return append(m.families, lazy.MountWithFiles(h.Discovery, resultFiles{h.ownFolder()})), m.err
}

// OfGateway reports whether a family is also served without the workbench: discovery and scripts.
func OfGateway(f *toolfold.Family) bool {
	return f.Category == callctx.Discovery || f.Server == "" && f.Name == script.Family.Name
}

// mounter collects mounted families and the first error.
type mounter struct {
	families []*toolfold.Family
	err      error
}

func mount[S any](m *mounter, f toolfold.Family, open func(context.Context) (S, error)) {
	mounted, err := toolfold.Mount(f, open)
	if err != nil && m.err == nil {
		m.err = err
	}
	m.families = append(m.families, mounted)
}

// Stored returns when an entry of memory was stored, or zero if there is no such entry. An empty
// workspace means the caller's own.
func (h Host) Stored(ctx context.Context, workspace, namespace, key string) (time.Time, error) {
	db, err := h.Open(ctx)
	if err != nil {
		return time.Time{}, err
	}
	at := memory.Place{Namespace: namespace, Key: key, Workspace: cmp.Or(workspace, h.OwnNotes(ctx))}
	e, _, err := db.Memory(h.NoteHistory).Get(ctx, at, h.Now())
	return e.StoredAt, err
}

// OwnNotes returns the name of the workspace for a caller's notes.
func (h Host) OwnNotes(ctx context.Context) string {
	return memory.Own(ctx, h.WorkspaceName, h.NotesByCaller)
}

// noNotesFolder returns why notes are not files now, or an empty text. Definitions are not notes: a note
// that a caller stores must not become one.
func (h Host) noNotesFolder() string {
	name := strings.ToLower(filepath.ToSlash(filepath.Clean(h.NotesFolder))) // as some systems compare names
	folders := []string{agent.Folder, ability.Folder, workflow.Folder, script.Folder, policy.Folder}
	isDefinitions := slices.ContainsFunc(folders, func(folder string) bool {
		return name == folder || strings.HasPrefix(name, folder+"/") || strings.HasPrefix(folder, name+"/")
	})
	switch {
	case h.NotesByCaller:
		return "this server has no workspace; start it with a workspace that the user trusts"
	case !h.folder().IsTrusted():
		return h.folder().HowToTrust()
	case !filepath.IsLocal(h.NotesFolder) || name == "." || isDefinitions:
		return "it must name a folder of its own inside the workspace, such as .toolfold/notes"
	}
	return ""
}

// ownFolder returns the folder of the workspace for files of its callers; empty if callers share the
// server and no workspace.
func (h Host) ownFolder() string {
	if h.NotesByCaller {
		return ""
	}
	return h.Files.Workspace
}

func (h Host) folder() workspace.Folder {
	return workspace.Folder{Dir: h.Files.Workspace, Trusted: h.Trusted}
}

// Workflows returns the service for the workflows of the workspace.
func (h Host) Workflows() *workflow.Service { return h.workflows(h.runner()) }

// Abilities returns the service for abilities, if stored is false only for those in files.
func (h Host) Abilities(ctx context.Context, stored bool) (*ability.Service, error) {
	if !stored {
		return ability.New(nil, h.folder()), nil
	}
	db, err := h.Open(ctx)
	if err != nil {
		return nil, err
	}
	return ability.New(db.Ability(), h.folder()), nil
}

func (h Host) workflows(runner *engine.Runner) *workflow.Service {
	service := workflow.New(h.folder(), runner, h.Caller)
	service.CheckCode = h.scripts().CheckCode
	return service
}

// runner returns the engine for the steps of agents and workflows. It reads the settings at each
// use.
func (h Host) runner() *engine.Runner {
	settings := func() (map[string]any, error) {
		layers, err := h.Files.Load()
		if err != nil {
			return nil, err
		}
		return layers.Merged(), nil
	}
	return &engine.Runner{
		Caller: h.Caller, Names: h.Caller, Bounded: h.Caller.Bounded(call.Bound{Bytes: callctx.DefaultRoom}),
		Providers: engine.NewProviders(settings, h.Files.Workspace), Tracer: h.Tracer, Now: h.Now, Log: h.Log,
	}
}

// tasks returns the service of the task family.
func (h Host) tasks(db *storage.DB) *task.Service {
	return task.New(task.Options{Store: db.Task(), Caller: h.Caller, Names: h.Caller, Now: h.Now, NewID: h.NewID,
		NoModel: h.runner().Providers.Refusal, Rights: h.Rights, Workspace: h.WorkspaceName, MaxInterruptions: h.MaxInterruptions,
		TraceOf: func(ctx context.Context, taskID string) (string, error) { return h.traceOf(ctx, db.Trace(), taskID) }})
}

// traceOf returns the id of the newest trace of a task, or "" if it has no trace.
func (h Host) traceOf(ctx context.Context, store trace.Store, taskID string) (string, error) {
	if h.Recorded != nil {
		if err := h.Recorded(ctx); err != nil {
			return "", err
		}
	}
	page, err := store.List(ctx, trace.Query{Task: taskID, Limit: 1})
	if err != nil || len(page.Traces) == 0 {
		return "", err
	}
	return page.Traces[0].ID, nil
}

// bench returns the scanner of the workspace, with a store for its findings.
func (h Host) bench(store scan.Store) scan.Bench {
	return scan.Bench{
		Scanner: scan.Scanner{Dir: h.Files.Workspace, Trusted: h.folder().IsTrusted},
		Store:   store, Workspace: h.WorkspaceName, Now: h.Now, NewID: h.NewID,
		TestCommand: h.testCommand,
	}
}

// testCommand returns the argument vector that the user has set to test the workspace, or nil.
func (h Host) testCommand() ([]string, error) {
	layers, err := h.Files.Load()
	if err != nil {
		return nil, err
	}
	o, err := layers.Options()
	return o.TestCommand, err
}

// openStore returns an opener for the service of a family that stores data.
func openStore[S any](h Host, build func(*storage.DB) S) func(context.Context) (S, error) {
	return func(ctx context.Context) (service S, err error) {
		db, err := h.Open(ctx)
		if err != nil {
			return service, err
		}
		return build(db), nil
	}
}

// tryProvider returns a function that asks a provider for one word, as a test.
func tryProvider(providers *engine.Providers) func(context.Context, string) config.TestOut {
	return func(ctx context.Context, name string) config.TestOut {
		trial := providers.Try(ctx, name)
		out := config.TestOut{
			Success: trial.Failure == nil, Provider: trial.Provider, Model: trial.Model, Answer: shorten.Quoted(trial.Answer),
			DurationMs: trial.Duration.Milliseconds(),
		}
		if f := trial.Failure; f != nil {
			out.Error = &config.ProviderError{Code: f.Code, Message: f.Message, Hint: f.Hint}
		}
		return out
	}
}

// always returns an opener for the service of a family that stores nothing.
func always[S any](service S) func(context.Context) (S, error) {
	return func(context.Context) (S, error) { return service, nil }
}

// Families returns the declarations of all families in listing order. Their actions cannot run.
func Families() []*toolfold.Family {
	nobody := call.New(func(*toolfold.Rights) *call.Resolver { return call.NewResolver(nil) }, nil)
	families, err := Mount(Host{Caller: nobody})
	if err != nil {
		panic(err) // a family is mounted on another family's service
	}
	return families
}
