package serve

import (
	"context"
	"sync"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
)

// codeBusy is the code of a call that found no free place in time.
const codeBusy = "SERVER_BUSY"

// calls bounds how many calls run at a time. Calls that wait for the model of
// their client do not count.
type calls struct {
	free chan struct{} // holds a token for each call that runs
}

// turn is the right of one call to run.
type turn struct {
	calls *calls

	mu    sync.Mutex
	held  bool
	waits int // prompts of this call that wait for the client
}

// enter waits until a call may run, and refuses it when that takes longer than
// most.
// Leave ends the call's turn.
func (c *calls) enter(ctx context.Context, limit time.Duration) (_ context.Context, leave func(), refusal *toolfold.Error) {
	t := &turn{calls: c, held: true}
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
	if t.held {
		t.held = false
		<-t.calls.free
	}
}

// pause lets other calls run while this one waits for its client's model, until
// resume is called. Resume waits for a turn, unless ctx is done. Without a turn
// in ctx pause does nothing.
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
		if t.waits--; t.waits > 0 || t.held {
			return
		}
		select {
		case t.calls.free <- struct{}{}:
			t.held = true
		case <-ctx.Done():
		}
	}
}
