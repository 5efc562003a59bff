package queue

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// held are the tasks that a worker runs now.
type held struct {
	mu       sync.Mutex
	runs     map[Ticket]context.CancelCauseFunc
	claiming map[Ticket]bool
}

func newHeld() *held {
	return &held{runs: map[Ticket]context.CancelCauseFunc{}, claiming: map[Ticket]bool{}}
}

// claims notes that a claim of t is under way, until the function it returns
// is called.
func (h *held) claims(t Ticket) (over func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.claiming[t] = true
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.claiming, t)
	}
}

// add returns the context of a run.
func (h *held) add(ctx context.Context, t Ticket) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs[t] = cancel
	return ctx
}

// remove ends a run and lets go of its context.
func (h *held) remove(t Ticket) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs[t](nil)
	delete(h.runs, t)
}

// stop ends the context of a run, if there still is one.
func (h *held) stop(t Ticket, cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if cancel, ok := h.runs[t]; ok {
		cancel(cause)
	}
}

func (h *held) stopAll(cause error) {
	for _, t := range h.tickets() {
		h.stop(t, cause)
	}
}

func (h *held) tickets() []Ticket {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.runs))
}

// has tells whether t runs here, or may be about to.
func (h *held) has(t Ticket) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.runs[t]
	return ok || h.claiming[t]
}

func (h *held) count() int { return len(h.tickets()) }
