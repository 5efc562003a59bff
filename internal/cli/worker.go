package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/storage/queue"
)

const (
	// workDelay passes after the start of a server before it opens a store that
	// no call has opened: hosts start servers only to list tools.
	workDelay = 3 * time.Second
	// workAgain passes before a worker tries a store again that has failed.
	workAgain = 5 * time.Second
	// serveGrace bounds how long tasks may go on once a server on stdio stops: hosts kill
	// servers that are not gone after two seconds.
	serveGrace = 500 * time.Millisecond
)

func workerCommand() *cli.Command {
	return &cli.Command{
		Name:        "worker",
		Usage:       "run queued tasks of a workspace, against a shared store",
		Description: "It logs each task that it begins and ends; --log-level warn leaves that out.",
		Flags:       append(settings.Flags(append(settings.RunSettings, "store", "workspaceName")...), settings.TrustFlag, env.LogLevelFlag),
		Action: func(c *cli.Context) error {
			o, err := settings.Load(c)
			if err != nil {
				return err
			}
			o.HTTP = "" // a worker does not listen
			if !c.IsSet(env.LogLevelFlag.Name) {
				env.Of(c).Level.Set(slog.LevelInfo)
			}
			b, err := openWorkbench(c, o)
			if err != nil {
				return err
			}
			defer b.close()
			if err := settings.CheckPlaces(o.Options, b.Families()); err != nil {
				return env.UsageError("%v", err)
			}
			settings.TellReplaced(c, o.Files.Workspace)
			ctx, done := env.UntilSignal(c, env.StopGrace)
			defer done()
			fmt.Fprintf(c.App.ErrWriter, "toolfold %s: running queued tasks of workspace %s\n", env.Version(), b.workspace)
			return b.work(ctx, env.StopGrace)
		},
	}
}

// work runs queued tasks of the workspace until ctx ends, which is no error.
// Tasks that run then may go on for grace.
func (b *workbench) work(ctx context.Context, grace time.Duration) error {
	open := func(ctx context.Context) (queue.Ledger, *queue.Jobs, error) {
		db, err := b.store.Open(ctx)
		if err != nil {
			return nil, nil, err
		}
		return db.Work()
	}
	err := queue.New(open, b.Runner, queue.Options{
		Workspace: b.workspace, Retention: b.retention, Tracer: b.tracing.Provider(), Grace: grace, Log: b.log,
	}).Work(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// workWhileServing runs queued tasks until ctx ends: as soon as a call has
// opened the store, or soon after the start where there is a store from before.
// Tasks that run then may go on for grace.
func (b *workbench) workWhileServing(ctx context.Context, url string, grace time.Duration) {
	var soon <-chan time.Time
	if storage.MayHold(url) {
		soon = time.After(workDelay)
	}
	select {
	case <-b.store.Opened():
	case <-soon:
	case <-ctx.Done():
		return
	}
	for ctx.Err() == nil {
		if err := b.work(ctx, grace); err != nil {
			b.log.Error("running queued tasks", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(workAgain):
		}
	}
}
