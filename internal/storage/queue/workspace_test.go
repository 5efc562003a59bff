package queue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/storage/queue"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/internal/test/testwait"
	family "github.com/toolfold/toolfold/tools/queue"
	"github.com/toolfold/toolfold/tools/task"
)

// elsewhere returns an environment on the same store for another workspace, with its own caller.
func (e env) elsewhere() env {
	other := e
	other.calls = &calls{}
	other.tasks = task.New(task.Options{
		Store: e.db.Task(), Caller: other.calls, Names: other.calls, Now: time.Now, NewID: e.tasks.NewID, CancelWait: testwait.Limit,
		Workspace: "vm:/elsewhere", MaxInterruptions: 5,
	})
	return other
}

// A task runs in its own workspace, even if another one has an agent of the same id. It waits while
// no worker serves its workspace.
func TestWorkspaces(t *testing.T) {
	eachStore(t, func(here env) {
		there := here.elsewhere()
		for name, e := range map[string]env{"here": here, "there": there} {
			e.on("agent.get", func(context.Context, json.RawMessage) toolfold.Answer {
				return answer(`{"agentId":"planner","systemPrompt":"of ` + name + `"}`)
			})
			e.on("agent.run", func(context.Context, json.RawMessage) toolfold.Answer {
				return answer(`{"success":true,"by":"` + name + `"}`)
			})
		}
		there.work(queue.Options{Workspace: "vm:/elsewhere"})
		var ids []string
		for range 20 {
			ids = append(ids, here.submit("a", task.SubmitIn{AgentID: "planner"}))
		}
		other := there.submit("b", task.SubmitIn{AgentID: "planner"})
		if got := there.await(other, task.Completed); string(got.Output) != `{"success":true,"by":"there"}` {
			here.Errorf("the other workspace's task answered %s", got.Output)
		}
		if got := here.status(ids[0]); got.Status != task.Queued || !strings.Contains(got.WaitsFor, place) {
			here.Errorf("while nothing works its workspace the task is %s and waits for %q", got.Status, got.WaitsFor)
		}
		here.work(queue.Options{})
		for _, id := range ids {
			if got := here.await(id, task.Completed); string(got.Output) != `{"success":true,"by":"here"}` {
				here.Errorf("a task answered %s", got.Output)
			}
		}
		for _, name := range there.names() {
			if name != "agent.get" && name != "agent.run" {
				here.Errorf("the other workspace called %s", name)
			}
		}
		if n := strings.Count(fmt.Sprint(there.names()), "agent.run"); n != 1 {
			here.Errorf("the other workspace ran %d agents, want 1", n)
		}
	})
}

// A task runs the version of its agent at submission. A retry reports that the agent has changed,
// and runs the present version only on request; a schedule always runs it.
func TestChangedAgent(t *testing.T) {
	eachStore(t, func(e env) {
		var prompt atomic.Value
		prompt.Store("before")
		e.on("agent.get", func(context.Context, json.RawMessage) toolfold.Answer {
			return answer(`{"agentId":"planner","systemPrompt":"` + prompt.Load().(string) + `"}`)
		})
		e.on("agent.run", func(ctx context.Context, _ json.RawMessage) toolfold.Answer {
			definition, _ := work.Pinned(ctx, work.Reference{Kind: work.Agent, ID: "planner"})
			return answer(`{"success":false,"error":{"code":"RAN","message":` + strconv.Quote(string(definition)) + `}}`)
		})
		ran := func(id, prompt string) {
			e.Helper()
			if got := e.await(id, task.Failed); !strings.Contains(got.Error, `"systemPrompt":"`+prompt+`"`) {
				e.Errorf("it ran as %s, want %s", got.Error, prompt)
			}
		}
		id := e.submit("a", task.SubmitIn{AgentID: "planner"})
		direct := e.submit("b", task.SubmitIn{Input: json.RawMessage(`{"tool":"agent.run","arguments":{"agentId":"planner"}}`)})
		prompt.Store("after")
		e.work(queue.Options{})
		ran(id, "before")
		ran(direct, "before")
		retried, err := e.tasks.Retry(e.Context(), task.RetryIn{TaskID: id})
		if err != nil || fmt.Sprint(retried.Changed) != "[agent planner]" {
			e.Fatalf("retry names %v as changed, %v", retried.Changed, err)
		}
		ran(id, "before")
		if _, err := e.tasks.Retry(e.Context(), task.RetryIn{TaskID: id, Current: true}); err != nil {
			e.Fatal(err)
		}
		ran(id, "after")
		if retried, err = e.tasks.Retry(e.Context(), task.RetryIn{TaskID: id}); err != nil || retried.Changed != nil {
			e.Errorf("retry names %v as changed, %v", retried.Changed, err)
		}
	})
}

// A workflow runs as a task, in its version at submission. If it fails, its task fails.
func TestWorkflow(t *testing.T) {
	eachStore(t, func(e env) {
		var steps atomic.Value
		steps.Store("before")
		e.on("workflow.describe", func(context.Context, json.RawMessage) toolfold.Answer {
			return answer(`{"id":"deploy","status":"active","inputSchema":{"type":"object"},"steps":[{"stepId":"` + steps.Load().(string) + `"}]}`)
		})
		e.on("workflow.run", func(ctx context.Context, args json.RawMessage) toolfold.Answer {
			if pinned, _ := work.Pinned(ctx, work.Reference{Kind: work.Workflow, ID: "deploy"}); !strings.Contains(string(pinned), "before") {
				return toolfold.Errorf("UNEXPECTED", "it runs as %s", pinned).Answer()
			}
			switch string(args) {
			case `{"input":{},"workflowId":"deploy"}`:
				return answer(`{"success":true}`)
			case `{"input":{"bad":true},"workflowId":"deploy"}`:
				return answer(`{"success":false,"error":{"code":"STEP_FAILED","message":"no"}}`)
			}
			return toolfold.Errorf("UNEXPECTED", "%s", args).Answer()
		})
		bad := e.submit("bad", task.SubmitIn{WorkflowID: "deploy", Input: json.RawMessage(`{"bad":true}`)})
		good := e.submit("good", task.SubmitIn{WorkflowID: "deploy"})
		e.work(queue.Options{})
		if got := e.await(good, task.Completed); string(got.Output) != `{"success":true}` || got.WorkflowID != "deploy" {
			e.Errorf("it answered %s as %q", got.Output, got.WorkflowID)
		}
		if got := e.await(bad, task.Failed); got.Error != "STEP_FAILED: no" {
			e.Errorf("it failed with %q", got.Error)
		}
		later := e.submit("later", task.SubmitIn{WorkflowID: "deploy", ScheduledAt: time.Now().Add(500 * time.Millisecond)})
		steps.Store("after")
		e.await(later, task.Completed)
	})
}

// A task that repeatedly submits itself is stopped.
func TestTasksThatSubmitTasks(t *testing.T) {
	eachStore(t, func(e env) {
		var refused atomic.Value
		e.on("agent.run", func(ctx context.Context, _ json.RawMessage) toolfold.Answer {
			_, err := e.tasks.Submit(ctx, task.SubmitIn{Name: "again", Type: task.Other, AgentID: "planner"})
			if err != nil {
				refused.Store(err)
			}
			return answer(`{"success":true}`)
		})
		e.work(queue.Options{})
		e.submit("first", task.SubmitIn{AgentID: "planner"})
		testwait.Until(e, "a task is refused", func() bool { return refused.Load() != nil })
		if failure, ok := refused.Load().(*toolfold.Error); !ok || failure.Code != task.TooDeep {
			e.Errorf("refused with %v", refused.Load())
		}
		if n := strings.Count(fmt.Sprint(e.names()), "agent.run"); n != task.MaxDepth+1 {
			e.Errorf("%d tasks ran, want %d", n, task.MaxDepth+1)
		}
	})
}

// The limit of a queue covers all processes of a workspace.
func TestLimitOfSeveralWorkers(t *testing.T) {
	eachStore(t, func(e env) {
		var now, most, done atomic.Int32
		e.on("busy", func(context.Context, json.RawMessage) toolfold.Answer {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(5 * time.Millisecond) // without a limit another would begin
			now.Add(-1)
			done.Add(1)
			return answer(`{}`)
		})
		if _, err := e.queues.Create(e.Context(), family.CreateIn{Name: "deploys", MaxConcurrency: 1, DefaultPriority: task.Medium}); err != nil {
			e.Fatal(err)
		}
		e.work(queue.Options{})
		e.work(queue.Options{})
		for range 12 {
			e.submit("busy", task.SubmitIn{QueueID: "deploys"})
		}
		testwait.Until(e, "all 12 ran", func() bool { return done.Load() == 12 })
		if most.Load() != 1 {
			e.Errorf("%d ran at once, want 1", most.Load())
		}
	})
}

// Lost jobs of dead processes hide no tasks.
func TestLostJobs(t *testing.T) {
	t.Parallel()
	for driver, fresh := range map[string]func(testing.TB) string{"sqlite": storagetest.SQLite, "pgx": storagetest.Postgres} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			address := fresh(t)
			e := newEnv(t, address, &calls{})
			var ids []string
			for range 40 {
				ids = append(ids, e.submit("a", task.SubmitIn{}))
			}
			pool := storagetest.Raw(t, address)
			if _, err := pool.ExecContext(t.Context(), `UPDATE river_job SET state = 'running', attempt = 1,`+
				` attempted_at = CURRENT_TIMESTAMP`); err != nil {
				t.Fatal(err)
			}
			e.work(queue.Options{})
			for _, id := range ids {
				e.await(id, task.Completed)
			}
		})
	}
}

// Jobs taken by a process that died are removed with its lease.
func TestJobsOfDeadProcesses(t *testing.T) {
	t.Parallel()
	for driver, fresh := range map[string]func(testing.TB) string{"sqlite": storagetest.SQLite, "pgx": storagetest.Postgres} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			address, log := fresh(t), filepath.Join(t.TempDir(), "log")
			e := newEnv(t, address, &calls{})
			held := e.submit("held", task.SubmitIn{Input: json.RawMessage(`{"tool":"t","arguments":{"task":"held","ms":-1}}`)})
			dying := startWorker(t, address, log, time.Second)
			e.await(held, task.Running)
			pool := storagetest.Raw(t, address)
			running := func() (n int) {
				t.Helper()
				if err := pool.QueryRowContext(t.Context(), `SELECT count(*) FROM river_job WHERE state = 'running'`).Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}
			if running() == 0 {
				t.Fatal("no job is running")
			}
			dying.kill()
			e.work(queue.Options{})
			e.await(held, task.Completed)
			testwait.Until(e, "no job is running", func() bool { return running() == 0 })
		})
	}
}

// Idle queues cost a worker process nothing: it has one producer for all queues.
func TestIdleQueuesCostNothing(t *testing.T) {
	t.Parallel()
	for driver, fresh := range map[string]func(testing.TB) string{"sqlite": storagetest.SQLite, "pgx": storagetest.Postgres} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			address := fresh(t)
			e := newEnv(t, address, &calls{})
			for n := range family.MaxQueues - 1 {
				if _, err := e.queues.Create(e.Context(), family.CreateIn{Name: fmt.Sprint(n), MaxConcurrency: 1,
					DefaultPriority: task.Medium}); err != nil {
					t.Fatal(err)
				}
			}
			e.work(queue.Options{})
			e.await(e.submit("a", task.SubmitIn{QueueID: "7"}), task.Completed)
			e.await(e.submit("a", task.SubmitIn{QueueID: "98"}), task.Completed)
			var producers int
			if err := storagetest.Raw(t, address).QueryRowContext(t.Context(), `SELECT count(*) FROM river_queue`).Scan(&producers); err != nil {
				t.Fatal(err)
			}
			if producers != 1 {
				t.Errorf("%d producers for %d queues, want 1", producers, family.MaxQueues)
			}
		})
	}
}

// A run that reports its own failure is a failed task, under any called name. It is retried, and
// its dependents fail with it.
func TestFailedRuns(t *testing.T) {
	eachStore(t, func(e env) {
		submitted := make(chan struct{})
		failed := func(context.Context, json.RawMessage) toolfold.Answer {
			<-submitted
			return answer(`{"success":false,"error":{"code":"STEP","message":"no"},"output":{}}`)
		}
		e.work(queue.Options{})
		for _, name := range []string{"workflow.run", "agent", "agent_run"} {
			e.on(name, failed)
			id := e.submit(name, task.SubmitIn{})
			after := e.submit("after", task.SubmitIn{Dependencies: []string{id}})
			submitted <- struct{}{}
			if got := e.await(id, task.Failed); got.Error != "STEP: no" {
				e.Errorf("%s: error %q", name, got.Error)
			}
			e.await(after, task.Failed)
		}
		e.on("import", func(context.Context, json.RawMessage) toolfold.Answer { return answer(`{"success":false}`) })
		e.await(e.submit("import", task.SubmitIn{}), task.Completed)
	})
}

// An output that is too large is replaced by a note.
func TestLargeOutput(t *testing.T) {
	eachStore(t, func(e env) {
		e.on("large", func(context.Context, json.RawMessage) toolfold.Answer {
			return answer(`"` + strings.Repeat("x", 5<<20) + `"`)
		})
		e.work(queue.Options{})
		got := e.await(e.submit("large", task.SubmitIn{}), task.Completed)
		if want := `{"omitted":"the output is too large to be kept","bytes":5242882,"limit":4194304}`; string(got.Output) != want {
			e.Errorf("output of %d bytes, want %s", len(got.Output), want)
		}
	})
}

// A worker whose folder lacks a task's file gives the task back and leaves it to other workers for
// a while. The task shows what it waits for.
func TestWorkersGiveBackTasksTheyCannotRun(t *testing.T) {
	eachStore(t, func(e env) {
		described := func(source string) func(context.Context, json.RawMessage) toolfold.Answer {
			return func(context.Context, json.RawMessage) toolfold.Answer {
				return answer(`{"agentId":"x","source":"` + source + `"}`)
			}
		}
		e.on("agent.get", described("file"))
		e.on("agent.run", func(context.Context, json.RawMessage) toolfold.Answer { return answer(`{"success":true}`) })
		pinned := e.submit("pinned", task.SubmitIn{AgentID: "x"})
		e.on("agent.get", described("registered"))
		registered := e.submit("registered", task.SubmitIn{AgentID: "x"})
		poor := &calls{}
		poor.on("agent.get", func(context.Context, json.RawMessage) toolfold.Answer {
			return toolfold.Errorf("AGENT_NOT_FOUND", `there is no agent "x"`).Answer()
		})
		poor.on("agent.run", func(context.Context, json.RawMessage) toolfold.Answer {
			return toolfold.Errorf("AGENT_NOT_FOUND", `there is no agent "x"`).Answer()
		})
		without := e
		without.calls = poor
		stop := without.work(queue.Options{Again: 50 * time.Millisecond})
		e.await(registered, task.Failed) // a registered agent was removed everywhere
		testwait.Until(e, "the task waits for its agent", func() bool {
			return strings.Contains(e.status(pinned).WaitsFor, `there is no agent "x"`)
		})
		before := len(poor.names())
		testwait.Until(e, "its agent is asked for twice more", func() bool { return len(poor.names()) >= before+2 })
		with := e.work(queue.Options{})
		got := e.await(pinned, task.Completed)
		if got.Interruptions != 0 || got.Attempt != 1 {
			e.Errorf("it was interrupted %d times, in attempt %d", got.Interruptions, got.Attempt)
		}
		stop()
		with()
		left := e.submit("left", task.SubmitIn{AgentID: "x"})
		if waits := e.status(left).WaitsFor; !strings.Contains(waits, "no server of workspace") {
			e.Errorf("without workers it waits for %s", waits)
		}
	})
}
