package storagetest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/storage/queue"
	"github.com/toolfold/toolfold/tools/session"
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
	equal(t, b.cancel(1, false), task.Queued)
	b.states(task.Cancelled, task.Failed)
	equal(t, b.get(1).Error, "enough")
	equal(t, b.get(1).EndedAt, noon)
	equal(t, b.get(2).Error, "its dependency "+taskID(1)+" was cancelled")
	equal(t, b.cancel(1, false), task.Cancelled)
	if run, found := b.claim(); found {
		t.Fatalf("claimed %v, which has ended", run)
	}
	_, found, err := b.tasks.Cancel(t.Context(), task.Cancellation{TaskID: taskID(9), At: noon})
	if found || err != nil {
		t.Fatalf("a task that is not there: %v, %v", found, err)
	}
}

// Many tasks are cancelled at once: waiting tasks end and running tasks are asked to stop. Schedules
// and other workspaces are not affected. A task is cancelled, not failed, even if its dependency is
// cancelled too.
func cancelMany(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1), newTask(2, taskID(1)), newTask(3))
	other, schedule := newTask(4), newTask(5)
	other.Workspace = "elsewhere"
	schedule.Schedule, schedule.NextAt = "@every 90m", noon.Add(time.Hour)
	b.submit(other, schedule)
	run := b.start(1)
	here := newTask(1).Workspace
	for _, test := range []struct {
		q    task.Query
		want []string
	}{
		{task.Query{Workspace: &here}, []string{taskID(3), taskID(2), taskID(1)}},
		{task.Query{Workspace: &here, Statuses: []string{task.Running}}, []string{taskID(1)}},
		{task.Query{Workspace: &here, Tags: []string{"nowhere"}}, []string{}},
	} {
		ids, err := b.tasks.Open(t.Context(), test.q)
		noError(t, err)
		slices.Sort(ids)
		slices.Sort(test.want)
		equal(t, ids, test.want)
	}
	ids := []string{taskID(3), taskID(2), taskID(1)}
	noError(t, b.tasks.CancelAll(t.Context(), ids, task.Cancellation{Reason: "storm", At: noon}))
	b.states(task.Running, task.Cancelled, task.Cancelled, task.Queued, task.Pending)
	equal(t, b.get(2).Error, "storm")
	states, err := b.tasks.States(t.Context(), ids)
	noError(t, err)
	equal(t, states, map[string]int{task.Running: 1, task.Cancelled: 2})
	b.finish(queue.Ending{Run: run, Status: task.Failed, Error: "stopped", RetryAt: noon})
	b.states(task.Cancelled, task.Cancelled, task.Cancelled, task.Queued, task.Pending)
	ids, err = b.tasks.Open(t.Context(), task.Query{Workspace: &here})
	noError(t, err)
	equal(t, len(ids), 0)
	noError(t, b.tasks.CancelAll(t.Context(), []string{taskID(1), taskID(4)}, task.Cancellation{Reason: "by force", Force: true, At: noon}))
	equal(t, []string{b.get(1).Error, b.get(4).Error}, []string{"storm", "by force"})
}

func cancelRunning(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1), newTask(2), newTask(3), newTask(4))
	stopped, forced, fast, retried := b.start(1), b.start(2), b.start(3), b.start(4)
	for n := range 4 {
		equal(t, b.cancel(n+1, n == 1), task.Running)
	}
	b.states(task.Running, task.Cancelled, task.Running, task.Running)
	held, err := b.ledger.Held(t.Context(), worker)
	noError(t, err)
	equal(t, len(held), 3)
	for _, h := range held {
		equal(t, h.Cancelled, true)
	}
	if b.finish(queue.Ending{Run: forced, Status: task.Completed}) {
		t.Fatal("a task ended after it was cancelled by force")
	}
	b.finish(queue.Ending{Run: stopped, Status: task.Failed, Error: "stopped"})
	b.finish(queue.Ending{Run: fast, Status: task.Completed})
	b.finish(queue.Ending{Run: retried, Status: task.Failed, RetryAt: noon})
	b.states(task.Cancelled, task.Cancelled, task.Completed, task.Cancelled)
	equal(t, b.get(1).Error, "enough")
}

func retryTask(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	retry := func(n int, reset bool) (task.Task, []task.Obstacle) {
		got, blocked, err := b.tasks.Retry(t.Context(), task.Retrial{TaskID: taskID(n), Reset: reset, At: noon})
		noError(t, err)
		return got, blocked
	}
	b.submit(newTask(1), newTask(2, taskID(1)))
	old := b.start(1)
	b.cancel(1, true)
	_, blocked := retry(2, false)
	equal(t, blocked, []task.Obstacle{{TaskID: taskID(1), Status: task.Cancelled}})
	b.states(task.Cancelled, task.Failed)

	got, _ := retry(1, false)
	equal(t, got.Status, task.Queued)
	equal(t, b.get(1).Attempt, 2)
	if b.finish(queue.Ending{Run: old, Status: task.Completed}) {
		t.Fatal("the run that was cancelled ended the new attempt")
	}
	retry(2, false)
	b.states(task.Queued, task.Pending)
	equal(t, b.get(2).Error, "")
	b.complete(1)
	b.states(task.Completed, task.Queued)

	retry(1, false)
	b.cancel(2, false)
	retry(2, true)
	equal(t, b.get(2).Attempt, 1)
	b.states(task.Completed, task.Queued)
}

// rescued waits until a lease has expired by the database's clock, and returns the number of tasks
// taken over.
func (b bench) rescued() int {
	b.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		n, err := b.ledger.Rescue(b.Context(), noon, 2*long)
		noError(b.T, err)
		if n > 0 {
			return n
		}
	}
	b.Fatal("no task was rescued")
	return 0
}

func loseLease(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1), newTask(2), newTask(3))
	lost := b.start(1)
	b.start(2)
	b.cancel(2, false)
	n, err := b.ledger.Rescue(t.Context(), noon, 2*long)
	noError(t, err)
	equal(t, n, 0)
	noError(t, b.ledger.Enter(t.Context(), worker, place, 0))
	equal(t, b.rescued(), 2)
	b.states(task.Queued, task.Cancelled, task.Queued)

	alive, err := b.ledger.Renew(t.Context(), worker, long)
	noError(t, err)
	equal(t, alive, false)
	if b.finish(queue.Ending{Run: lost, Status: task.Completed}) {
		t.Fatal("a worker without lease ended a task that was given to another")
	}
	if run, found := b.claim(); found {
		t.Fatalf("a worker without lease claimed %v", run)
	}
	noError(t, b.ledger.Enter(t.Context(), worker, place, long))
	b.complete(1)
	equal(t, b.get(1).Attempt, 1)
	equal(t, b.get(1).Interruptions, 1)
}

func rescueTooOften(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1), newTask(2, taskID(1)))
	for b.get(1).Status == task.Queued {
		noError(t, b.ledger.Enter(t.Context(), worker, place, long))
		b.start(1)
		noError(t, b.ledger.Enter(t.Context(), worker, place, 0))
		b.rescued()
	}
	b.states(task.Failed, task.Failed)
	equal(t, strings.Contains(b.get(1).Error, "maxInterruptions"), true)
	equal(t, b.get(1).Interruptions, 6)

	// Tasks that a worker gives back count as interrupted too.
	fragile := newTask(3)
	fragile.MaxInterruptions = 0
	b.submit(fragile)
	noError(t, b.ledger.Enter(t.Context(), worker, place, long))
	b.start(3)
	noError(t, b.ledger.Leave(t.Context(), worker, noon))
	b.states(task.Failed, task.Failed, task.Failed)
}

func leaveTasks(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	noError(t, b.ledger.Enter(t.Context(), "another", place, long))
	b.submit(newTask(1), newTask(2), newTask(3))
	b.start(1)
	b.start(2)
	b.cancel(2, false)
	claimed, err := b.ledger.Claim(t.Context(), "another", place, 1, noon)
	noError(t, err)
	equal(t, len(claimed), 1)
	noError(t, b.ledger.Leave(t.Context(), worker, noon))
	b.states(task.Queued, task.Cancelled, task.Running)
}

func giveBack(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1), newTask(2), newTask(3))
	runs := []queue.Run{b.start(1), b.start(2), {TaskID: taskID(3), Turn: 1}}
	b.cancel(2, false)
	n, err := b.ledger.GiveBack(t.Context(), "another", runs, noon)
	noError(t, err)
	equal(t, n, 0)
	n, err = b.ledger.GiveBack(t.Context(), worker, runs, noon)
	noError(t, err)
	equal(t, n, 2)
	b.states(task.Queued, task.Cancelled, task.Queued)
	equal(t, []int{b.get(1).Interruptions, b.get(3).Interruptions}, []int{1, 0})
	again := b.start(1)
	equal(t, again.Turn, 2)
}

// wakeWorkspace checks the number of tasks that can start, limited by the room of their queue.
func wakeWorkspace(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	wake := func(workspace string) int {
		n, err := b.ledger.Wake(t.Context(), worker, workspace)
		noError(t, err)
		return n
	}
	equal(t, wake(place), 0)
	for n := range 10 {
		b.submit(newTask(n + 1))
	}
	equal(t, wake(place), work.DefaultConcurrency)
	equal(t, wake("elsewhere"), 0)
	b.start(1)
	equal(t, wake(place), work.DefaultConcurrency-1)
	_, _, err := db.Queue().SetPaused(t.Context(), task.DefaultQueue, true)
	noError(t, err)
	equal(t, wake(place), 0)
}

// workedWorkspace checks that only workspaces with a lease are reported as worked.
func workedWorkspace(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	for workspace, want := range map[string]bool{place: true, "elsewhere": false, "": false} {
		worked, err := b.tasks.Worked(t.Context(), workspace)
		noError(t, err)
		equal(t, worked, want)
	}
	noError(t, b.ledger.Leave(t.Context(), worker, noon))
	worked, err := b.tasks.Worked(t.Context(), place)
	noError(t, err)
	equal(t, worked, false)
}

// adoptTask checks that a retry sets the workspace, and moves a task whose queue is gone.
func adoptTask(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	_, err := db.Queue().Create(t.Context(), newQueue(7), 100)
	noError(t, err)
	lost := newTask(1)
	lost.Workspace, lost.QueueID = "", taskID(7)
	b.submit(lost)
	b.cancel(1, false)
	_, open, _, err := db.Queue().Remove(t.Context(), taskID(7))
	noError(t, err)
	equal(t, open, 0)
	got, _, err := b.tasks.Retry(t.Context(), task.Retrial{TaskID: taskID(1), At: noon, Workspace: place, Definition: "new"})
	noError(t, err)
	equal(t, []string{got.Workspace, got.Definition, got.QueueID, got.Status}, []string{place, "new", task.DefaultQueue, task.Queued})
	b.complete(1)
}

// keepSteps checks that only the present run of a task records steps, until the task completes.
// Each step replaces the steps below it. A retry forgets the steps that had begun.
func keepSteps(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1))
	keep := func(run queue.Run, path, record string, want bool) {
		t.Helper()
		s := queue.Step{Path: path}
		if record != "" {
			s.Record = json.RawMessage(record)
		}
		saved, err := b.ledger.KeepSteps(t.Context(), run, s)
		noError(t, err)
		equal(t, saved, want)
	}
	steps := func(want ...string) {
		t.Helper()
		list, err := b.ledger.Steps(t.Context(), taskID(1))
		noError(t, err)
		got := []string{}
		for _, s := range list {
			got = append(got, s.Path+string(s.Record))
		}
		slices.Sort(got)
		equal(t, got, append([]string{}, want...))
	}
	run := b.start(1)
	keep(run, "/l/0/a\x00", `{"n":1}`, true)
	keep(run, "/l/1/a", "", true)
	keep(run, "/l-2", `{"n":2}`, true)
	keep(queue.Run{TaskID: run.TaskID, Turn: run.Turn + 1}, "/x", `{}`, false)
	steps(`/l-2{"n":2}`, "/l/0/a\x00"+`{"n":1}`, "/l/1/a")
	noError(t, b.ledger.DropStep(t.Context(), run, "/l/0/a\x00"))
	noError(t, b.ledger.Define(t.Context(), run, `{"agent a":{}}`))
	b.finish(queue.Ending{Run: run, Status: task.Failed, Recorded: true})
	keep(run, "/l/2/a", `{}`, false)
	steps(`/l-2{"n":2}`, "/l/1/a")
	got, _, err := b.tasks.Retry(t.Context(), task.Retrial{TaskID: taskID(1), At: noon})
	noError(t, err)
	equal(t, got.Definition, `{"agent a":{}}`)
	steps(`/l-2{"n":2}`)

	// With outcomes it settles only their steps, with the begun steps below them.
	resume := func(outcomes map[string]json.RawMessage, blocked ...task.Obstacle) {
		t.Helper()
		_, got, err := b.tasks.Retry(t.Context(), task.Retrial{TaskID: taskID(1), At: noon, Outcomes: outcomes})
		noError(t, err)
		equal(t, got, blocked)
	}
	run = b.start(1)
	for _, path := range []string{"/1", "/1/a", "/2", "/2/a", "/3", "/30"} {
		keep(run, path, "", true)
	}
	keep(run, "/2/b", `{"b":1}`, true)
	resume(map[string]json.RawMessage{"/1": []byte(`{}`)}, task.Obstacle{TaskID: taskID(1), Status: task.Running})
	b.finish(queue.Ending{Run: run, Status: task.Failed, Recorded: true})
	resume(map[string]json.RawMessage{"/1": []byte(`{"n":1}`), "/2": nil, "/l-2": []byte(`{"n":3}`), "/4": []byte(`{}`)})
	steps(`/1{"n":1}`, `/2/b{"b":1}`, "/3", "/30", `/l-2{"n":2}`)
	run = b.start(1)
	b.finish(queue.Ending{Run: run, Status: task.Failed, Recorded: true})
	resume(map[string]json.RawMessage{"/3": nil})
	steps(`/1{"n":1}`, `/2/b{"b":1}`, "/30", `/l-2{"n":2}`)

	run = b.start(1)
	keep(run, "/1", `{}`, true)
	keep(run, "/2", `{}`, true)
	b.finish(queue.Ending{Run: run, Status: task.Failed, Recorded: true})
	_, _, err = b.tasks.Retry(t.Context(), task.Retrial{TaskID: taskID(1), At: noon})
	noError(t, err)
	steps(`/1{}`, `/2{}`, `/l-2{"n":2}`)
	run = b.start(1)
	keep(run, "/l/1/a", `{}`, true)
	keep(run, "/l", `[]`, true)
	steps(`/1{}`, `/2{}`, `/l-2{"n":2}`, `/l[]`)
	b.finish(queue.Ending{Run: run, Status: task.Completed, Recorded: true})
	steps()
}

// refuseIDs checks that an id with characters that PostgreSQL refuses is the caller's mistake on
// both databases.
func refuseIDs(t *testing.T, db *storage.DB) {
	for _, id := range []string{"a\x00b", "a\xffb"} {
		_, _, getErr := db.Task().Get(t.Context(), id)
		_, _, pauseErr := db.Queue().SetPaused(t.Context(), id, true)
		_, listErr := db.Task().List(t.Context(), task.Query{Limit: 1, After: &toolfold.Position{CreatedAt: noon, ID: id}})
		_, pageErr := db.Session().List(t.Context(), session.Query{Limit: 1, After: &toolfold.Position{CreatedAt: noon, ID: id}})
		for _, err := range []error{getErr, pauseErr, listErr, pageErr} {
			var refusal *toolfold.Error
			if !errors.As(err, &refusal) || refusal.Code != toolfold.InvalidInput {
				t.Errorf("%q: %v, want %s", id, err, toolfold.InvalidInput)
			}
		}
	}
}

// listInquiries checks that open tasks with open questions to a person are listed, the oldest question first.
func listInquiries(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1), newTask(2), newTask(3))
	keep := func(run queue.Run, key, method string, after time.Duration) {
		t.Helper()
		saved, err := b.ledger.KeepQuestion(t.Context(), run, task.Question{
			Key: key, Method: method, Params: json.RawMessage(`{}`), AskedAt: noon.Add(after),
		})
		noError(t, err)
		equal(t, saved, true)
	}
	expectInquiries := func(limit int, want ...storage.Inquiry) {
		t.Helper()
		got, err := db.Inquiries(t.Context(), limit)
		noError(t, err)
		equal(t, got, append([]storage.Inquiry{}, want...))
	}
	expectInquiries(10)
	first, second, third := b.start(1), b.start(2), b.start(3)
	keep(first, "a", callctx.MethodElicit, 2*time.Second)
	keep(first, "b", callctx.MethodElicit, 3*time.Second)
	keep(second, "a", callctx.MethodElicit, time.Second)
	keep(third, "a", callctx.MethodSample, 0)
	one := storage.Inquiry{TaskID: first.TaskID, Name: "task 1", Questions: 2, AskedAt: noon.Add(2 * time.Second)}
	two := storage.Inquiry{TaskID: second.TaskID, Name: "task 2", Questions: 1, AskedAt: noon.Add(time.Second)}
	expectInquiries(10, two, one)
	expectInquiries(1, two)
	noError(t, b.tasks.Answer(t.Context(), first.TaskID, map[string]json.RawMessage{"a": json.RawMessage(`{}`)}))
	one.Questions, one.AskedAt = 1, noon.Add(3*time.Second)
	expectInquiries(10, two, one)
	b.cancel(2, true)
	expectInquiries(10, one)
}

// keepQuestions checks that the questions of a task's present run, and the first answer to each,
// are kept as long as the task.
func keepQuestions(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	b.submit(newTask(1))
	keep := func(run queue.Run, key string, after time.Duration, want bool) {
		t.Helper()
		saved, err := b.ledger.KeepQuestion(t.Context(), run, task.Question{
			Key: key, Method: "roots/list", Params: json.RawMessage(`{"n":1}`), AskedAt: noon.Add(after),
		})
		noError(t, err)
		equal(t, saved, want)
	}
	questions := func(want ...string) {
		t.Helper()
		got := []string{}
		questions, err := b.tasks.Questions(t.Context(), taskID(1))
		noError(t, err)
		for _, q := range questions {
			equal(t, []any{q.Method, string(q.Params), q.AskedAt.IsZero()}, []any{"roots/list", `{"n":1}`, false})
			got = append(got, q.Key+string(q.Answer))
		}
		equal(t, got, append([]string{}, want...))
	}
	answer := func(answers map[string]json.RawMessage) {
		t.Helper()
		noError(t, b.tasks.Answer(t.Context(), taskID(1), answers))
	}
	run := b.start(1)
	keep(run, "b", 0, true)
	keep(run, "a", time.Second, true)
	keep(queue.Run{TaskID: run.TaskID, Turn: run.Turn + 1}, "c", 0, false)
	questions("b", "a")
	answer(map[string]json.RawMessage{"a": json.RawMessage(`{"first":1}`), "none": json.RawMessage(`{}`)})
	answer(map[string]json.RawMessage{"a": json.RawMessage(`{"second":2}`)})
	questions("b", `a{"first":1}`)
	noError(t, b.ledger.DropQuestion(t.Context(), queue.Run{TaskID: run.TaskID, Turn: run.Turn + 1}, "a"))
	noError(t, b.ledger.DropQuestion(t.Context(), run, "b"))
	questions(`a{"first":1}`)
	b.finish(queue.Ending{Run: run, Status: task.Completed})
	keep(run, "c", 0, false)
	questions(`a{"first":1}`)
	_, err := b.ledger.Prune(t.Context(), noon.Add(2*time.Hour))
	noError(t, err)
	questions()
}
