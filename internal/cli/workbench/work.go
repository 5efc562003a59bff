package workbench

import (
	"context"
	"errors"
	"time"

	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/storage/queue"
)

const (
	// WorkDelay passes after the start of a server before it opens a store that
	// no call has opened: hosts start servers only to list tools.
	WorkDelay = 3 * time.Second
	// workAgain passes before a worker tries a store again that has failed.
	workAgain = 5 * time.Second
	// ServeGrace bounds how long tasks may go on once a server on stdio stops: hosts kill
	// servers that are not gone after two seconds.
	ServeGrace = 500 * time.Millisecond
)

// Work runs queued tasks of the workspace until ctx ends, which is no error.
// Tasks that run then may go on for grace.
func (b *Workbench) Work(ctx context.Context, grace time.Duration) error {
	open := func(ctx context.Context) (queue.Ledger, *queue.Jobs, error) {
		db, err := b.store.Open(ctx)
		if err != nil {
			return nil, nil, err
		}
		return db.Work()
	}
	err := queue.New(open, b.Runner, queue.Options{
		Workspace: b.Workspace, Retention: b.retention, Tracer: b.tracing.Provider(), Grace: grace, Log: b.log,
	}).Work(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// WorkWhileServing runs queued tasks until ctx ends: as soon as a call has
// opened the store, or soon after the start where there is a store from before.
// Tasks that run then may go on for grace.
func (b *Workbench) WorkWhileServing(ctx context.Context, url string, grace time.Duration) {
	var soon <-chan time.Time
	if storage.MayHold(url) {
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
