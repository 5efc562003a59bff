// Package all is the one list of families.
package all

import (
	"context"
	"log/slog"
	"time"

	"github.com/toolfold/toolfold/engine"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/tools"
	"github.com/toolfold/toolfold/tools/ability"
	"github.com/toolfold/toolfold/tools/agent"
	"github.com/toolfold/toolfold/tools/config"
	"github.com/toolfold/toolfold/tools/discovery"
	"github.com/toolfold/toolfold/tools/memory"
	"github.com/toolfold/toolfold/tools/queue"
	"github.com/toolfold/toolfold/tools/session"
	"github.com/toolfold/toolfold/tools/task"
	"github.com/toolfold/toolfold/tools/workflow"
)

// Stores is where families keep what they must not lose.
type Stores interface {
	Memory() memory.Store
	Session() session.Store
	Task() task.Store
	Queue() queue.Store
	Agent() agent.Store
	Ability() ability.Store
}

// Caller runs actions by name, and knows which there are. A
// *consolidate.Caller is one.
type Caller interface {
	tools.Caller
	tools.Names
}

// Host is what families run on.
type Host struct {
	// Open opens the stores, or returns the ones that are open. It is called
	// by the first call of each family that keeps something.
	Open func(context.Context) (Stores, error)

	Files     config.Files
	Caller    Caller
	Discovery *lazy.Discovery
	Log       *slog.Logger // of steps that break down
	Now       func() time.Time
	NewID     func() string // UUIDs
}

// Mount returns every family, bound to the host, in the order of listings. It
// opens nothing.
func Mount(h Host) []*tools.Spec {
	runner := h.runner()
	return []*tools.Spec{
		memory.Family.Mount(stored(h, func(s Stores) *memory.Service { return memory.New(s.Memory(), h.Now) })),
		session.Family.Mount(stored(h, func(s Stores) *session.Service { return session.New(s.Session(), h.Now, h.NewID) })),
		task.Family.Mount(stored(h, func(s Stores) *task.Service {
			return task.New(task.Options{Store: s.Task(), Caller: h.Caller, Names: h.Caller, Now: h.Now, NewID: h.NewID})
		})),
		queue.Family.Mount(stored(h, func(s Stores) *queue.Service { return queue.New(s.Queue(), h.Now, h.NewID) })),
		agent.Family.Mount(stored(h, func(s Stores) *agent.Service {
			return agent.New(s.Agent(), agent.Options{Workspace: h.Files.Workspace, Runner: runner, Tools: h.Caller, Now: h.Now})
		})),
		ability.Family.Mount(stored(h, func(s Stores) *ability.Service { return ability.New(s.Ability(), h.Files.Workspace) })),
		workflow.Family.Mount(func(context.Context) (*workflow.Service, error) {
			return workflow.New(h.Files.Workspace, runner, h.Caller), nil
		}),
		config.Family.Mount(func(context.Context) (*config.Service, error) { return config.New(h.Files), nil }),
		discovery.Family.Mount(func(context.Context) (*discovery.Service, error) { return discovery.New(h.Discovery), nil }),
	}
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
	return &engine.Runner{
		Caller: h.Caller, Providers: engine.NewProviders(settings, h.Files.Workspace), Now: h.Now, Log: h.Log,
	}
}

// stored opens the service of a family that keeps something.
func stored[S any](h Host, build func(Stores) S) tools.Opener[S] {
	return func(ctx context.Context) (service S, err error) {
		stores, err := h.Open(ctx)
		if err != nil {
			return service, err
		}
		return build(stores), nil
	}
}

// Specs returns the declarations of all families, in the order of listings.
// Their actions cannot be run.
func Specs() []*tools.Spec {
	return Mount(Host{})
}
