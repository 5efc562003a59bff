package jq

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// maxWait bounds how long a filter waits for its turn.
const maxWait = 5 * time.Second

// ErrBusy is the error of a filter whose turn did not come.
var ErrBusy = fmt.Errorf("filters of other calls kept it waiting for %s", maxWait)

// turns gives filters their turns: at most size run at a time, and callers that wait take turns,
// however many filters each of them has.
type turns struct {
	mu      sync.Mutex
	size    int
	running int
	waiting []*turn        // in the order in which they came
	last    map[string]int // by caller, the number of its last turn
	given   int
}

// turn is that of a filter that waits.
type turn struct {
	caller string
	begins chan struct{}
}

// take waits for the turn of a caller's filter and returns what ends it. The error is ErrBusy, or
// that of ctx.
func (t *turns) take(ctx context.Context, caller string) (end func(), err error) {
	t.mu.Lock()
	mine := &turn{caller, make(chan struct{})}
	t.waiting = append(t.waiting, mine)
	t.next()
	t.mu.Unlock()
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	select {
	case <-mine.begins:
		return t.end, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = ErrBusy
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting, mine); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
		return nil, err
	}
	return t.end, nil // it began meanwhile
}

// end ends a turn.
func (t *turns) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
	t.next()
}

// next begins the turns that there is room for: of those that wait, the first of the caller whose last
// turn is the longest ago. The lock is held.
func (t *turns) next() {
	for t.running < t.size && len(t.waiting) > 0 {
		first := slices.MinFunc(t.waiting, func(a, b *turn) int { return t.last[a.caller] - t.last[b.caller] })
		i := slices.Index(t.waiting, first)
		t.waiting = slices.Delete(t.waiting, i, i+1)
		t.running++
		t.given++
		t.last[first.caller] = t.given
		close(first.begins)
	}
	if t.running == 0 { // nobody is to be compared with
		clear(t.last)
	}
}
