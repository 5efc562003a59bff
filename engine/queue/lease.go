package queue

import (
	"context"
	"sync"
	"time"
)

// lease watches the time that is left of a worker's lease, by the clock of
// this process, which started to count no later than the database did.
type lease struct {
	length time.Duration
	lost   func()

	mu    sync.Mutex
	timer *time.Timer // nil before the first renewal
	until time.Time
}

// newLease calls lost when a lease is about to run out.
func newLease(length time.Duration, lost func()) *lease {
	return &lease{length: length, lost: lost}
}

// margin is what a lease is thought shorter than it is: the time that tasks
// have to stop in before others may take them over.
func (l *lease) margin() time.Duration { return l.length / 5 }

// interval is how often a lease is renewed.
func (l *lease) interval() time.Duration { return l.length / 5 }

// renewed starts the time anew, from the moment the database was asked.
func (l *lease) renewed(asked time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = asked.Add(l.length - l.margin())
	if l.timer != nil {
		l.timer.Stop()
	}
	l.timer = time.AfterFunc(time.Until(l.until), l.lost)
}

// over tells whether the time is up.
func (l *lease) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().After(l.until)
}

// end stops the watch.
func (l *lease) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
}

// keepLease renews the lease until ctx ends.
func (s *shift) keepLease(ctx context.Context) {
	each(ctx, s.lease.interval(), func() {
		asked := time.Now()
		alive, err := s.renew(ctx)
		switch {
		case err != nil:
			s.warn(ctx, "renewing the lease", err)
		case alive:
			s.lease.renewed(asked)
		default:
			s.comeBack(ctx)
		}
	})
}

// renew gives up before the next renewal is due.
func (s *shift) renew(ctx context.Context) (bool, error) {
	ctx, done := context.WithTimeout(ctx, s.lease.interval())
	defer done()
	return s.ledger.Renew(ctx, s.id, s.options.Lease)
}

// comeBack starts a new lease after one has run out. Others have the tasks
// now that ran under it.
func (s *shift) comeBack(ctx context.Context) {
	s.options.Log.Warn("the lease ran out; tasks are stopped and run again", "tasks", s.held.count())
	s.held.stopAll(errLeaseLost)
	asked := time.Now()
	if err := s.ledger.Enter(ctx, s.id, s.options.Lease); err != nil {
		s.warn(ctx, "starting a new lease", err)
		return
	}
	s.lease.renewed(asked)
}

// each calls do at once and then at each interval, until ctx ends.
func each(ctx context.Context, interval time.Duration, do func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		do()
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

func (s *shift) warn(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		s.options.Log.Warn("the queue met an error and goes on", "what", what, "err", err)
	}
}
