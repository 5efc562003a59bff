package storagetest

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/storage/queue"
	"github.com/toolfold/toolfold/tools/task"
)

// Task returns the tests of the store of the task family, and of the workers' ledger.
func Task() Suite {
	return Suite{
		Name: "task",
		Behaviours: map[string]func(*testing.T, *storage.DB){
			"keep":                       keepTask,
			"queue of calls":             addQueue,
			"position":                   positions,
			"list":                       listTasks,
			"list pages":                 pageTasks,
			"list with input and output": listWhole,
			"dependencies":               dependTasks,
			"dependencies that fail":     failDependents,
			"dependencies that block":    blockTasks,
			"dependencies end while tasks are submitted": submitWhileEnding,
			"recurring":              repeatTask,
			"prune":                  pruneTasks,
			"scheduled":              scheduleTask,
			"too many open":          fillWorkspace,
			"cancel":                 cancelTasks,
			"cancel a running one":   cancelRunning,
			"cancel many":            cancelMany,
			"key":                    keepOneOfKey,
			"retry":                  retryTask,
			"retry in its workspace": adoptTask,
			"steps":                  keepSteps,
			"questions":              keepQuestions,
			"inquiries":              listInquiries,
			"ids that cannot be":     refuseIDs,
			"worked":                 workedWorkspace,
			"claim at once":          claimAtOnce,
			"claim by priority":      claimInOrder,
			"claim up to the limit":  claimWithLimit,
			"claim in its workspace": claimInWorkspace,
			"finish once":            finishOnce,
			"attempts":               failAttempts,
			"lease":                  loseLease,
			"rescue too often":       rescueTooOften,
			"leave":                  leaveTasks,
			"give back":              giveBack,
			"wake":                   wakeWorkspace,
		},
	}
}

// bench is a store with its default queue and a worker.
type bench struct {
	*testing.T
	tasks  task.Store
	ledger queue.Ledger
}

// The worker of the tests, and its workspace.
const (
	worker = "worker"
	place  = "vm:/höme/shop"
)

// long is a lease that does not expire during a test.
const long = time.Hour

func newBench(t *testing.T, db *storage.DB) bench {
	t.Helper()
	ledger, _, err := db.Work()
	noError(t, err)
	noError(t, ledger.Enter(t.Context(), worker, place, long))
	return bench{t, db.Task(), ledger}
}

func taskID(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// newTask returns a task submitted n seconds after noon.
func newTask(n int, dependencies ...string) task.Task {
	t := task.Task{
		ID: taskID(n), QueueID: task.DefaultQueue, Name: fmt.Sprint("task ", n), Priority: task.Medium, Type: task.Sequential,
		Dependencies: []string{}, Tags: []string{}, Attempt: 1, MaxAttempts: 1, MaxInterruptions: 5, Workspace: place,
		CreatedAt: noon.Add(time.Duration(n) * time.Second),
	}
	t.Dependencies = append(t.Dependencies, dependencies...)
	return t
}

// maxOpen is the limit of open tasks in tests.
const maxOpen = 1000

func (b bench) submit(tasks ...task.Task) (last task.Submission) {
	b.Helper()
	for _, t := range tasks {
		submission, err := b.tasks.Submit(b.Context(), t, t.CreatedAt, maxOpen)
		noError(b.T, err)
		if submission.Status == "" {
			b.Fatalf("submitting %s: %+v", t.Name, submission)
		}
		last = submission
	}
	return last
}

func (b bench) get(n int) task.Task {
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

// start claims a task, which must be the next one of its workspace.
func (b bench) start(n int) queue.Run {
	b.Helper()
	run, found := b.claim()
	if !found || run.TaskID != taskID(n) {
		b.Fatalf("claimed %v, want task %d", run, n)
	}
	return run
}

func (b bench) claim() (run queue.Run, found bool) {
	b.Helper()
	claimed, err := b.ledger.Claim(b.Context(), worker, place, 1, noon)
	noError(b.T, err)
	if len(claimed) == 0 {
		return run, false
	}
	return queue.Run{TaskID: claimed[0].ID, Turn: claimed[0].Turn}, true
}

// finish ends a running task.
func (b bench) finish(e queue.Ending) bool {
	b.Helper()
	e.EndedAt = noon.Add(time.Hour)
	ok, err := b.ledger.Finish(b.Context(), e)
	noError(b.T, err)
	return ok
}

func (b bench) complete(n int) {
	b.Helper()
	if !b.finish(queue.Ending{Run: b.start(n), Status: task.Completed}) {
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
	full.Name, full.Description, full.AgentID, full.WorkflowID = "a\x00b", "müssen 任务 '?", "planner", "deploy"
	full.Key = "nightly\x00"
	full.Input = json.RawMessage(`{"big":123456789012345678901234567890}`)
	full.Priority, full.Type, full.Tags = task.Background, task.Other, []string{"x", "y\x00"}
	full.MaxAttempts, full.Timeout, full.ScheduledAt = 3, 1500*time.Millisecond, noon.Add(time.Hour)
	full.NextAt = full.ScheduledAt
	full.Workspace, full.Definition, full.Rights, full.Depth = "a\x00\xff", "digest", `{"deny":["*.clear"]}`, 4
	full.Sessions = []string{sessionID(1), sessionID(2)}
	b.submit(plain, full)
	plain.Status, full.Status, full.InputBytes = task.Queued, task.Pending, len(full.Input)
	equal(t, b.get(1), plain)
	equal(t, b.get(2), full)
	if _, err := b.tasks.Submit(t.Context(), newTask(1), noon, maxOpen); err == nil {
		t.Fatal("one id was kept twice")
	}
	if _, found, err := b.tasks.Get(t.Context(), taskID(3)); found || err != nil {
		t.Fatalf("a task that is not there: %v, %v", found, err)
	}
	nowhere := newTask(3)
	nowhere.QueueID = "nowhere"
	submission, err := b.tasks.Submit(t.Context(), nowhere, noon, maxOpen)
	noError(t, err)
	equal(t, submission, task.Submission{})
}

// A queue of calls is created once, and has room even if the other queues are full.
func addQueue(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	for range 2 {
		noError(t, b.tasks.AddQueue(t.Context(), "calls", noon))
	}
	id, found, err := b.tasks.QueueID(t.Context(), "calls")
	noError(t, err)
	equal(t, []any{id, found}, []any{"calls", true})
	call := newTask(1)
	call.QueueID, call.Priority = "calls", ""
	b.submit(call)
	equal(t, b.get(1).QueueID, "calls")
	equal(t, b.get(1).Priority, task.High)
	claimed, err := b.ledger.Claim(t.Context(), worker, place, 1, noon)
	noError(t, err)
	equal(t, len(claimed), 1)
}

func positions(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	urgent, elsewhere := newTask(3), newTask(7)
	urgent.Priority, elsewhere.Workspace = task.High, "elsewhere"
	queued := func(position int) task.Submission {
		return task.Submission{QueueID: task.DefaultQueue, Status: task.Queued, Position: position}
	}
	equal(t, b.submit(newTask(1)), queued(1))
	equal(t, b.submit(newTask(2)), queued(2))
	equal(t, b.submit(urgent), queued(1))
	equal(t, b.submit(newTask(4)), queued(4))
	b.start(3)
	equal(t, b.submit(newTask(5)), queued(4))
	equal(t, b.submit(newTask(6, taskID(1))), task.Submission{QueueID: task.DefaultQueue, Status: task.Pending})
	equal(t, b.submit(elsewhere), queued(1))
}

// fillWorkspace checks that the limit of open tasks applies to each workspace.
func fillWorkspace(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1), newTask(2, taskID(1)))
	elsewhere := newTask(3)
	elsewhere.Workspace = "elsewhere"
	for _, c := range []struct {
		submitted task.Task
		full      bool
	}{{newTask(4), true}, {elsewhere, false}} {
		submission, err := b.tasks.Submit(t.Context(), c.submitted, noon, 2)
		noError(t, err)
		equal(t, submission.Full, c.full)
	}
	if _, found, _ := b.tasks.Get(t.Context(), taskID(4)); found {
		t.Fatal("a task was kept that was refused")
	}
	b.complete(1)
	submission, err := b.tasks.Submit(t.Context(), newTask(4), noon, 2)
	noError(t, err)
	equal(t, submission.Full, false)
}

// listWhole checks that a list has inputs and outputs only on request, and always their sizes.
func listWhole(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	submitted := newTask(1)
	submitted.Input = json.RawMessage(`{"n":1}`)
	b.submit(submitted)
	b.finish(queue.Ending{Run: b.start(1), Status: task.Completed, Output: json.RawMessage(`{"m":22}`)})
	for _, q := range []task.Query{{}, {Input: true}, {Output: true}} {
		q.Limit = 1
		page, err := b.tasks.List(t.Context(), q)
		noError(t, err)
		got := page.Tasks[0]
		equal(t, []int{got.InputBytes, got.OutputBytes}, []int{7, 8})
		equal(t, []bool{got.Input != nil, got.Output != nil}, []bool{q.Input, q.Output})
	}
}

func listTasks(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	tagged, agents, urgent := newTask(1), newTask(2), newTask(3)
	tagged.Tags = []string{"red", "blue"}
	agents.AgentID, agents.Tags = "planner", []string{"blue"}
	urgent.Priority = task.Critical
	b.submit(tagged, agents, urgent)
	b.start(3)
	for name, test := range map[string]struct {
		query task.Query
		want  []string
	}{
		"all":        {task.Query{}, []string{taskID(3), taskID(2), taskID(1)}},
		"queue":      {task.Query{QueueID: "another"}, nil},
		"agent":      {task.Query{AgentID: "planner"}, []string{taskID(2)}},
		"status":     {task.Query{Statuses: []string{task.Running, task.Failed}}, []string{taskID(3)}},
		"priority":   {task.Query{Priorities: []string{task.Medium, task.Low}}, []string{taskID(2), taskID(1)}},
		"any tag":    {task.Query{Tags: []string{"blue", "green"}}, []string{taskID(2), taskID(1)}},
		"everything": {task.Query{Tags: []string{"blue"}, Statuses: []string{task.Queued}, AgentID: "planner"}, []string{taskID(2)}},
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
			query.After = &toolfold.Position{CreatedAt: found.CreatedAt, ID: found.ID}
		}
	}
	equal(t, got, want)
}

func dependTasks(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1), newTask(2), newTask(3, taskID(1), taskID(2)), newTask(4, taskID(3)))
	b.states(task.Queued, task.Queued, task.Pending, task.Pending)
	b.complete(1)
	b.states(task.Completed, task.Queued, task.Pending, task.Pending)
	b.complete(2)
	b.states(task.Completed, task.Completed, task.Queued, task.Pending)
	b.complete(3)
	b.submit(newTask(5, taskID(1)))
	b.states(task.Completed, task.Completed, task.Completed, task.Queued, task.Queued)
}

func failDependents(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1), newTask(2, taskID(1)), newTask(3, taskID(2)), newTask(4))
	b.finish(queue.Ending{Run: b.start(1), Status: task.TimedOut, Error: "slow"})
	b.states(task.TimedOut, task.Failed, task.Failed, task.Queued)
	equal(t, b.get(2).Error, "its dependency "+taskID(1)+" timed out")
	equal(t, b.get(3).Error, "its dependency "+taskID(2)+" failed")
	if b.get(3).EndedAt.IsZero() {
		t.Fatal("the time of the end is missing")
	}
}

func blockTasks(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1))
	b.finish(queue.Ending{Run: b.start(1), Status: task.Failed})
	submission, err := b.tasks.Submit(t.Context(), newTask(2, taskID(1), taskID(9), taskID(2)), noon, maxOpen)
	noError(t, err)
	equal(t, submission.Blocked, []task.Obstacle{{TaskID: taskID(1), Status: task.Failed}, {TaskID: taskID(9)}, {TaskID: taskID(2)}})
	if _, found, _ := b.tasks.Get(t.Context(), taskID(2)); found {
		t.Fatal("a task was kept that can never run")
	}
}

// submitWhileEnding ends tasks while dependent tasks are submitted: none of these waits for an end
// that it missed.
func submitWhileEnding(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	const pairs = 20
	for n := range pairs {
		b.submit(newTask(n + 1))
	}
	noError(t, each(2*pairs, func(i int) error {
		if i%2 == 1 {
			_, err := b.tasks.Submit(t.Context(), newTask(101+i/2, taskID(i/2+1)), noon, maxOpen)
			return err
		}
		for { // other calls may fill
			claimed, err := b.ledger.Claim(t.Context(), worker, place, 1, noon)
			if err != nil {
				return err
			}
			if len(claimed) > 0 {
				run := queue.Run{TaskID: claimed[0].ID, Turn: claimed[0].Turn}
				_, err = b.ledger.Finish(t.Context(), queue.Ending{Run: run, Status: task.Completed, EndedAt: noon})
				return err
			}
		}
	}))
	for n := range pairs {
		if got := b.get(101 + n).Status; got == task.Pending && b.get(n+1).Status == task.Completed {
			t.Errorf("task %d waits for one that has completed", 101+n)
		}
	}
}

func scheduleTask(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	later := newTask(1)
	later.ScheduledAt = noon.Add(time.Hour)
	equal(t, b.submit(later), task.Submission{QueueID: task.DefaultQueue, Status: task.Pending})
	equal(t, b.release(noon.Add(59*time.Minute)), 0)
	b.states(task.Pending)
	equal(t, b.release(noon.Add(time.Hour)), 1)
	equal(t, b.release(noon.Add(time.Hour)), 0)
	b.states(task.Queued)
}

func claimAtOnce(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1))
	var claimed atomic.Int32
	noError(t, each(8, func(int) error {
		list, err := b.ledger.Claim(t.Context(), worker, place, 3, noon)
		claimed.Add(int32(len(list)))
		return err
	}))
	equal(t, claimed.Load(), int32(1))
}

// claimInOrder claims by priority, then by age, over all queues.
func claimInOrder(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	_, err := db.Queue().Create(t.Context(), newQueue(7), 100)
	noError(t, err)
	for n, priority := range []string{task.Background, task.Low, task.Medium, task.Critical, task.Low} {
		submitted := newTask(n + 1)
		submitted.Priority = priority
		if n%2 == 0 {
			submitted.QueueID = taskID(7)
		}
		b.submit(submitted)
	}
	for _, n := range []int{4, 3, 2, 5, 1} {
		b.start(n)
	}
	if run, found := b.claim(); found {
		t.Fatalf("claimed %v of nothing", run)
	}
}

// claimWithLimit checks that the workers of a workspace share the limit of a queue, also when they
// claim at once.
func claimWithLimit(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	noError(t, b.ledger.Enter(t.Context(), "another", place, long))
	_, err := db.Queue().Create(t.Context(), newQueue(2), 100)
	noError(t, err)
	for n := range 8 {
		submitted := newTask(n + 1)
		submitted.QueueID = taskID(2)
		b.submit(submitted)
	}
	var claimed atomic.Int32
	noError(t, each(8, func(i int) error {
		list, err := b.ledger.Claim(t.Context(), []string{worker, "another"}[i%2], place, 1+i%3, noon)
		claimed.Add(int32(len(list)))
		return err
	}))
	equal(t, claimed.Load(), int32(2))
}

// claimInWorkspace checks that a worker gets only tasks of its workspace, and that tasks of other
// workspaces do not use its room.
func claimInWorkspace(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	noError(t, b.ledger.Enter(t.Context(), "another", "elsewhere", long))
	_, err := db.Queue().Create(t.Context(), newQueue(1), 100)
	noError(t, err)
	here, there := newTask(2), newTask(1)
	there.Workspace = "elsewhere"
	here.QueueID, there.QueueID = taskID(1), taskID(1)
	b.submit(there, here)
	b.start(2)
	got, err := b.ledger.Claim(t.Context(), "another", "elsewhere", 9, noon)
	noError(t, err)
	if len(got) != 1 || got[0].ID != taskID(1) || got[0].Workspace != "elsewhere" {
		t.Fatalf("claimed %v", got)
	}
}

func finishOnce(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1))
	done := queue.Ending{Run: b.start(1), Status: task.Completed, Output: json.RawMessage(`{"n":1}`)}
	wrong := done
	wrong.Turn++
	if b.finish(wrong) {
		t.Fatal("a wrong turn ended a task")
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
	failure := queue.Ending{Run: b.start(1), Status: task.Failed, Error: "once", RetryAt: noon.Add(2 * time.Hour)}
	if !b.finish(failure) || b.finish(failure) {
		t.Fatal("an attempt has to fail once")
	}
	got := b.get(1)
	equal(t, got.Attempt, 2)
	equal(t, got.Error, "once")
	b.states(task.Pending, task.Pending)
	equal(t, b.release(noon.Add(time.Hour)), 0)
	equal(t, b.release(noon.Add(2*time.Hour)), 1)
	b.finish(queue.Ending{Run: b.start(1), Status: task.Failed, Error: "twice"})
	b.states(task.Failed, task.Failed)
}

// keepOneOfKey checks that a workspace has one open task per key, also with concurrent callers.
func keepOneOfKey(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	keyed := func(n int) task.Task {
		t := newTask(n)
		t.Key = "nightly"
		return t
	}
	var count atomic.Int32
	noError(t, each(8, func(i int) error {
		submission, err := b.tasks.Submit(t.Context(), keyed(i+1), noon, maxOpen)
		if submission.Existing == "" {
			count.Add(1)
		}
		return err
	}))
	equal(t, count.Load(), int32(1))
	page, err := b.tasks.List(t.Context(), task.Query{Limit: 9})
	noError(t, err)
	equal(t, page.Total, 1)
	first := page.Tasks[0]
	submission, err := b.tasks.Submit(t.Context(), keyed(20), noon, maxOpen)
	noError(t, err)
	equal(t, submission, task.Submission{QueueID: task.DefaultQueue, Status: task.Queued, Existing: first.ID, CreatedAt: first.CreatedAt})

	elsewhere := keyed(21)
	elsewhere.Workspace = "vm:/other"
	equal(t, b.submit(elsewhere).Existing, "")

	_, _, err = b.tasks.Cancel(t.Context(), task.Cancellation{TaskID: first.ID, Reason: "r", At: noon})
	noError(t, err)
	equal(t, b.submit(keyed(22)).Existing, "")
	_, blocked, err := b.tasks.Retry(t.Context(), task.Retrial{TaskID: first.ID, At: noon})
	noError(t, err)
	equal(t, blocked, []task.Obstacle{{TaskID: taskID(22), Status: task.Queued, Key: true}})
}

// recurring returns a task that is due at each full minute, starting one minute after noon.
func recurring(n int) task.Task {
	t := newTask(n)
	t.Schedule, t.NextAt, t.Tags, t.Key = "* * * * *", noon.Truncate(time.Minute).Add(time.Minute), []string{"again"}, "once"
	return t
}

// repeatTask checks that each time of a schedule is released once, by any caller. Times at which
// the previous run has not ended are skipped.
func repeatTask(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	noon := noon.Truncate(time.Minute)
	b.submit(recurring(1))
	runs := func() (list []task.Task) {
		page, err := b.tasks.List(t.Context(), task.Query{Tags: []string{"again"}, Limit: 9})
		noError(t, err)
		for _, run := range page.Tasks {
			if run.ScheduleID == taskID(1) {
				list = append(list, run)
			}
		}
		return list
	}
	release := func(now time.Time) {
		t.Helper()
		noError(t, each(6, func(int) error { _, err := b.ledger.Release(t.Context(), now); return err }))
	}
	release(noon.Add(59 * time.Second))
	equal(t, len(runs()), 0)

	release(noon.Add(61 * time.Second))
	equal(t, len(runs()), 1)
	first := runs()[0]
	equal(t, []any{first.Status, first.ScheduledAt, first.Key, first.Schedule, first.MaxInterruptions},
		[]any{task.Queued, noon.Add(time.Minute), "", "", 5})
	equal(t, []any{b.get(1).Status, b.get(1).NextAt}, []any{task.Pending, noon.Add(2 * time.Minute)})

	release(noon.Add(2*time.Minute + time.Second)) // the first run has not ended
	equal(t, len(runs()), 1)
	equal(t, b.get(1).NextAt, noon.Add(3*time.Minute))

	claimed, err := b.ledger.Claim(t.Context(), worker, place, 9, noon)
	noError(t, err)
	equal(t, len(claimed), 1) // the schedule itself does not run
	_, err = b.ledger.Finish(t.Context(), queue.Ending{Run: queue.Run{TaskID: first.ID, Turn: 1}, Status: task.Failed, EndedAt: noon})
	noError(t, err)
	release(noon.Add(time.Hour + time.Second)) // after all processes paused
	equal(t, len(runs()), 2)
	equal(t, b.get(1).NextAt, noon.Add(time.Hour+time.Minute))

	submission, err := b.tasks.Submit(t.Context(), newTask(2, taskID(1)), noon, maxOpen)
	noError(t, err)
	equal(t, submission.Blocked, []task.Obstacle{{TaskID: taskID(1), Status: task.Pending, Schedule: true}})

	_, _, err = b.tasks.Cancel(t.Context(), task.Cancellation{TaskID: taskID(1), Reason: "r", At: noon})
	noError(t, err)
	release(noon.Add(3 * time.Hour))
	equal(t, len(runs()), 2)
	retried, _, err := b.tasks.Retry(t.Context(), task.Retrial{TaskID: taskID(1), At: noon.Add(4 * time.Hour)})
	noError(t, err)
	equal(t, []any{retried.Status, retried.NextAt}, []any{task.Pending, noon.Add(4*time.Hour + time.Minute)})
}

// pruneTasks checks that old ended tasks are removed, and no task that is still needed.
func pruneTasks(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	tagged := newTask(1)
	tagged.Tags = []string{"x"}
	b.submit(tagged, newTask(2), newTask(3, taskID(2)), newTask(4), newTask(5, taskID(1)))
	for n, at := range map[int]time.Time{1: noon, 2: noon, 4: noon.Add(2 * time.Hour)} {
		_, _, err := b.tasks.Cancel(t.Context(), task.Cancellation{TaskID: taskID(n), Reason: "r", At: at})
		noError(t, err)
	}
	// 3 and 5 ended with their dependencies; a retry would open 3 again.
	open := newTask(6)
	b.submit(open)
	b.finish(queue.Ending{Run: b.start(6), Status: task.Completed})
	b.submit(newTask(7, taskID(6)))
	for _, want := range []int{4, 0} {
		n, err := b.ledger.Prune(t.Context(), noon.Add(time.Hour))
		noError(t, err)
		equal(t, n, want)
	}
	left := []string{}
	page, err := b.tasks.List(t.Context(), task.Query{Limit: 9})
	noError(t, err)
	for _, item := range page.Tasks {
		left = append(left, item.Name)
	}
	equal(t, left, []string{"task 7", "task 6", "task 4"})
	n, err := b.ledger.Prune(t.Context(), noon.Add(1000*time.Hour))
	noError(t, err)
	equal(t, n, 1) // 7 depends on 6
}
