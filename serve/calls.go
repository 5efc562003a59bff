package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/call/turns"
)

// codeBusy is the code of a call that did not get its turn in time.
const codeBusy = "SERVER_BUSY"

// calls limits how many calls run at a time, in all and of a caller. Calls that wait for their client are not counted.
type calls struct {
	turns *turns.Turns
	size  int
	rate  *turns.Rate // of a caller with a token
}

func newCalls(l Limits) calls { return calls{turns.New(l.Calls), l.Calls, turns.NewRate(l.PerMinute)} }

// turn is the right of one call to run.
type turn struct {
	calls *calls
	work  turns.Work

	mu    sync.Mutex
	end   func() // nil while it does not run
	waits int    // questions of this call that wait for the client
}

// enter waits up to limit for the turn of a call, then rejects the call. leave ends the turn.
func (c *calls) enter(ctx context.Context, limit time.Duration) (_ context.Context, leave func(), refusal *toolfold.Error) {
	from := toolfold.OriginOf(ctx)
	if from.Token != "" {
		if err := c.rate.Take(ctx, from.Token, 0); err != nil {
			return ctx, nil, toolfold.Errorf(toolfold.LimitReached, "you call too often: %v", err).WithHint("nothing was done: call again then")
		}
	}
	t := &turn{calls: c, work: turns.Of(from, c.size)}
	t.work.Wait = limit
	end, err := c.turns.Take(ctx, t.work)
	if errors.Is(err, turns.ErrBusy) {
		running := fmt.Sprintf("%d calls are running", c.size)
		if t.work.Most < c.size {
			running += fmt.Sprintf(", or %d of yours", t.work.Most)
		}
		return ctx, nil, toolfold.Errorf(codeBusy, "%s, and no call ended for %s", running, limit).
			WithHint("nothing was done: call again in a moment")
	}
	if err != nil {
		return ctx, nil, toolfold.Errorf(toolfold.Cancelled, "the call was cancelled before it ran")
	}
	t.end, t.work.Wait = end, 0
	return callctx.With(ctx, t), t.release, nil
}

func (t *turn) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end != nil {
		t.end()
		t.end = nil
	}
}

// pause ends the turn of a call while it waits for its client. resume waits for a turn again, unless ctx is done.
// Without a turn in ctx, pause does nothing.
func pause(ctx context.Context) (resume func()) {
	t := callctx.Of[*turn](ctx)
	if t == nil {
		return func() {}
	}
	t.mu.Lock()
	t.waits++
	t.mu.Unlock()
	t.release()
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.waits--; t.waits > 0 || t.end != nil {
			return
		}
		t.end, _ = t.calls.turns.Take(ctx, t.work)
	}
}
