package jq

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// maxWait limits how long a filter waits for its turn.
const maxWait = 5 * time.Second

// ErrBusy is the error of a filter that did not get its turn in time.
var ErrBusy = fmt.Errorf("filters of other calls kept it waiting for %s", maxWait)

// turns schedules filters: at most size run at a time, and at most size-1 of one caller, so that
// other callers need not wait for its filters. Waiting callers take turns, however many filters
// each has.
type turns struct {
	mu      sync.Mutex
	size    int
	running int
	queue   []*turn        // in order of arrival
	last    map[string]int // by caller, the number of its last turn
	of      map[string]int // by caller, its number of running filters
	count   int
}

// turn is the place of a waiting filter.
type turn struct {
	caller string
	begins chan struct{}
}

// take waits for the turn of a caller's filter, and returns the func that ends it. The error is
// ErrBusy or ctx's.
func (t *turns) take(ctx context.Context, caller string) (end func(), err error) {
	t.mu.Lock()
	mine := &turn{caller, make(chan struct{})}
	t.queue = append(t.queue, mine)
	t.next()
	t.mu.Unlock()
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	select {
	case <-mine.begins:
		return func() { t.end(caller) }, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = ErrBusy
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.queue, mine); i >= 0 {
		t.queue = slices.Delete(t.queue, i, i+1)
		return nil, err
	}
	return func() { t.end(caller) }, nil // it began in the meantime
}

// end ends a turn of a caller.
func (t *turns) end(caller string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
	if t.of[caller]--; t.of[caller] == 0 {
		delete(t.of, caller)
	}
	t.next()
}

// next starts waiting filters while there is room: each time the first one of the caller whose last
// turn is longest ago. The caller holds the lock.
func (t *turns) next() {
	for t.running < t.size {
		var first *turn
		for _, w := range t.queue {
			if t.of[w.caller] < max(1, t.size-1) && (first == nil || t.last[w.caller] < t.last[first.caller]) {
				first = w
			}
		}
		if first == nil {
			break
		}
		t.queue = slices.DeleteFunc(t.queue, func(w *turn) bool { return w == first })
		t.running++
		t.of[first.caller]++
		t.count++
		t.last[first.caller] = t.count
		close(first.begins)
	}
	if t.running == 0 { // no order to keep
		clear(t.last)
	}
}
