package queue_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/engine/queue"
	"github.com/toolfold/toolfold/tools"
	family "github.com/toolfold/toolfold/tools/queue"
	"github.com/toolfold/toolfold/tools/task"
)

func TestOutcomes(t *testing.T) {
	eachYard(t, func(y yard) {
		y.on("good", func(_ context.Context, args json.RawMessage) tools.Answer {
			return answer(`{"got":` + string(args) + `}`)
		})
		y.on("bad", func(context.Context, json.RawMessage) tools.Answer { return tools.Fail(tools.Errorf("BROKEN", "no")) })
		y.on("wild", func(context.Context, json.RawMessage) tools.Answer { panic("wild") })
		y.on("agent.run", func(_ context.Context, args json.RawMessage) tools.Answer {
			var in struct {
				AgentID string
				Input   struct{ Fail bool }
			}
			if err := json.Unmarshal(args, &in); err != nil || in.AgentID != "planner" {
				return tools.Fail(tools.Errorf("BROKEN", "%v", in))
			}
			if in.Input.Fail {
				return answer(`{"success":false,"error":{"code":"STEP","message":"no"}}`)
			}
			return answer(`{"success":true}`)
		})
		y.work(queue.Options{})
		good := y.submit("good", task.SubmitIn{Input: json.RawMessage(`{"tool":"good","arguments":{"n":1}}`)})
		for name, test := range map[string]struct {
			id, status, failure, output string
		}{
			"good":  {good, queue.Completed, "", `{"got":{"n":1}}`},
			"bad":   {y.submit("bad", task.SubmitIn{}), queue.Failed, "BROKEN: no", `{"error":{"code":"BROKEN","message":"no"}}`},
			"wild":  {id: y.submit("wild", task.SubmitIn{}), status: queue.Failed},
			"agent": {y.submit("a", task.SubmitIn{AgentID: "planner"}), queue.Completed, "", `{"success":true}`},
			"agent that fails": {
				y.submit("b", task.SubmitIn{AgentID: "planner", Input: json.RawMessage(`{"fail":true}`)}),
				queue.Failed, "STEP: no", `{"success":false,"error":{"code":"STEP","message":"no"}}`,
			},
			"wait": {y.submit("w", task.SubmitIn{Type: task.Wait, Dependencies: []string{good}}), queue.Completed, "", ""},
		} {
			got := y.await(test.id, test.status)
			if name != "wild" && (got.Error != test.failure || string(got.Output) != test.output) {
				y.Errorf("%s: error %q, output %s", name, got.Error, got.Output)
			}
		}
	})
}

func TestTimeout(t *testing.T) {
	eachYard(t, func(y yard) {
		deaf := make(chan struct{})
		y.on("stops", untilStopped)
		y.on("deaf", func(context.Context, json.RawMessage) tools.Answer {
			<-deaf
			return answer(`{}`)
		})
		y.work(queue.Options{Yield: 10 * time.Millisecond})
		stops := y.submit("stops", task.SubmitIn{TimeoutMs: 20, Type: task.Timeout})
		late := y.submit("deaf", task.SubmitIn{TimeoutMs: 20})
		for _, id := range []string{stops, late} {
			if got := y.await(id, queue.TimedOut); got.Error != "it took longer than 20 ms" {
				y.Errorf("error %q", got.Error)
			}
		}
		close(deaf)
	})
}

func TestAttempts(t *testing.T) {
	eachYard(t, func(y yard) {
		var runs atomic.Int32
		y.on("stubborn", func(context.Context, json.RawMessage) tools.Answer {
			if runs.Add(1) == 1 {
				return tools.Fail(tools.Errorf("BROKEN", "not yet"))
			}
			return answer(`{}`)
		})
		y.work(queue.Options{})
		got := y.await(y.submit("stubborn", task.SubmitIn{Type: task.Retry}), queue.Completed)
		if got.Attempt != 2 || got.MaxAttempts != 3 || got.Error != "" {
			y.Errorf("attempt %d of %d, error %q", got.Attempt, got.MaxAttempts, got.Error)
		}
	})
}

func TestCancel(t *testing.T) {
	eachYard(t, func(y yard) {
		deaf := make(chan struct{})
		defer close(deaf)
		y.on("stops", untilStopped)
		y.on("deaf", func(context.Context, json.RawMessage) tools.Answer {
			<-deaf
			return answer(`{}`)
		})
		y.work(queue.Options{})
		stops, stubborn := y.submit("stops", task.SubmitIn{}), y.submit("deaf", task.SubmitIn{})
		y.await(stops, queue.Running)
		y.await(stubborn, queue.Running)
		for _, in := range []task.CancelIn{{TaskID: stops, Reason: "enough"}, {TaskID: stubborn, Reason: "enough", Force: true}} {
			out, err := y.tasks.Cancel(y.Context(), in)
			if err != nil || out.Status != queue.Cancelled || out.Reason != "enough" {
				y.Fatalf("%v, %v", out, err)
			}
			if got := y.status(in.TaskID); got.Status != queue.Cancelled || got.Error != "enough" {
				y.Errorf("%s, %q", got.Status, got.Error)
			}
		}
	})
}

func TestSchedule(t *testing.T) {
	eachYard(t, func(y yard) {
		y.work(queue.Options{})
		at := time.Now().Add(300 * time.Millisecond)
		id := y.submit("later", task.SubmitIn{ScheduledAt: at})
		if got := y.await(id, queue.Completed); got.StartedAt.Before(at.Truncate(time.Microsecond)) {
			y.Errorf("it started at %v, before %v", got.StartedAt, at)
		}
	})
}

// Tasks of a paused queue wait, and then run in the order of their priority.
func TestPauseAndPriority(t *testing.T) {
	eachYard(t, func(y yard) {
		made, err := y.queues.Create(y.Context(), family.CreateIn{Name: "line", MaxConcurrency: 1, DefaultPriority: queue.High})
		if err != nil {
			y.Fatal(err)
		}
		if _, err := y.queues.Pause(y.Context(), family.QueueIn{QueueID: "line"}); err != nil {
			y.Fatal(err)
		}
		var last string
		for i, p := range []string{queue.Background, queue.Low, queue.Medium, "", queue.Critical, queue.Background, queue.Low} {
			last = y.submit(string("abcdefg"[i]), task.SubmitIn{QueueID: made.QueueID, Priority: p})
		}
		y.work(queue.Options{})
		y.await(y.submit("elsewhere", task.SubmitIn{}), queue.Completed)
		if got := y.status(last).Status; got != queue.Paused {
			y.Errorf("it is %s", got)
		}
		if _, err := y.queues.Resume(y.Context(), family.QueueIn{QueueID: "line"}); err != nil {
			y.Fatal(err)
		}
		y.until(func() bool { return len(y.names()) == 8 }, func() string { return "not all ran" })
		if diff := cmp.Diff([]string{"elsewhere", "e", "d", "c", "b", "g", "a", "f"}, y.names()); diff != "" {
			y.Errorf("order (-want +got)\n%s", diff)
		}
	})
}

// A queue that is made while a worker runs is worked, and no more of its
// tasks run at once than it allows.
func TestConcurrency(t *testing.T) {
	eachYard(t, func(y yard) {
		var now, most, done atomic.Int32
		y.on("busy", func(context.Context, json.RawMessage) tools.Answer {
			n := now.Add(1)
			for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
			}
			time.Sleep(10 * time.Millisecond)
			now.Add(-1)
			done.Add(1)
			return answer(`{}`)
		})
		y.work(queue.Options{})
		y.await(y.submit("first", task.SubmitIn{}), queue.Completed)
		if _, err := y.queues.Create(y.Context(), family.CreateIn{Name: "two", MaxConcurrency: 2, DefaultPriority: queue.Medium}); err != nil {
			y.Fatal(err)
		}
		for range 12 {
			y.submit("busy", task.SubmitIn{QueueID: "two"})
		}
		y.until(func() bool { return done.Load() == 12 }, func() string { return "not all ran" })
		if most.Load() != 2 {
			y.Errorf("%d ran at once, want 2", most.Load())
		}
	})
}

// A worker that stops lets short tasks end, and another runs the long ones.
func TestStop(t *testing.T) {
	eachYard(t, func(y yard) {
		going := make(chan struct{}, 2)
		y.on("short", func(context.Context, json.RawMessage) tools.Answer {
			going <- struct{}{}
			time.Sleep(100 * time.Millisecond)
			return answer(`{}`)
		})
		var runs atomic.Int32
		y.on("long", func(ctx context.Context, _ json.RawMessage) tools.Answer {
			if runs.Add(1) > 1 {
				return answer(`{}`)
			}
			going <- struct{}{}
			return untilStopped(ctx, nil)
		})
		stop := y.work(queue.Options{Grace: 500 * time.Millisecond})
		short, long := y.submit("short", task.SubmitIn{}), y.submit("long", task.SubmitIn{})
		<-going
		<-going
		stop()
		if got := y.status(short).Status; got != queue.Completed {
			y.Errorf("the short one is %s", got)
		}
		if got := y.status(long); got.Status != queue.Queued || got.Attempt != 1 {
			y.Errorf("the long one is %s, attempt %d", got.Status, got.Attempt)
		}
		y.work(queue.Options{})
		y.await(long, queue.Completed)
	})
}

// A worker whose lease is taken from it stops its tasks, records nothing of
// them, and goes on with a new lease.
func TestLeaseTaken(t *testing.T) {
	eachYard(t, func(y yard) {
		var runs, stopped atomic.Int32
		y.on("task", func(ctx context.Context, _ json.RawMessage) tools.Answer {
			if runs.Add(1) > 1 {
				return answer(`{"run":2}`)
			}
			untilStopped(ctx, nil)
			stopped.Add(1)
			return answer(`{"run":1}`)
		})
		y.work(queue.Options{Lease: time.Second})
		id := y.submit("task", task.SubmitIn{})
		y.await(id, queue.Running)
		ledger, err := y.db.Ledger()
		if err != nil {
			y.Fatal(err)
		}
		if err := ledger.Leave(y.Context(), y.entered.Load().(string), time.Now()); err != nil {
			y.Fatal(err)
		}
		got := y.await(id, queue.Completed)
		y.until(func() bool { return stopped.Load() == 1 }, func() string { return "the first run was not stopped" })
		if string(got.Output) != `{"run":2}` || got.Attempt != 1 {
			y.Errorf("output %s, attempt %d", got.Output, got.Attempt)
		}
	})
}

func TestDependencies(t *testing.T) {
	eachYard(t, func(y yard) {
		y.on("bad", func(context.Context, json.RawMessage) tools.Answer { return tools.Fail(tools.Errorf("BROKEN", "no")) })
		first := y.submit("a", task.SubmitIn{})
		second := y.submit("b", task.SubmitIn{Dependencies: []string{first}})
		both := y.submit("c", task.SubmitIn{Dependencies: []string{second, first, second}})
		bad := y.submit("bad", task.SubmitIn{})
		never := y.submit("never", task.SubmitIn{Dependencies: []string{first, bad}})
		y.work(queue.Options{})
		y.await(both, queue.Completed)
		y.await(never, queue.Failed)
		order := slices.DeleteFunc(y.names(), func(n string) bool { return n == "bad" })
		if diff := cmp.Diff([]string{"a", "b", "c"}, order); diff != "" {
			y.Errorf("order (-want +got)\n%s", diff)
		}
	})
}
