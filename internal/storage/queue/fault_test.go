package queue_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/storage/queue"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	family "github.com/toolfold/toolfold/tools/queue"
	"github.com/toolfold/toolfold/tools/task"
)

var errAway = errors.New("the database is away")

// lossyLedger is a ledger whose methods fail the first time: the work is done, but its answer is lost.
type lossyLedger struct {
	queue.Ledger
	claims, endings atomic.Int32
}

func (s *lossyLedger) Claim(ctx context.Context, worker, workspace string, limit int, now time.Time) ([]task.Task, error) {
	claimed, err := s.Ledger.Claim(ctx, worker, workspace, limit, now)
	if len(claimed) > 0 && s.claims.Add(1) == 1 {
		return nil, errAway
	}
	return claimed, err
}

func (s *lossyLedger) Finish(ctx context.Context, e queue.Ending) (bool, error) {
	ok, err := s.Ledger.Finish(ctx, e)
	if s.endings.Add(1) == 1 {
		return false, errAway
	}
	return ok, err
}

// partitionedLedger is a ledger that cannot renew its lease while it is cut off.
type partitionedLedger struct {
	queue.Ledger
	off atomic.Bool
}

func (c *partitionedLedger) Renew(ctx context.Context, worker string, lease time.Duration) (bool, error) {
	if c.off.Load() {
		return false, errAway
	}
	return c.Ledger.Renew(ctx, worker, lease)
}

func (e env) workOn(ledger queue.Ledger, o queue.Options) {
	e.Helper()
	e.workWith(ledger, o, func(jobs *queue.Jobs) *queue.Jobs { return jobs })
}

// workWith starts a worker with the jobs that change returns.
func (e env) workWith(ledger queue.Ledger, o queue.Options, change func(*queue.Jobs) *queue.Jobs) {
	e.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	o.Tick, o.Workspace = 20*time.Millisecond, place
	go func() {
		open := func(ctx context.Context) (queue.Ledger, *queue.Jobs, error) {
			_, jobs, err := openerOf(e.store)(ctx)
			if err == nil {
				jobs = change(jobs)
			}
			return ledger, jobs, err
		}
		ended <- queue.New(open, e.calls, o).Work(ctx)
	}()
	e.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			e.Error(err)
		}
	})
}

func (e env) ledger() queue.Ledger {
	e.Helper()
	ledger, _, err := e.db.Work()
	if err != nil {
		e.Fatal(err)
	}
	return ledger
}

// A lost answer of the database loses neither the task nor its result.
func TestLostAnswers(t *testing.T) {
	eachStore(t, func(e env) {
		s := &lossyLedger{Ledger: e.ledger()}
		e.workOn(s, queue.Options{})
		e.await(e.submit("a", task.SubmitIn{}), task.Completed)
		e.await(e.submit("b", task.SubmitIn{}), task.Completed)
		if n := len(e.names()); n != 2 {
			e.Errorf("%d calls, want 2", n)
		}
	})
}

// A worker starts River again if it receives no jobs.
func TestDeafRiver(t *testing.T) {
	eachStore(t, func(e env) {
		e.workWith(e.ledger(), queue.Options{}, (*queue.Jobs).Deaf)
		e.await(e.submit("a", task.SubmitIn{}), task.Completed)
		e.await(e.submit("b", task.SubmitIn{}), task.Completed)
	})
}

// A worker that cannot renew its lease stops its tasks before other workers may take them. It runs
// them again when it can.
func TestLeaseCannotBeRenewed(t *testing.T) {
	eachStore(t, func(e env) {
		ledger := &partitionedLedger{Ledger: e.ledger()}
		var runs atomic.Int32
		e.on("task", func(ctx context.Context, _ json.RawMessage) toolfold.Answer {
			if runs.Add(1) > 1 {
				return answer(`{}`)
			}
			ledger.off.Store(true)
			defer ledger.off.Store(false)
			return untilStopped(ctx, nil)
		})
		e.workOn(ledger, queue.Options{Lease: 500 * time.Millisecond})
		got := e.await(e.submit("task", task.SubmitIn{}), task.Completed)
		if got.Attempt != 1 || runs.Load() < 2 {
			e.Errorf("attempt %d, %d runs", got.Attempt, runs.Load())
		}
	})
}

// A change of the queue in one process reaches a worker in another. The processes share only the
// database.
func TestAcrossProcesses(t *testing.T) {
	t.Parallel()
	for name, fresh := range map[string]func(testing.TB) string{"sqlite": storagetest.SQLite, "postgres": storagetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := fresh(t)
			here, there := newEnv(t, address, &calls{}), newEnv(t, address, &calls{})
			there.on("stops", untilStopped)
			there.work(queue.Options{})
			here.await(here.submit("a", task.SubmitIn{}), task.Completed)
			running := here.submit("stops", task.SubmitIn{})
			here.await(running, task.Running)
			if _, err := here.tasks.Cancel(t.Context(), task.CancelIn{TaskID: running}); err != nil {
				t.Fatal(err)
			}
			here.across()
		})
	}
}

// across creates, pauses and resumes a queue.
func (e env) across() {
	if _, err := e.queues.Create(e.Context(), family.CreateIn{Name: "new", MaxConcurrency: 1, DefaultPriority: task.Low}); err != nil {
		e.Fatal(err)
	}
	e.await(e.submit("b", task.SubmitIn{QueueID: "new"}), task.Completed)
	if _, err := e.queues.Pause(e.Context(), family.QueueIn{QueueID: "new"}); err != nil {
		e.Fatal(err)
	}
	held := e.submit("c", task.SubmitIn{QueueID: "new"})
	e.await(e.submit("d", task.SubmitIn{}), task.Completed)
	e.await(held, task.Paused)
	if _, err := e.queues.Resume(e.Context(), family.QueueIn{QueueID: "new"}); err != nil {
		e.Fatal(err)
	}
	e.await(held, task.Completed)
}

// Accepted tasks run even if the process that accepted them is killed right after.
func TestAcceptedAndKilled(t *testing.T) {
	t.Parallel()
	for name, fresh := range map[string]func(testing.TB) string{"sqlite": storagetest.SQLite, "postgres": storagetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := fresh(t)
			ids := submitAndKill(t, address)
			e := newEnv(t, address, &calls{})
			e.work(queue.Options{})
			for _, id := range ids {
				e.await(id, task.Completed)
			}
		})
	}
}

// submitAndKill runs a process until some of its tasks are accepted, kills it, and returns their
// ids.
func submitAndKill(t *testing.T, address string) (ids []string) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), submitVariable+"="+address)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		ids = append(ids, lines.Text())
		if len(ids) == 30 {
			child.Process.Kill() // lines in the pipe still count
		}
	}
	child.Wait()
	if len(ids) < 30 {
		t.Fatalf("the process ended after %d tasks", len(ids))
	}
	return ids
}
