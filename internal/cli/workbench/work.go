package workbench

import (
	"context"
	"errors"
	"time"

	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/storage/queue"
)

const (
	// WorkDelay is the time from the start of a server until it opens a store that no call has opened.
	// Hosts also start servers only to list tools.
	WorkDelay = 3 * time.Second
	// workAgain is the pause before a worker retries a failed store.
	workAgain = 5 * time.Second
	// ServeGrace is how long tasks may go on after a server on stdio stops: hosts kill servers after
	// two seconds.
	ServeGrace = 500 * time.Millisecond
	// scriptGrace is how long a script of the shell may go on after the shell stops it.
	scriptGrace = 2 * time.Second
)

// Work runs queued tasks of the workspace until ctx ends, which is not an error. Running tasks may then
// go on for grace.
func (b *Workbench) Work(ctx context.Context, grace time.Duration) error {
	open := func(ctx context.Context) (queue.Ledger, *queue.Jobs, error) {
		db, err := b.store.Open(ctx)
		if err != nil {
			return nil, nil, err
		}
		return db.Work()
	}
	err := queue.New(open, b.Runner, queue.Options{
		Workspace: b.taskPlace, Retention: b.retention, Tracer: b.tracing.Provider(), Grace: grace, Ended: b.taskEnded, Log: b.log,
	}).Work(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// WorkWhileServing runs queued tasks until ctx ends. It starts when a call has opened the store, or
// after WorkDelay if the store may have content. Without the workbench it waits for such a call. Running tasks
// may go on for grace after the end.
func (b *Workbench) WorkWhileServing(ctx context.Context, url string, grace time.Duration) {
	var soon <-chan time.Time
	if storage.MayHold(url) && !b.Off() {
		soon = time.After(WorkDelay)
	}
	select {
	case <-b.store.Opened():
	case <-soon:
	case <-ctx.Done():
		return
	}
	for ctx.Err() == nil {
		if err := b.Work(ctx, grace); err != nil {
			b.log.Error("running queued tasks", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(workAgain):
		}
	}
}
