package queue

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// runs are the runs of this process.
type runs struct {
	mu     sync.Mutex
	cancel map[Run]context.CancelCauseFunc

	// asked and answered count claims, of which there is one at a time.
	asked, answered int

	// unknown are runs that the ledger has and this process does not. Each was
	// seen first when so many claims had been asked for.
	unknown map[Run]int
}

// claiming notes that a claim is under way, until done is called.
func (r *runs) claiming() (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.answered++
	}
}

// add returns the context of a run.
func (r *runs) add(ctx context.Context, run Run) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel[run] = cancel
	return ctx
}

// remove ends a run and releases its context.
func (r *runs) remove(run Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel[run](nil)
	delete(r.cancel, run)
}

// stop ends the context of a run, if there still is one.
func (r *runs) stop(run Run, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cancel, ok := r.cancel[run]; ok {
		cancel(cause)
	}
}

func (r *runs) stopAll(cause error) {
	for _, run := range r.list() {
		r.stop(run, cause)
	}
}

func (r *runs) list() []Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.cancel))
}

// strays returns those of the runs that the ledger has for this process and
// that it does not run: the answer to their claim was lost, or they were
// stopped because the database was away. A run is not a stray while a claim is
// under way that may be the one that started it.
func (r *runs) strays(holds []Hold) (strays []Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := map[Run]int{}
	for _, h := range holds {
		if _, ok := r.cancel[h.Run]; ok {
			continue
		}
		first, again := r.unknown[h.Run]
		switch {
		case !again:
			seen[h.Run] = r.asked
		case r.answered >= first:
			strays = append(strays, h.Run)
		default:
			seen[h.Run] = first
		}
	}
	r.unknown = seen
	return strays
}
