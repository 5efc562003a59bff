package queue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/storage/queue"
	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/tools/task"
)

// runs makes agent.run run steps with the engine. They call the test's actions.
func (e env) runs(text string) {
	e.Helper()
	var steps []engine.Step
	if err := json.Unmarshal([]byte(text), &steps); err != nil {
		e.Fatal(err)
	}
	program, faults := engine.Compile(engine.Definition{Steps: steps}, nil)
	if len(faults) > 0 {
		e.Fatal(faults)
	}
	runner := &engine.Runner{Caller: e.calls, Names: emptyNames{e.calls}}
	e.on("agent.run", func(ctx context.Context, _ json.RawMessage) toolfold.Answer {
		r := runner.Run(ctx, engine.Job{Kind: engine.WorkflowJob, ID: "steps", Program: program})
		out, err := json.Marshal(map[string]any{"success": r.Failure == nil, "output": r.Outputs, "error": r.Failure})
		if err != nil {
			return toolfold.Errorf(toolfold.Internal, "%v", err).Answer()
		}
		return toolfold.Answer{Content: out}
	})
}

// emptyNames is a set of names without actions.
type emptyNames struct{ entry.Names }

func (emptyNames) Absence(string) *toolfold.Error { return nil }

func (emptyNames) Actions() []*toolfold.Action { return nil }

// count makes an action count its calls, and fail if fails returns true.
func (e env) count(name string, fails func(n int32) bool) *atomic.Int32 {
	var n atomic.Int32
	e.on(name, func(context.Context, json.RawMessage) toolfold.Answer {
		if now := n.Add(1); fails != nil && fails(now) {
			return toolfold.Errorf("NO", "not yet").Answer()
		}
		return answer(fmt.Sprintf(`{"n":%d}`, n.Load()))
	})
	return &n
}

const stepsOfTest = `[
	{"stepId":"a","type":"tool","config":{"tool":"a"}},
	{"stepId":"l","type":"loop","config":{"items":[1,2],"steps":[{"stepId":"b","type":"tool","config":{"tool":"b"}},
			{"stepId":"c","type":"tool","config":{"tool":"c"}}]}},
	{"stepId":"d","type":"tool","config":{"tool":"d","arguments":{"from":"{{ steps.l[1].c.n + steps.a.n }}"}}}]`

// No finished step runs again after an attempt or a task.retry. Its results are available as if the
// run had never ended.
func TestFinishedStepsAreRecorded(t *testing.T) {
	eachStore(t, func(e env) {
		a, b := e.count("a", nil), e.count("b", nil)
		c := e.count("c", func(n int32) bool { return n == 1 || n == 3 || n == 4 })
		d := e.count("d", nil)
		e.runs(stepsOfTest)
		e.work(queue.Options{})
		id := e.submit("task", task.SubmitIn{Input: json.RawMessage(`{"tool":"agent.run","arguments":{"agentId":"x"}}`), MaxAttempts: 2})
		if got := e.await(id, task.Failed); !strings.Contains(string(got.Output), `"l":[{"b":{"n":1},"c":{"n":2}},{"b":{"n":2}}]`) {
			e.Errorf("what it had made is %s", got.Output)
		}
		if _, err := e.tasks.Retry(e.Context(), task.RetryIn{TaskID: id, ResetAttempts: true}); err != nil {
			e.Fatal(err)
		}
		got := e.await(id, task.Completed)
		if want := `{"a":{"n":1},"d":{"n":1},"l":[{"b":{"n":1},"c":{"n":2}},{"b":{"n":2},` +
			`"c":{"n":5}}]}`; !strings.Contains(string(got.Output), want) {
			e.Errorf("the output is %s, want %s", got.Output, want)
		}
		if a.Load() != 1 || b.Load() != 2 || c.Load() != 5 || d.Load() != 1 {
			e.Errorf("a ran %d times, b %d, c %d, d %d", a.Load(), b.Load(), c.Load(), d.Load())
		}
	})
}

// A step that is running when its worker stops runs again if its action may be done twice, or if
// the step allows it. Otherwise the task fails with the known details, and task.retry runs the
// step.
func TestStepsUnderWay(t *testing.T) {
	eachStore(t, func(e env) {
		first := e.count("first", nil)
		block := make(chan struct{}, 10)
		var blocked atomic.Int32
		wait := func(ctx context.Context, _ json.RawMessage) toolfold.Answer {
			if blocked.Add(1) > 3 {
				return answer(`{"done":true}`)
			}
			block <- struct{}{}
			return untilStopped(ctx, nil)
		}
		e.on("once", wait)
		e.on("often", wait)
		for name, test := range map[string]struct {
			input, code string
		}{
			"idempotent": {`[{"stepId":"first","type":"tool","config":{"tool":"first"}},{"stepId":"s","type":"tool","config":{"tool":"often"}}]`,
				""},
			"says so": {`[{"stepId":"first","type":"tool","config":{"tool":"first"}},{"stepId":"s","type":"tool","idempotent":true,` +
				`"config":{"tool":"once"}}]`, ""},
			"not known": {`[{"stepId":"first","type":"tool","config":{"tool":"first"}},{"stepId":"s","type":"tool","config":{"tool":"once"}}]`,
				engine.Interrupted},
			"call": {``, engine.Interrupted},
		} {
			first.Store(0)
			blocked.Store(2)
			in := task.SubmitIn{Input: json.RawMessage(`{"tool":"once","arguments":{}}`), MaxAttempts: 3}
			if test.input != "" {
				e.runs(test.input)
				in.Input = json.RawMessage(`{"tool":"agent.run","arguments":{"agentId":"x"}}`)
			}
			stop := e.work(queue.Options{Grace: 10 * time.Millisecond, Notice: testwait.Limit})
			id := e.submit("task", in)
			<-block
			stop()
			stop = e.work(queue.Options{})
			if test.code != "" {
				got := e.await(id, task.Failed)
				if !strings.HasPrefix(got.Error, test.code) || got.Attempt != 1 || blocked.Load() != 3 {
					e.Errorf("%s: attempt %d failed with %q, after %d runs", name, got.Attempt, got.Error, blocked.Load()-2)
				}
				if test.input != "" && !strings.Contains(string(got.Output), `"first":{"n":1}`) {
					e.Errorf("%s: what is known is %s", name, got.Output)
				}
				if _, err := e.tasks.Retry(e.Context(), task.RetryIn{TaskID: id}); err != nil {
					e.Fatal(err)
				}
			}
			e.await(id, task.Completed)
			if test.input != "" && first.Load() != 1 {
				e.Errorf("%s: the finished step ran %d times", name, first.Load())
			}
			stop()
		}
	})
}

// A task that times out or is cancelled, also by force, keeps its results and shows its progress.
func TestStoppedTasksHavePartialOutputs(t *testing.T) {
	eachStore(t, func(e env) {
		e.count("a", nil)
		var stuck atomic.Int32
		e.on("stuck", func(ctx context.Context, args json.RawMessage) toolfold.Answer {
			stuck.Add(1)
			return untilStopped(ctx, args)
		})
		e.runs(`[{"stepId":"a","type":"tool","config":{"tool":"a"}},{"stepId":"s","type":"tool","config":{"tool":"stuck"}}]`)
		e.work(queue.Options{})
		input := json.RawMessage(`{"tool":"agent.run","arguments":{"agentId":"x"}}`)
		under := func(id string) {
			testwait.Until(e, "progress is shown", func() bool { p := e.status(id).Progress; return p != nil && p.Done >= 1 })
		}
		var late string
		for ms := 500; stuck.Load() == 0; ms *= 2 { // until the first step had time to run
			late = e.submit("late", task.SubmitIn{Input: input, TimeoutMs: ms})
			e.await(late, task.TimedOut)
		}
		cancelled := e.submit("cancelled", task.SubmitIn{Input: input})
		forced := e.submit("forced", task.SubmitIn{Input: input})
		under(cancelled)
		under(forced)
		for id, force := range map[string]bool{cancelled: false, forced: true} {
			if _, err := e.tasks.Cancel(e.Context(), task.CancelIn{TaskID: id, Force: force}); err != nil {
				e.Fatal(err)
			}
		}
		for id, state := range map[string]string{late: task.TimedOut, cancelled: task.Cancelled, forced: task.Cancelled} {
			e.await(id, state)
			var got task.Record
			testwait.Until(e, "the task shows what it had made", func() bool {
				got = e.status(id)
				return strings.Contains(string(got.Output), `"a":{"n":`)
			})
			if got.Progress == nil || got.Progress.Total != 2 || got.Progress.Done < 1 || len(got.Lines) == 0 {
				e.Errorf("%s shows progress %v and lines %v", got.Name, got.Progress, got.Lines)
			}
		}
	})
}
