package storagetest

import (
	"testing"
	"time"

	"github.com/toolfold/toolfold/engine/queue"
	"github.com/toolfold/toolfold/storage"
	"github.com/toolfold/toolfold/tools/task"
)

func (b bench) cancel(n int, force bool) (before string) {
	b.Helper()
	before, found, err := b.tasks.Cancel(b.Context(), task.Cancellation{TaskID: taskID(n), Reason: "enough", Force: force, At: noon})
	noError(b.T, err)
	if !found {
		b.Fatalf("there is no task %d", n)
	}
	return before
}

func cancelTasks(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1), newTask(2, taskID(1)))
	equal(t, b.cancel(1, false), queue.Queued)
	b.states(queue.Cancelled, queue.Failed)
	equal(t, b.get(1).Error, "enough")
	equal(t, b.get(1).EndedAt, noon)
	equal(t, b.get(2).Error, "its dependency "+taskID(1)+" was cancelled")
	equal(t, b.cancel(1, false), queue.Cancelled)
	equal(t, b.claim(queue.Ticket{TaskID: taskID(1), Turn: 1}), queue.Stale)
	_, found, err := b.tasks.Cancel(t.Context(), task.Cancellation{TaskID: taskID(9), At: noon})
	if found || err != nil {
		t.Fatalf("a task that is not there: %v, %v", found, err)
	}
}

func cancelRunning(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1), newTask(2), newTask(3), newTask(4))
	asked, forced, fast, retried := b.start(1), b.start(2), b.start(3), b.start(4)
	for n := range 4 {
		equal(t, b.cancel(n+1, n == 1), queue.Running)
	}
	b.states(queue.Running, queue.Cancelled, queue.Running, queue.Running)
	held, err := b.ledger.Held(t.Context(), worker)
	noError(t, err)
	equal(t, len(held), 3)
	for _, h := range held {
		equal(t, h.Cancelled, true)
	}
	if b.finish(queue.Ending{Ticket: forced, Status: queue.Completed}) {
		t.Fatal("a task ended after it was cancelled by force")
	}
	b.finish(queue.Ending{Ticket: asked, Status: queue.Failed, Error: "stopped"})
	b.finish(queue.Ending{Ticket: fast, Status: queue.Completed})
	b.finish(queue.Ending{Ticket: retried, Status: queue.Failed, RetryAt: noon})
	b.states(queue.Cancelled, queue.Cancelled, queue.Completed, queue.Cancelled)
	equal(t, b.get(1).Error, "enough")
}

func retryTask(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	retry := func(n int, reset bool) (queue.Task, []task.Obstacle) {
		got, blocked, err := b.tasks.Retry(t.Context(), task.Retrial{TaskID: taskID(n), Reset: reset, At: noon})
		noError(t, err)
		return got, blocked
	}
	b.submit(newTask(1), newTask(2, taskID(1)))
	old := b.start(1)
	b.cancel(1, true)
	_, blocked := retry(2, false)
	equal(t, blocked, []task.Obstacle{{TaskID: taskID(1), Status: queue.Cancelled}})
	b.states(queue.Cancelled, queue.Failed)

	got, _ := retry(1, false)
	equal(t, got.Status, queue.Queued)
	equal(t, b.get(1).Attempt, 2)
	if b.finish(queue.Ending{Ticket: old, Status: queue.Completed}) {
		t.Fatal("the run that was cancelled ended the new attempt")
	}
	retry(2, false)
	b.states(queue.Queued, queue.Pending)
	equal(t, b.get(2).Error, "")
	b.complete(1)
	b.states(queue.Completed, queue.Queued)

	retry(1, false)
	b.cancel(2, false)
	retry(2, true)
	equal(t, b.get(2).Attempt, 1)
	b.states(queue.Completed, queue.Queued)
}

// rescued waits until a lease has run out by the database's clock, and tells
// how many tasks were taken over.
func (b bench) rescued() int {
	b.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		n, err := b.ledger.Rescue(b.Context(), noon)
		noError(b.T, err)
		if n > 0 {
			return n
		}
	}
	b.Fatal("nobody was rescued")
	return 0
}

func loseLease(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1), newTask(2), newTask(3))
	lost := b.start(1)
	b.start(2)
	b.cancel(2, false)
	n, err := b.ledger.Rescue(t.Context(), noon)
	noError(t, err)
	equal(t, n, 0)
	noError(t, b.ledger.Enter(t.Context(), worker, 0))
	equal(t, b.rescued(), 2)
	b.states(queue.Queued, queue.Cancelled, queue.Queued)

	alive, err := b.ledger.Renew(t.Context(), worker, long)
	noError(t, err)
	equal(t, alive, false)
	if b.finish(queue.Ending{Ticket: lost, Status: queue.Completed}) {
		t.Fatal("a worker without lease ended a task that was given to another")
	}
	equal(t, b.claim(lost), queue.Stale)
	equal(t, b.claim(queue.Ticket{TaskID: taskID(3), Turn: 1}), queue.ClaimSoon)
	noError(t, b.ledger.Enter(t.Context(), worker, long))
	b.complete(1)
	equal(t, b.get(1).Attempt, 1)
}

func rescueTooOften(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1), newTask(2, taskID(1)))
	for b.get(1).Status == queue.Queued {
		noError(t, b.ledger.Enter(t.Context(), worker, long))
		b.start(1)
		noError(t, b.ledger.Enter(t.Context(), worker, 0))
		b.rescued()
	}
	b.states(queue.Failed, queue.Failed)
	equal(t, b.get(1).Error, "the process that ran it died, 6 times in a row")
}

func leaveTasks(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	noError(t, b.ledger.Enter(t.Context(), "another", long))
	b.submit(newTask(1), newTask(2), newTask(3))
	b.start(1)
	b.start(2)
	b.cancel(2, false)
	_, _, err := b.ledger.Start(t.Context(), queue.Ticket{TaskID: taskID(3), Turn: 1}, "another", noon)
	noError(t, err)
	noError(t, b.ledger.Leave(t.Context(), worker, noon))
	b.states(queue.Queued, queue.Cancelled, queue.Running)
}

func giveBack(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1), newTask(2), newTask(3))
	tickets := []queue.Ticket{b.start(1), b.start(2), {TaskID: taskID(3), Turn: 1}}
	b.cancel(2, false)
	n, err := b.ledger.GiveBack(t.Context(), "another", tickets, noon)
	noError(t, err)
	equal(t, n, 0)
	n, err = b.ledger.GiveBack(t.Context(), worker, tickets, noon)
	noError(t, err)
	equal(t, n, 2)
	b.states(queue.Queued, queue.Cancelled, queue.Queued)
	equal(t, b.get(1).Turn, 2)
	equal(t, b.get(3).Turn, 1)
}

func redeliver(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1), newTask(2))
	tickets := []queue.Ticket{{TaskID: taskID(1), Turn: 1}, b.start(2), {TaskID: taskID(3), Turn: 1}}
	n, err := b.ledger.Redeliver(t.Context(), tickets)
	noError(t, err)
	equal(t, n, 1)
	b.states(queue.Queued, queue.Running)
	equal(t, b.claim(tickets[0]), queue.Stale)
	b.complete(1)
}
