package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/telemetry"
	"github.com/toolfold/toolfold/internal/workspace"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools"
	"github.com/toolfold/toolfold/tools/all"
	"github.com/toolfold/toolfold/tools/guard"
	"github.com/toolfold/toolfold/tools/metrics"
	"github.com/toolfold/toolfold/tools/trace"
)

// workbench is everything that runs calls, put together from the options.
type workbench struct {
	*surface.Surface
	store     *storage.LazyDB
	workspace string // name of the workspace that tasks belong to
	metrics   *serve.Metrics
	tracing   *telemetry.Tracing
	log       *slog.Logger
}

// openWorkbench returns the workbench that a command's options ask for.
func openWorkbench(c *cli.Context) (*workbench, error) {
	o, err := loadOptions(c)
	if err != nil {
		return nil, err
	}
	return newWorkbench(o)
}

// newWorkbench opens nothing: the store is opened by the first call that needs
// it.
func newWorkbench(o *options) (*workbench, error) {
	if err := rules(o.Options).Check(all.Families()); err != nil {
		return nil, usageError("%v", err)
	}
	mode, level := o.surface()
	b := &workbench{
		store:     storage.Lazy(o.Store, storage.AmbientCredentials(true)), // only the user names a store
		workspace: workspace.Name(o.files.Workspace, o.WorkspaceName),
		metrics:   serve.NewMetrics(),
		log:       slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})), // standard output belongs to the protocol
	}
	var err error
	b.tracing, err = telemetry.New(telemetry.Options{
		Open: func(ctx context.Context) (trace.Store, error) {
			db, err := b.store.Open(ctx)
			if err != nil {
				return nil, err
			}
			return db.Trace(), nil
		},
		Opened: b.store.Opened(), Arguments: o.TraceArguments, Days: o.TraceDays, Megabytes: o.TraceMegabytes,
		Version: version(), Log: b.log, Now: time.Now,
	})
	if err != nil {
		return nil, usageError("%v", err)
	}
	if err := b.metrics.Add(telemetry.Collector(telemetry.Sources{
		Open: func(ctx context.Context) (telemetry.Stores, error) {
			select {
			case <-b.store.Opened():
			default:
				if !storage.MayHold(o.Store) {
					return nil, nil
				}
			}
			return b.store.Open(ctx)
		},
		Dropped: b.tracing.Dropped,
	})); err != nil {
		return nil, err
	}
	b.Surface = surface.New(surface.Options{
		Mode: mode, Level: level, Params: tools.Form(o.Params), ResultLimit: o.ResultLimit, Strict: o.StrictNames, Rights: rules(o.Options).Rights(), Log: b.log,
		Middleware: []call.Middleware{b.metrics.Calls, b.tracing.Calls, call.NewGuard(guard.Rules{
			Open: func(ctx context.Context) (guard.Store, error) {
				db, err := b.store.Open(ctx)
				if err != nil {
					return nil, err
				}
				return db.Guard(), nil
			},
			Workspace: o.files.Workspace,
		}).Calls},
	})
	families, err := all.Mount(all.Host{
		Open:  func(ctx context.Context) (any, error) { return b.store.Open(ctx) },
		Files: o.files, WorkspaceName: b.workspace, Trusted: o.trusted,
		Tracer: b.tracing.Provider(), Recorded: b.tracing.Flush,
		Metrics: metrics.Retention{Days: o.MetricDays, Points: o.MetricPoints}, Caller: b.Runner, Discovery: b.Discovery, Log: b.log, Now: time.Now, NewID: uuid.NewString,
	})
	if err != nil {
		return nil, err
	}
	return b, b.Put(families...)
}

// close stores what is still to be stored, and closes the store.
func (b *workbench) close() {
	b.tracing.Close()
	b.store.Close()
}
