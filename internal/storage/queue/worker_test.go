package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/storage/queue"
	"github.com/toolfold/toolfold/internal/test/testwait"
	family "github.com/toolfold/toolfold/tools/queue"
	"github.com/toolfold/toolfold/tools/task"
)

func TestOutcomes(t *testing.T) {
	eachStore(t, func(e env) {
		e.on("good", func(_ context.Context, args json.RawMessage) toolfold.Answer {
			return answer(`{"got":` + string(args) + `}`)
		})
		e.on("bad", func(context.Context, json.RawMessage) toolfold.Answer {
			return toolfold.Errorf("BROKEN", "no").Answer()
		})
		e.on("wild", func(context.Context, json.RawMessage) toolfold.Answer { panic("wild") })
		e.on("agent.run", func(_ context.Context, args json.RawMessage) toolfold.Answer {
			var in struct {
				AgentID string
				Input   struct{ Fail bool }
			}
			if err := json.Unmarshal(args, &in); err != nil || in.AgentID != "planner" {
				return toolfold.Errorf("BROKEN", "%v", in).Answer()
			}
			if in.Input.Fail {
				return answer(`{"success":false,"error":{"code":"STEP","message":"no"}}`)
			}
			return answer(`{"success":true}`)
		})
		e.work(queue.Options{})
		good := e.submit("good", task.SubmitIn{Input: json.RawMessage(`{"tool":"good","arguments":{"n":1}}`)})
		for name, test := range map[string]struct {
			id, status, failure, output string
		}{
			"good":  {good, task.Completed, "", `{"got":{"n":1}}`},
			"bad":   {e.submit("bad", task.SubmitIn{}), task.Failed, "BROKEN: no", `{"error":{"code":"BROKEN","message":"no"}}`},
			"wild":  {id: e.submit("wild", task.SubmitIn{}), status: task.Failed},
			"agent": {e.submit("a", task.SubmitIn{AgentID: "planner"}), task.Completed, "", `{"success":true}`},
			"agent that fails": {
				e.submit("b", task.SubmitIn{AgentID: "planner", Input: json.RawMessage(`{"fail":true}`)}),
				task.Failed, "STEP: no", `{"success":false,"error":{"code":"STEP","message":"no"}}`,
			},
			"wait": {e.submit("w", task.SubmitIn{Type: task.Wait, Dependencies: []string{good}}), task.Completed, "", ""},
		} {
			got := e.await(test.id, test.status)
			if name != "wild" && (got.Error != test.failure || string(got.Output) != test.output) {
				e.Errorf("%s: error %q, output %s", name, got.Error, got.Output)
			}
		}
	})
}

func TestTimeout(t *testing.T) {
	eachStore(t, func(e env) {
		deaf := make(chan struct{})
		e.on("stops", untilStopped)
		e.on("deaf", func(context.Context, json.RawMessage) toolfold.Answer {
			<-deaf
			return answer(`{}`)
		})
		e.work(queue.Options{Yield: 10 * time.Millisecond})
		stops := e.submit("stops", task.SubmitIn{TimeoutMs: 20, Type: task.Timeout})
		late := e.submit("deaf", task.SubmitIn{TimeoutMs: 20})
		for _, id := range []string{stops, late} {
			if got := e.await(id, task.TimedOut); got.Error != "it took longer than 20 ms" {
				e.Errorf("error %q", got.Error)
			}
		}
		close(deaf)
	})
}

func TestAttempts(t *testing.T) {
	eachStore(t, func(e env) {
		var runs atomic.Int32
		e.on("stubborn", func(context.Context, json.RawMessage) toolfold.Answer {
			if runs.Add(1) == 1 {
				return toolfold.Errorf("BROKEN", "not yet").Answer()
			}
			return answer(`{}`)
		})
		e.work(queue.Options{})
		got := e.await(e.submit("stubborn", task.SubmitIn{Type: task.Retry}), task.Completed)
		if got.Attempt != 2 || got.MaxAttempts != 3 || got.Error != "" {
			e.Errorf("attempt %d of %d, error %q", got.Attempt, got.MaxAttempts, got.Error)
		}
	})
}

func TestCancel(t *testing.T) {
	eachStore(t, func(e env) {
		deaf := make(chan struct{})
		defer close(deaf)
		e.on("stops", untilStopped)
		e.on("deaf", func(context.Context, json.RawMessage) toolfold.Answer {
			<-deaf
			return answer(`{}`)
		})
		e.work(queue.Options{})
		stops, stubborn := e.submit("stops", task.SubmitIn{}), e.submit("deaf", task.SubmitIn{})
		e.await(stops, task.Running)
		e.await(stubborn, task.Running)
		for _, in := range []task.CancelIn{{TaskID: stops, Reason: "enough"}, {TaskID: stubborn, Reason: "enough", Force: true}} {
			out, err := e.tasks.Cancel(e.Context(), in)
			if err != nil || out.Status != task.Cancelled || out.Reason != "enough" {
				e.Fatalf("%v, %v", out, err)
			}
			if got := e.status(in.TaskID); got.Status != task.Cancelled || got.Error != "enough" {
				e.Errorf("%s, %q", got.Status, got.Error)
			}
		}
	})
}

func TestSchedule(t *testing.T) {
	eachStore(t, func(e env) {
		e.work(queue.Options{})
		at := time.Now().Add(300 * time.Millisecond)
		id := e.submit("later", task.SubmitIn{ScheduledAt: at})
		if got := e.await(id, task.Completed); got.StartedAt.Before(at.Truncate(time.Microsecond)) {
			e.Errorf("it started at %v, before %v", got.StartedAt, at)
		}
	})
}

// Tasks of a paused queue wait, and then run in order of priority.
func TestPauseAndPriority(t *testing.T) {
	eachStore(t, func(e env) {
		made, err := e.queues.Create(e.Context(), family.CreateIn{Name: "line", MaxConcurrency: 1, DefaultPriority: task.High})
		if err != nil {
			e.Fatal(err)
		}
		if _, err := e.queues.Pause(e.Context(), family.QueueIn{QueueID: "line"}); err != nil {
			e.Fatal(err)
		}
		var last string
		for i, p := range []string{task.Background, task.Low, task.Medium, "", task.Critical, task.Background, task.Low} {
			last = e.submit(string("abcdefg"[i]), task.SubmitIn{QueueID: made.ID, Priority: p})
		}
		e.work(queue.Options{})
		e.await(e.submit("elsewhere", task.SubmitIn{}), task.Completed)
		if got := e.status(last).Status; got != task.Paused {
			e.Errorf("it is %s", got)
		}
		if _, err := e.queues.Resume(e.Context(), family.QueueIn{QueueID: "line"}); err != nil {
			e.Fatal(err)
		}
		testwait.Until(e, "all 8 ran", func() bool { return len(e.names()) == 8 })
		if diff := cmp.Diff([]string{"elsewhere", "e", "d", "c", "b", "g", "a", "f"}, e.names()); diff != "" {
			e.Errorf("order (-want +got)\n%s", diff)
		}
	})
}

// A queue created while a worker runs is worked, with no more concurrent tasks than it allows.
func TestConcurrency(t *testing.T) {
	eachStore(t, func(e env) {
		var now, most, done atomic.Int32
		both := make(chan struct{}) // closed once two run
		e.on("busy", func(context.Context, json.RawMessage) toolfold.Answer {
			n := now.Add(1)
			for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
			}
			if done.Load() == 0 && n == 2 {
				close(both)
			}
			<-both
			time.Sleep(10 * time.Millisecond) // without a limit a third would begin
			now.Add(-1)
			done.Add(1)
			return answer(`{}`)
		})
		e.work(queue.Options{})
		e.await(e.submit("first", task.SubmitIn{}), task.Completed)
		if _, err := e.queues.Create(e.Context(), family.CreateIn{Name: "two", MaxConcurrency: 2, DefaultPriority: task.Medium}); err != nil {
			e.Fatal(err)
		}
		for range 12 {
			e.submit("busy", task.SubmitIn{QueueID: "two"})
		}
		testwait.Until(e, "all 12 ran", func() bool { return done.Load() == 12 })
		if most.Load() != 2 {
			e.Errorf("%d ran at once, want 2", most.Load())
		}
	})
}

// A stopping worker waits for its tasks until its grace period ends.
func TestStopLetsTasksEnd(t *testing.T) {
	eachStore(t, func(e env) {
		going := make(chan struct{})
		e.on("short", func(context.Context, json.RawMessage) toolfold.Answer {
			going <- struct{}{}
			time.Sleep(100 * time.Millisecond) // a slow call: its worker is stopped meanwhile
			return answer(`{}`)
		})
		stop := e.work(queue.Options{Grace: testwait.Limit})
		id := e.submit("short", task.SubmitIn{})
		<-going
		stop()
		if got := e.status(id); got.Status != task.Completed || got.Interruptions != 0 {
			e.Errorf("it is %s, interrupted %d times", got.Status, got.Interruptions)
		}
	})
}

// A task that runs longer than its worker's grace period runs in another worker.
func TestStop(t *testing.T) {
	eachStore(t, func(e env) {
		going := make(chan struct{})
		var runs atomic.Int32
		e.on("long", func(ctx context.Context, _ json.RawMessage) toolfold.Answer {
			if runs.Add(1) > 1 {
				return answer(`{}`)
			}
			going <- struct{}{}
			return untilStopped(ctx, nil)
		})
		stop := e.work(queue.Options{Grace: 10 * time.Millisecond, Notice: testwait.Limit})
		long := e.submit("long", task.SubmitIn{})
		<-going
		stop()
		if got := e.status(long); got.Status != task.Queued || got.Attempt != 1 || got.Interruptions != 1 {
			e.Errorf("it is %s, attempt %d, interrupted %d times", got.Status, got.Attempt, got.Interruptions)
		}
		e.work(queue.Options{})
		e.await(long, task.Completed)
	})
}

// A worker that loses its lease stops its tasks, records nothing of them, and continues with a new
// lease.
func TestLeaseTaken(t *testing.T) {
	eachStore(t, func(e env) {
		var runs, stopped atomic.Int32
		e.on("task", func(ctx context.Context, _ json.RawMessage) toolfold.Answer {
			if runs.Add(1) > 1 {
				return answer(`{"run":2}`)
			}
			untilStopped(ctx, nil)
			stopped.Add(1)
			return answer(`{"run":1}`)
		})
		e.work(queue.Options{Lease: time.Second})
		id := e.submit("task", task.SubmitIn{})
		e.await(id, task.Running)
		ledger, _, err := e.db.Work()
		if err != nil {
			e.Fatal(err)
		}
		if err := ledger.Leave(e.Context(), e.entered.Load().(string), time.Now()); err != nil {
			e.Fatal(err)
		}
		got := e.await(id, task.Completed)
		testwait.Until(e, "the first run is stopped", func() bool { return stopped.Load() == 1 })
		if string(got.Output) != `{"run":2}` || got.Attempt != 1 {
			e.Errorf("output %s, attempt %d", got.Output, got.Attempt)
		}
	})
}

// A worker died before the clock was set back, so that its lease seems to last for hours. It does
// not keep its tasks. The refusal of a worker that refused a task does not last either.
func TestClockSetBack(t *testing.T) {
	eachStore(t, func(e env) {
		e.on("task", func(context.Context, json.RawMessage) toolfold.Answer { return answer(`{"run":2}`) })
		ledger, _, err := e.db.Work()
		if err != nil {
			e.Fatal(err)
		}
		if err := ledger.Enter(e.Context(), "dead", place, 2*time.Hour); err != nil {
			e.Fatal(err)
		}
		id := e.submit("task", task.SubmitIn{})
		if claimed, err := ledger.Claim(e.Context(), "dead", place, 1, time.Now()); err != nil || len(claimed) != 1 {
			e.Fatalf("claimed %v, %v", claimed, err)
		}
		e.work(queue.Options{Lease: 500 * time.Millisecond, Again: 500 * time.Millisecond})
		if got := e.await(id, task.Completed); got.Attempt != 1 {
			e.Errorf("attempt %d", got.Attempt)
		}
	})
}

func TestDependencies(t *testing.T) {
	eachStore(t, func(e env) {
		e.on("bad", func(context.Context, json.RawMessage) toolfold.Answer {
			return toolfold.Errorf("BROKEN", "no").Answer()
		})
		first := e.submit("a", task.SubmitIn{})
		second := e.submit("b", task.SubmitIn{Dependencies: []string{first}})
		both := e.submit("c", task.SubmitIn{Dependencies: []string{second, first, second}})
		bad := e.submit("bad", task.SubmitIn{})
		never := e.submit("never", task.SubmitIn{Dependencies: []string{first, bad}})
		e.work(queue.Options{})
		e.await(both, task.Completed)
		e.await(never, task.Failed)
		order := slices.DeleteFunc(e.names(), func(n string) bool { return n == "bad" })
		if diff := cmp.Diff([]string{"a", "b", "c"}, order); diff != "" {
			e.Errorf("order (-want +got)\n%s", diff)
		}
	})
}

// A wait returns when any worker ends the task, or at its own timeout.
func TestWait(t *testing.T) {
	eachStore(t, func(e env) {
		release := make(chan struct{})
		e.on("slow", func(context.Context, json.RawMessage) toolfold.Answer {
			<-release
			return answer(`{"n":1}`)
		})
		id := e.submit("slow", task.SubmitIn{})
		got, err := e.tasks.Wait(e.Context(), task.WaitIn{TaskID: id, TimeoutMs: 50})
		if err != nil || got.Status != task.Queued {
			e.Errorf("in vain it answered %s (%v)", got.Status, err)
		}
		e.work(queue.Options{})
		e.await(id, task.Running)
		time.AfterFunc(50*time.Millisecond, func() { close(release) })
		got, err = e.tasks.Wait(e.Context(), task.WaitIn{TaskID: strings.ToUpper(id), TimeoutMs: int(testwait.Limit.Milliseconds())})
		if err != nil || got.Status != task.Completed || string(got.Output) != `{"n":1}` {
			e.Errorf("it answered %s with %s (%v)", got.Status, got.Output, err)
		}
		ended, stop := context.WithCancel(e.Context())
		stop()
		if _, err := e.tasks.Wait(ended, task.WaitIn{TaskID: e.submit("later", task.SubmitIn{ScheduledAt: time.Now().Add(time.Hour)}),
			TimeoutMs: 50_000}); !errors.Is(err, context.Canceled) {
			e.Errorf("a wait that is given up ends with %v", err)
		}
	})
}

// Outputs of dependencies are inserted as data: expressions in them are not evaluated.
func TestOutputsOfDependencies(t *testing.T) {
	eachStore(t, func(e env) {
		e.on("make", func(context.Context, json.RawMessage) toolfold.Answer {
			return answer(`{"n":12345678901234567890,"text":"{{ tasks.make.output.n }}","list":[1,2]}`)
		})
		got := make(chan string, 1)
		e.on("take", func(_ context.Context, args json.RawMessage) toolfold.Answer {
			got <- string(args)
			return answer(`{}`)
		})
		made := e.submit("make", task.SubmitIn{})
		id := e.submit("take", task.SubmitIn{Dependencies: []string{made}, Input: json.RawMessage(
			`{"tool":"take","arguments":{"a":"{{ tasks.make.output.n }}","b":"is {{ tasks[\"` + made +
				`\"].output.list }}: {{ tasks.make.output.text }}","c":"{{ input.x }}"}}`)})
		missing := e.submit("take", task.SubmitIn{Dependencies: []string{made},
			Input: json.RawMessage(`{"tool":"take","arguments":{"a":"{{ tasks.make.output.none }}"}}`)})
		e.work(queue.Options{})
		e.await(id, task.Completed)
		want := `{"a":12345678901234567890,"b":"is [1,2]: {{ tasks.make.output.n }}","c":"{{ input.x }}"}`
		if args := <-got; args != want {
			e.Errorf("it was called with %s, want %s", args, want)
		}
		if record := e.await(missing, task.Failed); record.Error != "INVALID_INPUT: /input/arguments/a: {{ "+
			"tasks.make.output.none }}: it has no value" {
			e.Errorf("it failed with %q", record.Error)
		}
		if record := e.status(id); !strings.Contains(string(record.Input), "tasks.make.output.n }}") {
			e.Errorf("its input was changed to %s", record.Input)
		}
	})
}

// A worker removes ended tasks after the retention time.
func TestRetention(t *testing.T) {
	eachStore(t, func(e env) {
		e.work(queue.Options{Retention: time.Millisecond})
		id := e.submit("short", task.SubmitIn{})
		testwait.Until(e, "the task is removed", func() bool {
			_, err := e.tasks.Status(e.Context(), task.StatusIn{TaskID: id})
			return err != nil && strings.Contains(err.Error(), task.NotFound)
		})
	})
}

// The status of a task has its progress and its last message, also after it was cancelled.
func TestProgress(t *testing.T) {
	eachStore(t, func(e env) {
		e.on("steps", func(ctx context.Context, _ json.RawMessage) toolfold.Answer {
			toolfold.Report(ctx, toolfold.Progress{Done: 1, Total: 3, Message: "draft: started"})
			<-ctx.Done()
			return toolfold.Errorf("STOPPED", "stopped").Answer()
		})
		e.work(queue.Options{})
		id := e.submit("steps", task.SubmitIn{})
		var got task.Record
		testwait.Until(e, "progress is shown", func() bool { got = e.status(id); return got.Progress != nil })
		if *got.Progress != (task.Steps{Done: 1, Total: 3}) || !slices.Equal(got.Lines, []string{"draft: started"}) {
			e.Errorf("it is at %v, and said %q", got.Progress, got.Lines)
		}
		if _, err := e.tasks.Cancel(e.Context(), task.CancelIn{TaskID: id}); err != nil {
			e.Fatal(err)
		}
		if got := e.status(id); got.Progress == nil || *got.Progress != (task.Steps{Done: 1, Total: 3}) || len(got.Lines) != 1 {
			e.Errorf("cancelled, it is at %v, and said %q", got.Progress, got.Lines)
		}
	})
}
