package storagetest

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolfold/toolfold/engine/queue"
	"github.com/toolfold/toolfold/storage"
	"github.com/toolfold/toolfold/tools"
	"github.com/toolfold/toolfold/tools/task"
)

var taskBehaviours = []behaviour{
	{"task/keep", keepTask},
	{"task/position", positions},
	{"task/list", listTasks},
	{"task/list pages", pageTasks},
	{"task/dependencies", dependTasks},
	{"task/dependencies that fail", failDependents},
	{"task/dependencies that block", blockTasks},
	{"task/dependencies end while others are submitted", submitWhileEnding},
	{"task/scheduled", scheduleTask},
	{"task/cancel", cancelTasks},
	{"task/cancel a running one", cancelRunning},
	{"task/retry", retryTask},
	{"queue/create", createQueues},
	{"queue/list", listQueues},
	{"queue/pause", pauseQueue},
	{"ledger/claim at once", claimAtOnce},
	{"ledger/finish once", finishOnce},
	{"ledger/attempts", failAttempts},
	{"ledger/lease", loseLease},
	{"ledger/rescue too often", rescueTooOften},
	{"ledger/leave", leaveTasks},
	{"ledger/give back", giveBack},
	{"ledger/redeliver", redeliver},
}

// bench is a store with its default queue and a worker.
type bench struct {
	*testing.T
	tasks  task.Store
	ledger queue.Ledger
}

const worker = "worker"

// long is a lease that does not run out during a test.
const long = time.Hour

func newBench(t *testing.T, db *storage.DB) bench {
	t.Helper()
	ledger, err := db.Ledger()
	noError(t, err)
	noError(t, db.Task().AddDefaultQueue(t.Context(), noon))
	noError(t, ledger.Enter(t.Context(), worker, long))
	return bench{t, db.Task(), ledger}
}

func taskID(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// newTask is a task that was submitted n seconds after noon.
func newTask(n int, dependencies ...string) queue.Task {
	t := queue.Task{
		ID: taskID(n), QueueID: queue.Default, Name: fmt.Sprint("task ", n), Priority: queue.Medium, Type: task.Sequential,
		Dependencies: []string{}, Tags: []string{}, Attempt: 1, MaxAttempts: 1,
		CreatedAt: noon.Add(time.Duration(n) * time.Second),
	}
	t.Dependencies = append(t.Dependencies, dependencies...)
	return t
}

func (b bench) submit(tasks ...queue.Task) (last task.Placed) {
	b.Helper()
	for _, t := range tasks {
		placed, blocked, err := b.tasks.Submit(b.Context(), t, t.CreatedAt)
		noError(b.T, err)
		equal(b.T, blocked, []task.Obstacle(nil))
		last = placed
	}
	return last
}

func (b bench) get(n int) queue.Task {
	b.Helper()
	t, found, err := b.tasks.Get(b.Context(), taskID(n))
	noError(b.T, err)
	if !found {
		b.Fatalf("there is no task %d", n)
	}
	return t
}

func (b bench) states(want ...string) {
	b.Helper()
	var got []string
	for i := range want {
		got = append(got, b.get(i+1).Status)
	}
	equal(b.T, got, want)
}

// start claims a task with its present ticket.
func (b bench) start(n int) queue.Ticket {
	b.Helper()
	ticket := queue.Ticket{TaskID: taskID(n), Turn: b.get(n).Turn}
	if got := b.claim(ticket); got != queue.Claimed {
		b.Fatalf("claiming task %d: %v", n, got)
	}
	return ticket
}

func (b bench) claim(t queue.Ticket) queue.Claim {
	b.Helper()
	_, claim, err := b.ledger.Start(b.Context(), t, worker, noon)
	noError(b.T, err)
	return claim
}

// finish ends a task that runs.
func (b bench) finish(e queue.Ending) bool {
	b.Helper()
	e.EndedAt = noon.Add(time.Hour)
	ok, err := b.ledger.Finish(b.Context(), e)
	noError(b.T, err)
	return ok
}

func (b bench) complete(n int) {
	b.Helper()
	if !b.finish(queue.Ending{Ticket: b.start(n), Status: queue.Completed}) {
		b.Fatalf("task %d could not be completed", n)
	}
}

func (b bench) release(now time.Time) int {
	b.Helper()
	n, err := b.ledger.Release(b.Context(), now)
	noError(b.T, err)
	return n
}

func keepTask(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	plain, full := newTask(1), newTask(2, taskID(1))
	full.Name, full.Description, full.AgentID = "a\x00b", "müssen 任务 '?", "planner"
	full.Input = json.RawMessage(`{"big":123456789012345678901234567890}`)
	full.Priority, full.Type, full.Tags = queue.Background, task.Other, []string{"x", "y\x00"}
	full.MaxAttempts, full.Timeout, full.ScheduledAt = 3, 1500*time.Millisecond, noon.Add(time.Hour)
	b.submit(plain, full)
	plain.Status, plain.Turn, full.Status = queue.Queued, 1, queue.Pending
	equal(t, b.get(1), plain)
	equal(t, b.get(2), full)
	if _, _, err := b.tasks.Submit(t.Context(), newTask(1), noon); err == nil {
		t.Fatal("one id was kept twice")
	}
	if _, found, err := b.tasks.Get(t.Context(), taskID(3)); found || err != nil {
		t.Fatalf("a task that is not there: %v, %v", found, err)
	}
}

func positions(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	urgent := newTask(3)
	urgent.Priority = queue.High
	equal(t, b.submit(newTask(1)), task.Placed{Status: queue.Queued, Position: 1})
	equal(t, b.submit(newTask(2)), task.Placed{Status: queue.Queued, Position: 2})
	equal(t, b.submit(urgent), task.Placed{Status: queue.Queued, Position: 1})
	equal(t, b.submit(newTask(4)), task.Placed{Status: queue.Queued, Position: 4})
	b.start(1)
	equal(t, b.submit(newTask(5)), task.Placed{Status: queue.Queued, Position: 4})
	equal(t, b.submit(newTask(6, taskID(1))), task.Placed{Status: queue.Pending})
}

func listTasks(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	tagged, agents, urgent := newTask(1), newTask(2), newTask(3)
	tagged.Tags = []string{"red", "blue"}
	agents.AgentID, agents.Tags = "planner", []string{"blue"}
	urgent.Priority = queue.Critical
	b.submit(tagged, agents, urgent)
	b.start(3)
	for name, test := range map[string]struct {
		query task.Query
		want  []string
	}{
		"all":        {task.Query{}, []string{taskID(3), taskID(2), taskID(1)}},
		"queue":      {task.Query{QueueID: "another"}, nil},
		"agent":      {task.Query{AgentID: "planner"}, []string{taskID(2)}},
		"status":     {task.Query{Statuses: []string{queue.Running, queue.Failed}}, []string{taskID(3)}},
		"priority":   {task.Query{Priorities: []string{queue.Medium, queue.Low}}, []string{taskID(2), taskID(1)}},
		"any tag":    {task.Query{Tags: []string{"blue", "green"}}, []string{taskID(2), taskID(1)}},
		"everything": {task.Query{Tags: []string{"blue"}, Statuses: []string{queue.Queued}, AgentID: "planner"}, []string{taskID(2)}},
	} {
		test.query.Limit = 10
		page, err := b.tasks.List(t.Context(), test.query)
		noError(t, err)
		var got []string
		for _, found := range page.Tasks {
			got = append(got, found.ID)
		}
		t.Log(name)
		equal(t, got, test.want)
		equal(t, page.Total, len(test.want))
	}
}

func pageTasks(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	var want []string
	for n := 5; n > 0; n-- {
		same := newTask(n)
		same.CreatedAt = noon // so that the id decides
		b.submit(same)
		want = append(want, same.ID)
	}
	var got []string
	query := task.Query{Limit: 2}
	for len(got) < 5 {
		page, err := b.tasks.List(t.Context(), query)
		noError(t, err)
		equal(t, page.Total, 5)
		for _, found := range page.Tasks {
			got = append(got, found.ID)
			query.After = &tools.Position{CreatedAt: found.CreatedAt, ID: found.ID}
		}
	}
	equal(t, got, want)
}

func dependTasks(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1), newTask(2), newTask(3, taskID(1), taskID(2)), newTask(4, taskID(3)))
	b.states(queue.Queued, queue.Queued, queue.Pending, queue.Pending)
	b.complete(2)
	b.states(queue.Queued, queue.Completed, queue.Pending, queue.Pending)
	b.complete(1)
	b.states(queue.Completed, queue.Completed, queue.Queued, queue.Pending)
	b.complete(3)
	b.submit(newTask(5, taskID(1)))
	b.states(queue.Completed, queue.Completed, queue.Completed, queue.Queued, queue.Queued)
}

func failDependents(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1), newTask(2, taskID(1)), newTask(3, taskID(2)), newTask(4))
	b.finish(queue.Ending{Ticket: b.start(1), Status: queue.TimedOut, Error: "slow"})
	b.states(queue.TimedOut, queue.Failed, queue.Failed, queue.Queued)
	equal(t, b.get(2).Error, "its dependency "+taskID(1)+" timed out")
	equal(t, b.get(3).Error, "its dependency "+taskID(2)+" failed")
	if b.get(3).EndedAt.IsZero() {
		t.Fatal("the time of the end is missing")
	}
}

func blockTasks(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1))
	b.finish(queue.Ending{Ticket: b.start(1), Status: queue.Failed})
	_, blocked, err := b.tasks.Submit(t.Context(), newTask(2, taskID(1), taskID(9), taskID(2)), noon)
	noError(t, err)
	equal(t, blocked, []task.Obstacle{{TaskID: taskID(1), Status: queue.Failed}, {TaskID: taskID(9)}, {TaskID: taskID(2)}})
	if _, found, _ := b.tasks.Get(t.Context(), taskID(2)); found {
		t.Fatal("a task was kept that can never run")
	}
}

// submitWhileEnding has tasks end while others that depend on them come in:
// none of these waits for an end that it missed.
func submitWhileEnding(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	const pairs = 20
	for n := range pairs {
		b.submit(newTask(n + 1))
	}
	noError(t, each(2*pairs, func(i int) error {
		n := i/2 + 1
		if i%2 == 0 {
			ticket := queue.Ticket{TaskID: taskID(n), Turn: 1}
			if _, _, err := b.ledger.Start(t.Context(), ticket, worker, noon); err != nil {
				return err
			}
			_, err := b.ledger.Finish(t.Context(), queue.Ending{Ticket: ticket, Status: queue.Completed, EndedAt: noon})
			return err
		}
		_, _, err := b.tasks.Submit(t.Context(), newTask(100+n, taskID(n)), noon)
		return err
	}))
	for n := range pairs {
		equal(t, b.get(101+n).Status, queue.Queued)
	}
}

func scheduleTask(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	later := newTask(1)
	later.ScheduledAt = noon.Add(time.Hour)
	equal(t, b.submit(later), task.Placed{Status: queue.Pending})
	equal(t, b.release(noon.Add(59*time.Minute)), 0)
	b.states(queue.Pending)
	equal(t, b.release(noon.Add(time.Hour)), 1)
	equal(t, b.release(noon.Add(time.Hour)), 0)
	b.states(queue.Queued)
}

func claimAtOnce(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1))
	var claimed atomic.Int32
	noError(t, each(8, func(int) error {
		_, claim, err := b.ledger.Start(t.Context(), queue.Ticket{TaskID: taskID(1), Turn: 1}, worker, noon)
		if claim == queue.Claimed {
			claimed.Add(1)
		}
		return err
	}))
	equal(t, claimed.Load(), int32(1))
	equal(t, b.claim(queue.Ticket{TaskID: taskID(1), Turn: 1}), queue.Stale)
	equal(t, b.claim(queue.Ticket{TaskID: taskID(2), Turn: 1}), queue.Stale)
}

func finishOnce(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1))
	ticket := b.start(1)
	done := queue.Ending{Ticket: ticket, Status: queue.Completed, Output: json.RawMessage(`{"n":1}`)}
	wrong := done
	wrong.Turn++
	if b.finish(wrong) {
		t.Fatal("a wrong ticket ended a task")
	}
	if !b.finish(done) || b.finish(done) {
		t.Fatal("a task has to end once")
	}
	got := b.get(1)
	equal(t, string(got.Output), `{"n":1}`)
	equal(t, got.EndedAt, noon.Add(time.Hour))
	equal(t, got.StartedAt, noon)
}

func failAttempts(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	stubborn := newTask(1)
	stubborn.MaxAttempts = 2
	b.submit(stubborn, newTask(2, taskID(1)))
	failure := queue.Ending{Ticket: b.start(1), Status: queue.Failed, Error: "once", RetryAt: noon.Add(2 * time.Hour)}
	if !b.finish(failure) || b.finish(failure) {
		t.Fatal("an attempt has to fail once")
	}
	got := b.get(1)
	equal(t, got.Attempt, 2)
	equal(t, got.Error, "once")
	b.states(queue.Pending, queue.Pending)
	equal(t, b.release(noon.Add(time.Hour)), 0)
	equal(t, b.release(noon.Add(2*time.Hour)), 1)
	b.finish(queue.Ending{Ticket: b.start(1), Status: queue.Failed, Error: "twice"})
	b.states(queue.Failed, queue.Failed)
}
