package queue

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/toolfold/toolfold/tools/task"
)

// runs are the runs of this process.
type runs struct {
	mu     sync.Mutex
	cancel map[Run]context.CancelCauseFunc

	// progress is that of runs which have reported some; said holds the runs that
	// have since it was taken last.
	progress map[Run]*task.Progress
	said     map[Run]bool

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
	delete(r.progress, run)
	delete(r.said, run)
}

// stop ends the context of a run, if there still is one.
func (r *runs) stop(run Run, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cancel, ok := r.cancel[run]; ok {
		cancel(cause)
	}
}

// note changes the progress of a run.
func (r *runs) note(run Run, change func(*task.Progress)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.cancel[run]; !ok {
		return
	}
	if r.progress[run] == nil {
		r.progress[run] = &task.Progress{}
	}
	change(r.progress[run])
	r.said[run] = true
}

// progressOf returns the progress of a run; false where it has reported none.
func (r *runs) progressOf(run Run) (p task.Progress, some bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.progress[run] == nil {
		return p, false
	}
	p = *r.progress[run]
	p.Lines = slices.Clone(p.Lines)
	return p, true
}

// news takes the progress of the runs that have reported some since it was
// called last.
func (r *runs) news() map[Run]task.Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := map[Run]task.Progress{}
	for run := range r.said {
		p := *r.progress[run]
		p.Lines = slices.Clone(p.Lines)
		list[run] = p
	}
	clear(r.said)
	return list
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
