package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/engine/queue"
	"github.com/toolfold/toolfold/storage"
)

const (
	// workDelay is how long a server that was just started leaves a store
	// alone that nobody has called for: hosts start servers only to list
	// their tools.
	workDelay = 3 * time.Second
	// workAgain is how long a worker waits after its store has failed.
	workAgain = 5 * time.Second
)

func workerCommand() *cli.Command {
	return &cli.Command{
		Name:         "worker",
		Usage:        "run queued tasks only, against a shared store",
		Flags:        settingFlags("store"),
		OnUsageError: onUsageError,
		Action:       workerAction,
	}
}

func workerAction(c *cli.Context) error {
	b, err := openWorkbench(c)
	if err != nil {
		return err
	}
	defer b.store.Close()
	fmt.Fprintf(os.Stderr, "toolfold %s: running queued tasks\n", version())
	return b.worker().Work(c.Context)
}

func (b *workbench) worker() *queue.Worker {
	open := func(ctx context.Context) (queue.Ledger, error) {
		db, err := b.store.Open(ctx)
		if err != nil {
			return nil, err
		}
		return db.Ledger()
	}
	return queue.New(open, b.Caller, queue.Options{Log: b.log})
}

// workWhileServing runs queued tasks until ctx ends: as soon as a call has
// opened the store, or soon after the start where there is one from before.
func (b *workbench) workWhileServing(ctx context.Context, url string) {
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
		if err := b.worker().Work(ctx); err != nil {
			b.log.Error("running queued tasks", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(workAgain):
		}
	}
}
