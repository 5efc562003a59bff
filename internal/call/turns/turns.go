// Package turns schedules work of several callers that share a few places.
package turns

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrBusy is the error of work that did not get its turn in time.
var ErrBusy = errors.New("the work of other calls kept it waiting")

// Turns schedules work: at most size pieces run at a time, and at most most of one caller, so that
// other callers need not wait for all of its work. Waiting callers take turns, however much work
// each has.
type Turns struct {
	size, most int
	wait       time.Duration

	mu      sync.Mutex
	running int
	queue   []*turn        // in order of arrival
	last    map[string]int // by caller, the number of its last turn
	of      map[string]int // by caller, the number of its running pieces
	count   int
}

// turn is the place of a waiting piece of work.
type turn struct {
	caller string
	begins chan struct{}
}

// New returns Turns with size places, at most most of which one caller has. Work waits for its turn
// as long as wait; zero means until its context ends.
func New(size, most int, wait time.Duration) *Turns {
	return &Turns{size: size, most: most, wait: wait, last: map[string]int{}, of: map[string]int{}}
}

// Take waits for the turn of a caller's work, and returns the func that ends it, to be called once.
// The error is [ErrBusy] or ctx's.
func (t *Turns) Take(ctx context.Context, caller string) (end func(), err error) {
	t.mu.Lock()
	mine := &turn{caller, make(chan struct{})}
	t.queue = append(t.queue, mine)
	t.next()
	t.mu.Unlock()
	var late <-chan time.Time
	if t.wait > 0 {
		timer := time.NewTimer(t.wait)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-mine.begins:
		return func() { t.end(caller) }, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-late:
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
func (t *Turns) end(caller string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
	if t.of[caller]--; t.of[caller] == 0 {
		delete(t.of, caller)
	}
	t.next()
}

// next starts waiting work while there is room: each time the first piece of the caller whose last
// turn is longest ago. The caller of next holds the lock.
func (t *Turns) next() {
	for t.running < t.size {
		var first *turn
		for _, w := range t.queue {
			if t.of[w.caller] < t.most && (first == nil || t.last[w.caller] < t.last[first.caller]) {
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
