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

	"github.com/toolfold/toolfold/engine/queue"
	"github.com/toolfold/toolfold/storage/storagetest"
	"github.com/toolfold/toolfold/tools"
	family "github.com/toolfold/toolfold/tools/queue"
	"github.com/toolfold/toolfold/tools/task"
)

var errAway = errors.New("the database is away")

// shaky is a ledger of which each method fails the first time: what it was to
// do is done, but the answer is lost.
type shaky struct {
	queue.Ledger
	starts, endings atomic.Int32
}

func (s *shaky) Start(ctx context.Context, t queue.Ticket, worker string, now time.Time) (queue.Task, queue.Claim, error) {
	task, claim, err := s.Ledger.Start(ctx, t, worker, now)
	if s.starts.Add(1) == 1 {
		return queue.Task{}, 0, errAway
	}
	return task, claim, err
}

func (s *shaky) Finish(ctx context.Context, e queue.Ending) (bool, error) {
	ok, err := s.Ledger.Finish(ctx, e)
	if s.endings.Add(1) == 1 {
		return false, errAway
	}
	return ok, err
}

// cut is a ledger whose lease cannot be renewed while it is cut off.
type cut struct {
	queue.Ledger
	off atomic.Bool
}

func (c *cut) Renew(ctx context.Context, worker string, lease time.Duration) (bool, error) {
	if c.off.Load() {
		return false, errAway
	}
	return c.Ledger.Renew(ctx, worker, lease)
}

func (y yard) workOn(ledger queue.Ledger, o queue.Options) {
	y.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	o.Tick = 20 * time.Millisecond
	go func() {
		ended <- queue.New(func(context.Context) (queue.Ledger, error) { return ledger, nil }, y.calls, o).Work(ctx)
	}()
	y.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			y.Error(err)
		}
	})
}

func (y yard) ledger() queue.Ledger {
	y.Helper()
	ledger, err := y.db.Ledger()
	if err != nil {
		y.Fatal(err)
	}
	return ledger
}

// Answers of the database that are lost cost neither the task nor its result.
func TestLostAnswers(t *testing.T) {
	eachYard(t, func(y yard) {
		s := &shaky{Ledger: y.ledger()}
		y.workOn(s, queue.Options{})
		y.await(y.submit("a", task.SubmitIn{}), queue.Completed)
		y.await(y.submit("b", task.SubmitIn{}), queue.Completed)
		if n := len(y.names()); n != 2 {
			y.Errorf("%d calls, want 2", n)
		}
	})
}

// A worker that cannot renew its lease stops its tasks before others may take
// them, and runs them again once it can.
func TestDatabaseAway(t *testing.T) {
	eachYard(t, func(y yard) {
		ledger := &cut{Ledger: y.ledger()}
		var runs atomic.Int32
		y.on("task", func(ctx context.Context, _ json.RawMessage) tools.Answer {
			if runs.Add(1) > 1 {
				return answer(`{}`)
			}
			ledger.off.Store(true)
			defer ledger.off.Store(false)
			return untilStopped(ctx, nil)
		})
		y.workOn(ledger, queue.Options{Lease: 500 * time.Millisecond})
		got := y.await(y.submit("task", task.SubmitIn{}), queue.Completed)
		if got.Attempt != 1 || runs.Load() < 2 {
			y.Errorf("attempt %d, %d runs", got.Attempt, runs.Load())
		}
	})
}

// What one process does to the queue reaches a worker in another. The two
// share nothing but the database.
func TestAcrossProcesses(t *testing.T) {
	t.Parallel()
	for name, fresh := range map[string]func(testing.TB) string{"sqlite": sqliteURL, "postgres": storagetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := fresh(t)
			here, there := newYard(t, address, &calls{}), newYard(t, address, &calls{})
			there.on("stops", untilStopped)
			there.work(queue.Options{})
			here.await(here.submit("a", task.SubmitIn{}), queue.Completed)
			running := here.submit("stops", task.SubmitIn{})
			here.await(running, queue.Running)
			if _, err := here.tasks.Cancel(t.Context(), task.CancelIn{TaskID: running}); err != nil {
				t.Fatal(err)
			}
			here.across()
		})
	}
}

// across makes a queue, and pauses and resumes it.
func (y yard) across() {
	if _, err := y.queues.Create(y.Context(), family.CreateIn{Name: "new", MaxConcurrency: 1, DefaultPriority: queue.Low}); err != nil {
		y.Fatal(err)
	}
	y.await(y.submit("b", task.SubmitIn{QueueID: "new"}), queue.Completed)
	if _, err := y.queues.Pause(y.Context(), family.QueueIn{QueueID: "new"}); err != nil {
		y.Fatal(err)
	}
	held := y.submit("c", task.SubmitIn{QueueID: "new"})
	y.await(y.submit("d", task.SubmitIn{}), queue.Completed)
	y.await(held, queue.Paused)
	if _, err := y.queues.Resume(y.Context(), family.QueueIn{QueueID: "new"}); err != nil {
		y.Fatal(err)
	}
	y.await(held, queue.Completed)
}

// Tasks that were accepted run, also when the process that accepted them was
// killed right after.
func TestAcceptedAndKilled(t *testing.T) {
	t.Parallel()
	for name, fresh := range map[string]func(testing.TB) string{"sqlite": sqliteURL, "postgres": storagetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := fresh(t)
			ids := submitAndKill(t, address)
			y := newYard(t, address, &calls{})
			y.work(queue.Options{})
			for _, id := range ids {
				y.await(id, queue.Completed)
			}
		})
	}
}

// submitAndKill runs a process until some of its tasks were accepted, kills
// it, and returns their ids.
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
			child.Process.Kill() // what is in the pipe still counts
		}
	}
	child.Wait()
	if len(ids) < 30 {
		t.Fatalf("the process ended after %d tasks", len(ids))
	}
	return ids
}
