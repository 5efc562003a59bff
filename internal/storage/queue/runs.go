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

	// progress has the progress of runs that reported it; unread has the runs with news since the
	// last call of news.
	progress map[Run]*task.Progress
	unread   map[Run]bool

	// claimsBegun and claimsEnded count claims. There is one claim at a time.
	claimsBegun, claimsEnded int

	// unknown has runs that are in the ledger and not in this process, with the value of claimsBegun at
	// their first sight.
	unknown map[Run]int
}

// claiming marks a claim as running until done is called.
func (r *runs) claiming() (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.claimsBegun++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.claimsEnded++
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
	delete(r.unread, run)
}

// stop ends the context of a run that is still running.
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
	r.unread[run] = true
}

// progressOf returns the progress of a run; some is false if it has not reported any.
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

// news returns the progress of the runs that reported since the last call of news.
func (r *runs) news() map[Run]task.Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := map[Run]task.Progress{}
	for run := range r.unread {
		p := *r.progress[run]
		p.Lines = slices.Clone(p.Lines)
		list[run] = p
	}
	clear(r.unread)
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

// strays returns the runs that the ledger assigns to this process but that it does not run: the
// answer to their claim was lost, or they were stopped because the database was unreachable. A run
// is not a stray while the claim that may have started it is running.
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
			seen[h.Run] = r.claimsBegun
		case r.claimsEnded >= first:
			strays = append(strays, h.Run)
		default:
			seen[h.Run] = first
		}
	}
	r.unknown = seen
	return strays
}
