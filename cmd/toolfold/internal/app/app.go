// Package app lists the families of the application.
package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/engine"
	"github.com/toolfold/toolfold/internal/scan"
	"github.com/toolfold/toolfold/internal/workspace"
	"github.com/toolfold/toolfold/lazy"
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
	"github.com/toolfold/toolfold/tools/session"
	"github.com/toolfold/toolfold/tools/task"
	"github.com/toolfold/toolfold/tools/telemetry"
	"github.com/toolfold/toolfold/tools/timer"
	"github.com/toolfold/toolfold/tools/trace"
	"github.com/toolfold/toolfold/tools/workflow"
)

// Caller runs actions by name, and knows which there are. A
// *call.Runner implements it.
type Caller interface {
	toolfold.Caller
	engine.Names
	task.Actions
}

// Host has the services that families run on.
type Host struct {
	// Open opens the store, or returns the one that is open. It is called by
	// the first call of each family that keeps something. What it returns has
	// a method for each such family, as a *storage.DB does.
	Open func(context.Context) (any, error)

	// WorkspaceName names the workspace that submitted tasks belong to.
	WorkspaceName string

	// MaxInterruptions bounds how often a run of a task may be cut off.
	MaxInterruptions int

	// MemoryNamespace is the namespace of memory for calls that name none; empty
	// leaves it to the family.
	MemoryNamespace string

	Files config.Files

	// Trusted reports whether the user trusts the workspace of Files: agents,
	// abilities and workflows in files of it run only then. Nil is true.
	Trusted func() bool

	// Tracer opens the spans of runs and steps; nil is the global one. Recorded
	// stores the spans that this process has recorded so far; nil does nothing.
	Tracer   oteltrace.TracerProvider
	Recorded func(context.Context) error

	Metrics metrics.Retention // zero keeps all points

	Caller    Caller
	Discovery *lazy.Discovery
	Log       *slog.Logger // of steps that break down
	Now       func() time.Time
	NewID     func() string // UUIDs
}

// Mount returns every family, bound to the host, in the order of listings. It
// opens nothing.
func Mount(h Host) ([]*toolfold.Family, error) {
	runner := h.runner()
	var m mounting
	mount(&m, memory.Family, stored(h, func(s interface{ Memory() memory.Store }) *memory.Service {
		service := memory.New(s.Memory(), h.Now)
		service.Namespace = h.MemoryNamespace
		return service
	}))
	mount(&m, session.Family, stored(h, func(s interface{ Session() session.Store }) *session.Service {
		return session.New(s.Session(), h.Now, h.NewID)
	}))
	mount(&m, task.Family, stored(h, func(s interface{ Task() task.Store }) *task.Service {
		return task.New(task.Options{Store: s.Task(), Caller: h.Caller, Names: h.Caller, Now: h.Now, NewID: h.NewID,
			Workspace: h.WorkspaceName, MaxInterruptions: h.MaxInterruptions})
	}))
	mount(&m, queue.Family, stored(h, func(s interface{ Queue() queue.Store }) *queue.Service { return queue.New(s.Queue(), h.Now, h.NewID) }))
	mount(&m, agent.Family, stored(h, func(s interface{ Agent() agent.Store }) *agent.Service {
		return agent.New(s.Agent(), agent.Options{Folder: h.folder(), Runner: runner, Tools: h.Caller, Now: h.Now})
	}))
	mount(&m, ability.Family, stored(h, func(s interface{ Ability() ability.Store }) *ability.Service {
		return ability.New(s.Ability(), h.folder())
	}))
	mount(&m, workflow.Family, opened(workflow.New(h.folder(), runner, h.Caller)))
	mount(&m, design.Family, stored(h, func(s interface{ Design() design.Store }) *design.Service {
		return design.New(s.Design(), h.Files.Workspace, h.Now)
	}))
	mount(&m, bugfix.Family, stored(h, func(s interface{ Scan() scan.Store }) *bugfix.Service { return bugfix.New(h.bench(s.Scan())) }))
	mount(&m, refactor.Family, stored(h, func(s interface{ Scan() scan.Store }) *refactor.Service { return refactor.New(h.bench(s.Scan())) }))
	mount(&m, guard.Family, stored(h, func(s interface{ Guard() guard.Store }) *guard.Service {
		return guard.New(s.Guard(), h.folder(), h.testCommand, h.Now)
	}))
	mount(&m, trace.Family, stored(h, func(s interface{ Trace() trace.Store }) *trace.Service {
		return trace.New(s.Trace(), h.Recorded, h.Now)
	}))
	mount(&m, metrics.Family, stored(h, func(s interface{ Metrics() metrics.Store }) *metrics.Service {
		return metrics.New(s.Metrics(), h.Metrics, h.Now)
	}))
	mount(&m, timer.Family, stored(h, func(s interface{ Metrics() metrics.Store }) *timer.Service {
		return timer.New(s.Metrics(), h.Metrics, h.Now, h.NewID)
	}))
	mount(&m, telemetry.Family, stored(h, func(s interface{ Metrics() metrics.Store }) *telemetry.Service {
		return telemetry.New(s.Metrics(), h.Now)
	}))
	mount(&m, config.Family, opened(config.New(h.Files, runner.Providers)))
	return append(m.families, lazy.Mount(h.Discovery)), m.err
}

// mounting gathers mounted families, and the first error.
type mounting struct {
	families []*toolfold.Family
	err      error
}

func mount[S any](m *mounting, f toolfold.Family, open func(context.Context) (S, error)) {
	mounted, err := toolfold.Mount(f, open)
	if err != nil && m.err == nil {
		m.err = err
	}
	m.families = append(m.families, mounted)
}

func (h Host) folder() workspace.Folder {
	return workspace.Folder{Dir: h.Files.Workspace, Trusted: h.Trusted}
}

// runner runs the steps of agents and workflows, by the settings of the
// moment.
func (h Host) runner() *engine.Runner {
	settings := func() (map[string]any, error) {
		layers, err := h.Files.Load()
		if err != nil {
			return nil, err
		}
		return layers.Merged(), nil
	}
	var bounded toolfold.Caller // nil, not a nil pointer, where there is no runner
	if r, ok := h.Caller.(interface{ Bounded(call.Bound) *call.Runner }); ok {
		bounded = r.Bounded(call.Bound{Bytes: toolfold.DefaultResultLimit})
	}
	return &engine.Runner{
		Caller: h.Caller, Names: h.Caller, Bounded: bounded, Providers: engine.NewProviders(settings, h.Files.Workspace), Tracer: h.Tracer, Now: h.Now, Log: h.Log,
	}
}

// bench scans the workspace and keeps what it finds in a store.
func (h Host) bench(store scan.Store) scan.Bench {
	return scan.Bench{
		Scanner: scan.Scanner{Dir: h.Files.Workspace, Trusted: h.folder().IsTrusted},
		Store:   store, Workspace: h.WorkspaceName, Now: h.Now, NewID: h.NewID,
		TestCommand: h.testCommand,
	}
}

// testCommand returns the argument vector that the user has set to test the
// workspace; nil where none is.
func (h Host) testCommand() ([]string, error) {
	layers, err := h.Files.Load()
	if err != nil {
		return nil, err
	}
	o, err := layers.Options()
	return o.TestCommand, err
}

// stored opens the service of a family that keeps something. K has the method
// of the store that returns where the family keeps it.
func stored[K, S any](h Host, build func(K) S) func(context.Context) (S, error) {
	return func(ctx context.Context) (service S, err error) {
		store, err := h.Open(ctx)
		if err != nil {
			return service, err
		}
		keeper, ok := store.(K)
		if !ok {
			return service, fmt.Errorf("%T keeps nothing for %T", store, service)
		}
		return build(keeper), nil
	}
}

// opened is the service of a family that keeps nothing.
func opened[S any](service S) func(context.Context) (S, error) {
	return func(context.Context) (S, error) { return service, nil }
}

// Families returns the declarations of all families, in the order of listings.
// Their actions cannot be run.
func Families() []*toolfold.Family {
	families, err := Mount(Host{})
	if err != nil {
		panic(err) // a family is mounted on another's service
	}
	return families
}
