// Package turns schedules work of several callers that share a few places.
package turns

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/toolfold/toolfold"
)

// ErrBusy is the error of work that did not get its turn in time.
var ErrBusy = errors.New("the work of other calls kept it waiting")

// Turns schedules work: at most size pieces run at a time. Waiting callers take turns, however much work each has.
type Turns struct {
	size int

	mu      sync.Mutex
	running int
	queue   []*turn        // in order of arrival
	last    map[string]int // by caller, the number of its last turn
	of      map[string]int // by caller, the number of its running pieces
	count   int
}

// Work is a piece of work.
type Work struct {
	Caller string
	Most   int           // pieces of the caller that may run at a time
	Wait   time.Duration // for its turn; 0 = until its context ends
}

// turn is the place of a waiting piece of work.
type turn struct {
	Work
	begins chan struct{}
}

// New returns Turns with size places.
func New(size int) *Turns {
	return &Turns{size: size, last: map[string]int{}, of: map[string]int{}}
}

// Share is how much of something one of several callers may have: three quarters, so that others need not wait for the
// end of its work. That of 0 is 0.
func Share(all int) int { return all - all/4 }

// Of returns work of a caller. One with a token, which may be one of many, has at most its share of size places.
func Of(from toolfold.Origin, size int) Work {
	if from.Token == "" {
		return Work{Caller: from.Session, Most: size}
	}
	return Work{Caller: from.Token, Most: Share(size)}
}

// Take waits for the turn of work, and returns the func that ends it, to be called once. The error is [ErrBusy] or
// ctx's.
func (t *Turns) Take(ctx context.Context, w Work) (end func(), err error) {
	t.mu.Lock()
	mine := &turn{w, make(chan struct{})}
	t.queue = append(t.queue, mine)
	t.next()
	t.mu.Unlock()
	var late <-chan time.Time
	if w.Wait > 0 {
		timer := time.NewTimer(w.Wait)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-mine.begins:
		return func() { t.end(w.Caller) }, nil
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
	return func() { t.end(w.Caller) }, nil // it began in the meantime
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
			if t.of[w.Caller] < w.Most && (first == nil || t.last[w.Caller] < t.last[first.Caller]) {
				first = w
			}
		}
		if first == nil {
			break
		}
		t.queue = slices.DeleteFunc(t.queue, func(w *turn) bool { return w == first })
		t.running++
		t.of[first.Caller]++
		t.count++
		t.last[first.Caller] = t.count
		close(first.begins)
	}
	if t.running == 0 { // no order to keep
		clear(t.last)
	}
}
