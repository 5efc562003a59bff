package serve

import (
	"context"
	"sync"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
)

// codeBusy is the code of a call that found no free slot in time.
const codeBusy = "SERVER_BUSY"

// calls limits how many calls run at a time. Calls that wait for their client are not counted.
type calls struct {
	free chan struct{} // holds a token for each call that runs
}

// turn is the right of one call to run.
type turn struct {
	calls *calls

	mu      sync.Mutex
	hasSlot bool
	waits   int // questions of this call that wait for the client
}

// enter waits up to limit for a free slot, then rejects the call. leave frees the slot.
func (c *calls) enter(ctx context.Context, limit time.Duration) (_ context.Context, leave func(), refusal *toolfold.Error) {
	t := &turn{calls: c, hasSlot: true}
	select {
	case c.free <- struct{}{}:
	default:
		late := time.NewTimer(limit)
		defer late.Stop()
		select {
		case c.free <- struct{}{}:
		case <-ctx.Done():
			return ctx, nil, toolfold.Errorf(toolfold.Cancelled, "the call was cancelled before it ran")
		case <-late.C:
			return ctx, nil, toolfold.Errorf(codeBusy, "%d calls are running, and no call ended for %s", cap(c.free), limit).
				WithHint("nothing was done: call again in a moment")
		}
	}
	return callctx.With(ctx, t), t.release, nil
}

func (t *turn) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hasSlot {
		t.hasSlot = false
		<-t.calls.free
	}
}

// pause frees the slot of a call while it waits for its client. resume waits for a slot again,
// unless ctx is done. Without a slot in ctx, pause does nothing.
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
		if t.waits--; t.waits > 0 || t.hasSlot {
			return
		}
		select {
		case t.calls.free <- struct{}{}:
			t.hasSlot = true
		case <-ctx.Done():
		}
	}
}
