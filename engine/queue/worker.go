package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold/tools"
)

// Options are the timings of a worker. Zero values are the usual ones.
type Options struct {
	// Lease is how long tasks of a process that died wait for another; 15 s.
	// It has to be longer than the database may be out of reach without
	// running tasks being stopped.
	Lease time.Duration

	// Tick is how often a worker looks for cancellations, pauses, new queues
	// and tasks that are due; 500 ms.
	Tick time.Duration

	// Grace is how long running tasks may go on when the worker is to stop,
	// and again how long they may take to notice; 10 s.
	Grace time.Duration

	// Yield is how long a task may take to end after its time ran out before
	// that is recorded all the same; 5 s. Its slot stays taken until it ends.
	Yield time.Duration

	Now func() time.Time // nil = time.Now
	Log *slog.Logger     // nil = none
}

func (o Options) withDefaults() Options {
	for value, usual := range map[*time.Duration]time.Duration{
		&o.Lease: 15 * time.Second, &o.Tick: 500 * time.Millisecond,
		&o.Grace: 10 * time.Second, &o.Yield: 5 * time.Second,
	} {
		if *value <= 0 {
			*value = usual
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = silent()
	}
	return o
}

// Worker runs tasks. Several may work the same store, in one process or many.
type Worker struct {
	open    func(context.Context) (Ledger, error)
	caller  tools.Caller
	options Options
}

// New returns a worker. It opens nothing before it works.
func New(open func(context.Context) (Ledger, error), caller tools.Caller, o Options) *Worker {
	return &Worker{open: open, caller: caller, options: o.withDefaults()}
}

// Work runs tasks until ctx ends. Then it takes no more, lets those that run
// go on for the grace, stops the rest, and gives their tasks back. The error
// is nil when ctx ended the work.
func (w *Worker) Work(ctx context.Context) error {
	ledger, err := w.open(ctx)
	if err != nil {
		return fmt.Errorf("working the queue: %w", err)
	}
	s := newShift(w, ledger)
	if err := s.work(ctx); err != nil {
		return fmt.Errorf("working the queue: %w", err)
	}
	return nil
}

// shift is one call of Work.
type shift struct {
	*Worker
	ledger Ledger
	id     string // of the worker, in the ledger
	held   *held
	lease  *lease
	client runner
	queues map[string]int // added to the client, with their limits
	strays map[Ticket]int // held and not run, with how often that was seen
}

func newShift(w *Worker, ledger Ledger) *shift {
	s := &shift{Worker: w, ledger: ledger, id: uuid.NewString(), held: newHeld(), queues: map[string]int{}}
	s.lease = newLease(w.options.Lease, func() { s.held.stopAll(errLeaseLost) })
	return s
}

func (s *shift) work(ctx context.Context) error {
	if err := s.ledger.Enter(ctx, s.id, s.options.Lease); err != nil {
		return err
	}
	s.lease.renewed(time.Now())
	client, release, err := s.connect(ctx)
	if err != nil {
		return errors.Join(err, s.leave())
	}
	s.client = client
	defer release()
	// River must not see ctx end: it would stop without the grace.
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return errors.Join(err, s.leave())
	}
	s.attend(ctx)
	return s.stop()
}

// attend does what has to be done again and again while River runs tasks.
func (s *shift) attend(ctx context.Context) {
	var keeping sync.WaitGroup
	keeping.Go(func() { s.keepLease(ctx) })
	s.look(ctx)
	keeping.Wait()
}

// stop ends the client: first it only takes no more, then it stops what runs.
// The lease is kept meanwhile, and given up when nothing runs any more.
func (s *shift) stop() error {
	ctx, done := context.WithCancel(context.Background())
	var keeping sync.WaitGroup
	keeping.Go(func() { s.keepLease(ctx) })
	keeping.Go(func() { s.obey(ctx) })
	stopped := s.await(s.client.Stop) == nil || s.await(s.client.StopAndCancel) == nil
	done()
	keeping.Wait()
	if stopped {
		return s.leave()
	}
	s.lease.end()
	s.options.Log.Warn("tasks did not stop; they are run again once the lease is over", "tasks", s.held.count())
	return nil
}

func (s *shift) await(stop func(context.Context) error) error {
	ctx, done := context.WithTimeout(context.Background(), s.options.Grace)
	defer done()
	return stop(ctx)
}

// leaveWithin limits the last words to the database.
const leaveWithin = 10 * time.Second

func (s *shift) leave() error {
	ctx, done := context.WithTimeout(context.Background(), leaveWithin)
	defer done()
	s.lease.end()
	return s.ledger.Leave(ctx, s.id, s.options.Now())
}
