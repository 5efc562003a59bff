package queue

import (
	"context"
	"encoding/json"
	"fmt"
)

// look watches what others do to the queue, until ctx ends.
func (s *shift) look(ctx context.Context) {
	tick := 0
	each(ctx, s.options.Tick, func() {
		s.once(ctx, "comparing tasks", s.compare)
		s.once(ctx, "adding queues", s.addQueues)
		s.once(ctx, "releasing tasks", s.release)
		if tick%4 == 0 {
			s.once(ctx, "rescuing tasks", s.rescue)
		}
		if tick%4 == 2 {
			s.once(ctx, "delivering jobs again", s.redeliver)
		}
		tick++
	})
}

// obey goes on stopping tasks that are cancelled, while the worker stops.
func (s *shift) obey(ctx context.Context) {
	each(ctx, s.options.Tick, func() { s.once(ctx, "comparing tasks", s.compare) })
}

func (s *shift) once(ctx context.Context, what string, do func(context.Context) error) {
	if err := do(ctx); err != nil {
		s.warn(ctx, what, err)
	}
}

// compare holds what this worker runs against what the ledger says it has:
// it stops what it may no longer run, and gives back what it does not run.
// What it claims meanwhile is not judged.
func (s *shift) compare(ctx context.Context) error {
	running := s.held.tickets()
	holds, err := s.ledger.Held(ctx, s.id)
	if err != nil {
		return err
	}
	good := map[Ticket]bool{}
	for _, h := range holds {
		good[h.Ticket] = !h.Cancelled
	}
	for _, t := range running {
		if !good[t] {
			s.held.stop(t, errCancelled)
		}
	}
	return s.giveBack(ctx, holds)
}

// strayFor is how many looks in a row a task has to be held and not run
// before it is given back. That happens when the answer to a claim was lost,
// or when tasks were stopped because the database was away.
const strayFor = 3

func (s *shift) giveBack(ctx context.Context, holds []Hold) error {
	seen, strays := map[Ticket]int{}, []Ticket{}
	for _, h := range holds {
		if s.held.has(h.Ticket) {
			continue
		}
		seen[h.Ticket] = s.strays[h.Ticket] + 1
		if seen[h.Ticket] >= strayFor {
			strays = append(strays, h.Ticket)
		}
	}
	s.strays = seen
	if len(strays) == 0 {
		return nil
	}
	_, err := s.ledger.GiveBack(ctx, s.id, strays, s.options.Now())
	return err
}

// release goes on while there is more than fits into one go.
func (s *shift) release(ctx context.Context) error {
	for {
		n, err := s.ledger.Release(ctx, s.options.Now())
		if err != nil || n == 0 {
			return err
		}
	}
}

func (s *shift) rescue(ctx context.Context) error {
	n, err := s.ledger.Rescue(ctx, s.options.Now())
	if err != nil {
		return err
	}
	if n > 0 {
		s.options.Log.Warn("took over tasks of a process that died", "tasks", n)
	}
	return nil
}

func (s *shift) redeliver(ctx context.Context) error {
	tickets, err := s.unused(ctx)
	if err != nil || len(tickets) == 0 {
		return err
	}
	_, err = s.ledger.Redeliver(ctx, tickets)
	return err
}

func parseTicket(args []byte) (t Ticket, err error) {
	if err := json.Unmarshal(args, &t); err != nil {
		return t, fmt.Errorf("reading a job: %w", err)
	}
	return t, nil
}
