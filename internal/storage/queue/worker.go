package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"go.opentelemetry.io/otel/trace"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/system/clock"
	"github.com/toolfold/toolfold/tools/task"
)

// Options are the settings of a worker. Zero values mean the defaults.
type Options struct {
	// Workspace names the workspace whose tasks the worker runs.
	Workspace string

	// Lease limits the time until another process takes the tasks of a dead one; default 15 s.
	// Tasks are stopped if the database is unreachable for four fifths of it.
	Lease time.Duration

	// Tick is the interval between checks for cancellations and due tasks; default 500 ms.
	Tick time.Duration

	// Grace limits the time that running tasks have when the worker stops; default 10 s.
	Grace time.Duration

	// Notice limits the time after Grace for tasks to end and for the ledger to record it; default
	// Grace.
	Notice time.Duration

	// Yield is the time after a task's timeout after which its end is recorded even if it still
	// runs; default 5 s. It keeps its slot until it ends.
	Yield time.Duration

	// Again is the time for which the worker leaves a task to other workers because its agent or
	// workflow is missing in this folder; default 10 s.
	Again time.Duration

	// Retention limits the time that ended tasks are stored; zero = no limit.
	Retention time.Duration

	// Ended is called when a client's call that became a task has ended, with [task.Kept.By] and the code of its
	// error, empty for success. Nil = no calls.
	Ended func(by json.RawMessage, code string)

	Tracer trace.TracerProvider // of the spans of tasks; nil = the global provider
	Now    func() time.Time     // nil = time.Now
	Log    *slog.Logger         // nil = no log
}

// Worker runs the tasks of a workspace. Several workers may share a store, in one process or many.
type Worker struct {
	open    Opener
	caller  Caller
	options Options
}

// Caller calls and resolves actions. *call.Runner implements it.
type Caller interface {
	toolfold.Caller
	entry.Names
}

// Opener opens a store: its ledger, and River on the same database.
type Opener func(context.Context) (Ledger, *Jobs, error)

// New returns a worker. It opens nothing before it works.
func New(open Opener, caller Caller, o Options) *Worker {
	o.Lease = cmp.Or(o.Lease, 15*time.Second)
	o.Tick = cmp.Or(o.Tick, 500*time.Millisecond)
	o.Grace = cmp.Or(o.Grace, 10*time.Second)
	o.Notice = cmp.Or(o.Notice, o.Grace)
	o.Yield = cmp.Or(o.Yield, 5*time.Second)
	o.Again = cmp.Or(o.Again, 10*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Now = clock.Micros(o.Now)
	if o.Log == nil {
		o.Log = silent()
	}
	return &Worker{open: open, caller: caller, options: o}
}

// activeWorker is the state of one call of Work.
type activeWorker struct {
	*Worker
	id       string // of the worker, in the ledger
	ledger   Ledger
	runs     *runs
	stopping atomic.Bool // no more tasks are claimed

	// Claims run one at a time. Each one claims tasks for itself and for all waiting jobs. The
	// time emptyClaim is the start of the last claim that found no task.
	claims       sync.Mutex
	waitingJobs  atomic.Int32
	claimedTasks []claimedTask
	emptyClaim   time.Time

	questions atomic.Int32 // waiting for clients

	renewedAt atomic.Pointer[time.Time] // time of the last request for the lease
	jobRan    atomic.Bool               // a job has run since the last insertion of jobs
}

// claimedTask is a claimed task that no job runs yet, with the context of its run.
type claimedTask struct {
	task.Task
	within context.Context
}

// Work runs tasks until ctx ends. Then it claims no more, waits for running tasks up to the grace
// period, stops the rest, and gives their tasks back. The error is nil if ctx ended the work.
func (w *Worker) Work(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("working the queue: %w", err)
		}
	}()
	ledger, jobs, err := w.open(ctx)
	if err != nil {
		return err
	}
	s := &activeWorker{Worker: w, id: uuid.NewString(), ledger: ledger, runs: &runs{
		cancel: map[Run]context.CancelCauseFunc{}, progress: map[Run]*task.Progress{}, unread: map[Run]bool{},
	}}
	if err := s.enter(ctx); err != nil {
		return err
	}
	client, release, err := jobs.start(ctx, s.id, w.options.Workspace, s.work)
	if err != nil {
		return errors.Join(err, s.leave())
	}
	defer func() { release() }()
	within := func(most time.Duration, stop func(context.Context) error) bool {
		limited, done := context.WithTimeout(context.WithoutCancel(ctx), most)
		defer done()
		return stop(limited) == nil
	}
	stop := func() bool {
		return within(w.options.Grace, client.Stop) || within(w.options.Notice, client.StopAndCancel)
	}
	restart := func() error {
		_ = stop()
		next, releaseNext, err := jobs.start(ctx, s.id, w.options.Workspace, s.work)
		if err != nil {
			return err
		}
		release()
		client, release = next, releaseNext
		return nil
	}
	var loops sync.WaitGroup
	loops.Go(func() { s.keepLease(ctx) })
	loops.Go(func() { s.look(ctx, restart) })
	loops.Wait()

	// While runs end, the lease is renewed and cancelled runs are stopped.
	s.stopping.Store(true)
	ending, done := context.WithCancel(context.WithoutCancel(ctx))
	loops.Go(func() { s.keepLease(ending) })
	loops.Go(func() { s.each(ending, w.options.Tick, "comparing runs", s.compare) })
	stopped := stop()
	done()
	loops.Wait()
	if !stopped {
		w.options.Log.Warn("tasks did not stop; they are run again once the lease is over", "tasks", len(s.runs.list()))
		return nil
	}
	return s.leave()
}

// work runs tasks one after another, until no task can be claimed.
func (s *activeWorker) work(ctx context.Context) {
	s.jobRan.Store(true)
	for {
		c, found, err := s.claim(ctx)
		if err != nil {
			s.warn(ctx, "claiming tasks", err)
		}
		if !found {
			return
		}
		run := Run{c.ID, c.Turn}
		unbind := context.AfterFunc(ctx, func() { s.runs.stop(run, errStopped) })
		s.run(ctx, c.within, c.Task)
		unbind()
		s.runs.remove(run)
	}
}

// claim returns a task to run. It does not repeat a claim that began after this call and found no
// task.
func (s *activeWorker) claim(ctx context.Context) (c claimedTask, found bool, err error) {
	arrived := time.Now()
	s.waitingJobs.Add(1)
	s.claims.Lock()
	defer s.claims.Unlock()
	s.waitingJobs.Add(-1)
	if len(s.claimedTasks) == 0 && !s.stopping.Load() && ctx.Err() == nil && !s.emptyClaim.After(arrived) {
		limited, done := context.WithTimeout(ctx, answerWithin)
		defer done()
		defer s.runs.claiming()()
		began := time.Now()
		tasks, err := s.ledger.Claim(limited, s.id, s.options.Workspace, 1+int(s.waitingJobs.Load()), s.options.Now())
		if err != nil {
			return c, false, err
		}
		if len(tasks) == 0 {
			s.emptyClaim = began
		}
		for _, t := range tasks {
			s.claimedTasks = append(s.claimedTasks, claimedTask{t, s.runs.add(context.WithoutCancel(ctx), Run{t.ID, t.Turn})})
		}
	}
	if len(s.claimedTasks) == 0 {
		return c, false, nil
	}
	c, s.claimedTasks = s.claimedTasks[0], s.claimedTasks[1:]
	return c, true, nil
}

// enter starts a lease.
func (s *activeWorker) enter(ctx context.Context) error {
	sent := time.Now()
	if err := s.ledger.Enter(ctx, s.id, s.options.Workspace, s.options.Lease); err != nil {
		return err
	}
	s.renewedAt.Store(&sent)
	return nil
}

// leaseLost reports whether the lease has expired or has less than a fifth left, the time that
// tasks need to stop. It uses the clock of the process and the clock of the machine, which
// continues while a laptop sleeps.
func (s *activeWorker) leaseLost() bool {
	sent, now := *s.renewedAt.Load(), time.Now()
	return max(now.Sub(sent), now.Round(0).Sub(sent.Round(0))) > s.options.Lease*4/5
}

// keepLease renews the lease until ctx ends, and stops all runs if it is lost.
func (s *activeWorker) keepLease(ctx context.Context) {
	interval := s.options.Lease / 5
	var watch sync.WaitGroup
	watch.Go(func() {
		s.each(ctx, interval/4, "watching the lease", func(context.Context) error {
			if s.leaseLost() {
				s.runs.stopAll(errLeaseLost)
			}
			return nil
		})
	})
	s.each(ctx, interval, "renewing the lease", func(ctx context.Context) error {
		limited, done := context.WithTimeout(ctx, interval)
		defer done()
		sent := time.Now()
		alive, err := s.ledger.Renew(limited, s.id, s.options.Lease)
		switch {
		case err != nil:
			return err
		case alive:
			s.renewedAt.Store(&sent)
			return nil
		}
		s.options.Log.Warn("the lease ran out; tasks are stopped and run again", "tasks", len(s.runs.list()))
		s.runs.stopAll(errLeaseLost)
		return s.enter(ctx)
	})
	watch.Wait()
}

// stalls is the number of consecutive insertions of jobs that River does not take before River is
// restarted: a connection lost during its start leaves it without the part that fetches jobs, and
// without an error.
const stalls = 5

// look does the periodic work until ctx ends. Restart restarts River.
func (s *activeWorker) look(ctx context.Context, restart func() error) {
	tick, stalled := 0, 0
	s.each(ctx, s.options.Tick, "comparing runs", func(ctx context.Context) error {
		err := s.compare(ctx)
		if tick%2 == 0 {
			for run, p := range s.runs.news() {
				if err := s.ledger.Report(ctx, run, p); err != nil {
					s.warn(ctx, "keeping progress", err)
				}
			}
		}
		s.count(ctx, "releasing tasks", s.ledger.Release)
		if tick%4 == 0 {
			if n := s.count(ctx, "rescuing tasks", s.rescue); n > 0 {
				s.options.Log.Warn("took over tasks of a process that died", "tasks", n)
			}
		}
		if tick%4 == 2 {
			n, err := s.ledger.Wake(ctx, s.id, s.options.Workspace)
			if err != nil {
				s.warn(ctx, "inserting jobs", err)
			}
			if stalled++; n == 0 || s.jobRan.Swap(false) || len(s.runs.list()) > 0 {
				stalled = 0
			}
			if stalled >= stalls {
				stalled = 0
				s.options.Log.Warn("nothing takes the jobs of the queue; it is started again", "tasks", n)
				if err := restart(); err != nil {
					s.warn(ctx, "starting the queue again", err)
				}
			}
		}
		if s.options.Retention > 0 && tick%20 == 10 {
			if _, err := s.ledger.Prune(ctx, s.options.Now().Add(-s.options.Retention)); err != nil {
				s.warn(ctx, "removing old tasks", err)
			}
		}
		tick++
		return err
	})
}

// rescue takes over tasks of dead processes. It assumes that leases of other workers are at most
// four times as long.
func (s *activeWorker) rescue(ctx context.Context, now time.Time) (int, error) {
	return s.ledger.Rescue(ctx, now, 4*max(s.options.Lease, s.options.Again))
}

// count calls do until it returns zero, and returns the sum.
func (s *activeWorker) count(ctx context.Context, what string, do func(context.Context, time.Time) (int, error)) (sum int) {
	for {
		n, err := do(ctx, s.options.Now())
		sum += n
		if err != nil {
			s.warn(ctx, what, err)
		}
		if err != nil || n == 0 {
			return sum
		}
	}
}

// compare compares the runs of this process with the ledger. It stops runs that were cancelled or
// assigned to another process, and gives back tasks that it does not run.
func (s *activeWorker) compare(ctx context.Context) error {
	running := s.runs.list()
	holds, err := s.ledger.Held(ctx, s.id)
	if err != nil {
		return err
	}
	keep := map[Run]bool{}
	for _, h := range holds {
		keep[h.Run] = !h.Cancelled
	}
	for _, run := range running {
		if !keep[run] {
			s.runs.stop(run, errCancelled)
		}
	}
	if strays := s.runs.strays(holds); len(strays) > 0 {
		_, err = s.ledger.GiveBack(ctx, s.id, strays, s.options.Now())
	}
	return err
}

func (s *activeWorker) leave() error {
	ctx, done := context.WithTimeout(context.Background(), 10*time.Second)
	defer done()
	return s.ledger.Leave(ctx, s.id, s.options.Now())
}

// answerWithin limits the time of the ledger for an answer.
const answerWithin = 30 * time.Second

// each calls do at once and then at each interval, until ctx ends. It logs errors and continues.
func (s *activeWorker) each(ctx context.Context, interval time.Duration, what string, do func(context.Context) error) {
	ticker := time.NewTicker(max(interval, time.Millisecond))
	defer ticker.Stop()
	for ctx.Err() == nil {
		limited, done := context.WithTimeout(ctx, answerWithin)
		if err := do(limited); err != nil {
			s.warn(ctx, what, err)
		}
		done()
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

func (s *activeWorker) warn(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		s.options.Log.Warn("the queue met an error and goes on", "what", what, "err", err)
	}
}
