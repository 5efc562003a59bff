package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/tools"
)

func TestStepsInOrder(t *testing.T) {
	t.Parallel()
	caller := newCaller()
	r := do(t, caller, `
- {stepId: a, type: tool, config: {tool: echo, arguments: {n: 1, big: 12345678901234567890, text: "n is {{ input.n }}"}}}
- {stepId: b-2, type: tool, config: {tool: echo, arguments: {of: "{{ steps.a }}", list: ["{{ input.n + 1 }}"], none: "{{ input.none }}"}}}
- {stepId: c, type: tool, config: {tool: echo, arguments: "{{ steps[\"b-2\"].of }}"}}
- {stepId: d, type: tool, config: {tool: echo}}
`, `{"n":7}`)
	expect(t, r, `{"a":{"big":12345678901234567000,"n":1,"text":"n is 7"},`+
		`"b-2":{"list":[8],"none":null,"of":{"big":12345678901234567000,"n":1,"text":"n is 7"}},`+
		`"c":{"big":12345678901234567000,"n":1,"text":"n is 7"},"d":{}}`)
	if diff := cmp.Diff(`echo {"big":12345678901234567890,"n":1,"text":"n is 7"}`, caller.calls[0]); diff != "" {
		t.Error("a literal is not passed on as it was written:", diff)
	}
	var order []string
	for _, s := range r.Steps {
		order = append(order, s.StepID)
		if !s.Success || s.DurationMs < 0 {
			t.Errorf("%+v", s)
		}
	}
	if diff := cmp.Diff([]string{"a", "b-2", "c", "d"}, order); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{}, r.Last); diff != "" {
		t.Error("last:", diff)
	}
}

// gate lets a tool wait until the test opens it, and counts who waits.
type gate struct {
	open    chan struct{}
	waiting atomic.Int64
	most    atomic.Int64
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) wait(ctx context.Context, args map[string]any) (any, error) {
	n := g.waiting.Add(1)
	defer g.waiting.Add(-1)
	for {
		most := g.most.Load()
		if n <= most || g.most.CompareAndSwap(most, n) {
			break
		}
	}
	select {
	case <-g.open:
		return args, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// Steps really run at the same time, and no more of them than may.
func TestConcurrencyIsRealAndBounded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		steps string
		want  int64
	}{
		"in order":         {many(3, "- {stepId: s%d, type: tool, config: {tool: wait}}\n"), 1},
		"after a first":    {"- {stepId: s, type: tool, config: {tool: echo}}\n" + many(12, "- {stepId: s%d, type: tool, dependsOn: [s], config: {tool: wait}}\n"), 5},
		"parallel":         {"- {stepId: p, type: parallel, config: {steps: [" + many(12, "{stepId: s%d, type: tool, config: {tool: wait}},") + "]}}", 5},
		"parallel by two":  {"- {stepId: p, type: parallel, config: {maxConcurrency: 2, steps: [" + many(12, "{stepId: s%d, type: tool, config: {tool: wait}},") + "]}}", 2},
		"parallel by nine": {"- {stepId: p, type: parallel, config: {maxConcurrency: 9, steps: [" + many(12, "{stepId: s%d, type: tool, config: {tool: wait}},") + "]}}", 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate()
			caller := newCaller()
			caller.tools["wait"] = g.wait
			done := make(chan Result)
			go func() { done <- do(t, caller, test.steps, `{}`) }()
			eventually(t, "all that may run wait at the gate", func() bool { return g.waiting.Load() == test.want })
			close(g.open)
			succeed(t, <-done)
			if most := g.most.Load(); most != test.want {
				t.Errorf("%d ran at once, want %d", most, test.want)
			}
		})
	}
}

// A step starts as soon as what it depends on is done, whatever else runs.
func TestDependencies(t *testing.T) {
	t.Parallel()
	g := newGate()
	caller := newCaller()
	caller.tools["wait"] = g.wait
	caller.tools["open"] = func(_ context.Context, args map[string]any) (any, error) {
		close(g.open)
		return args, nil
	}
	r := do(t, caller, `
- {stepId: last, type: tool, dependsOn: [slow, quick2], config: {tool: echo, arguments: {all: "{{ keys(steps) | sort() }}"}}}
- {stepId: slow, type: tool, config: {tool: wait}}
- {stepId: quick, type: tool, config: {tool: echo, arguments: {n: 1}}}
- {stepId: quick2, type: tool, dependsOn: [quick], config: {tool: open, arguments: {n: "{{ steps.quick.n + 1 }}"}}}
`, `{}`)
	expect(t, r, `{"last":{"all":["quick","quick2","slow"]},"quick":{"n":1},"quick2":{"n":2},"slow":{}}`)
	if len(r.Steps) != 4 || r.Steps[3].StepID != "last" {
		t.Errorf("%+v", r.Steps)
	}
}

func TestConditional(t *testing.T) {
	t.Parallel()
	const text = `
- stepId: check
  type: conditional
  config:
    condition: "{{ input.n > 2 }}"
    then:
      - {stepId: big, type: tool, config: {tool: echo, arguments: {is: big}}}
      - {stepId: more, type: tool, config: {tool: echo, arguments: {was: "{{ steps.big.is }}"}}}
    else: [{stepId: small, type: tool, config: {tool: echo, arguments: {is: small}}}]
- {stepId: after, type: tool, config: {tool: echo, arguments: {more: "{{ \"more\" in steps.check }}"}}}
`
	expect(t, do(t, newCaller(), text, `{"n":3}`), `{"after":{"more":true},"check":{"big":{"is":"big"},"more":{"was":"big"}}}`)
	expect(t, do(t, newCaller(), text, `{"n":2}`), `{"after":{"more":false},"check":{"small":{"is":"small"}}}`)
	const only = `[{stepId: c, type: conditional, config: {condition: input.yes, then: [{stepId: s, type: tool, config: {tool: echo}}]}}]`
	expect(t, do(t, newCaller(), only, `{"yes":false}`), `{"c":{}}`)
	expectFailure(t, do(t, newCaller(), only, `{"yes":"true"}`), "c", StepFailed, "condition: it is a text, not true or false")
}

func TestLoop(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ config, want string }{
		"list": {`{items: [a, "{{ input.x }}"], steps: [{stepId: s, type: tool, config: {tool: echo, arguments: {i: "{{ index }}", it: "{{ item }}"}}}]}`,
			`[{"s":{"i":0,"it":"a"}},{"s":{"i":1,"it":"y"}}]`},
		"expression": {`{items: "input.list", as: file, steps: [{stepId: s, type: tool, config: {tool: echo, arguments: {f: "{{ file.name }}-{{ item.name }}"}}}]}`,
			`[{"s":{"f":"p-p"}},{"s":{"f":"q-q"}}]`},
		"range":       {`{items: "{{ 1..2 }}", steps: [{stepId: s, type: tool, config: {tool: echo, arguments: {n: "{{ item }}"}}}]}`, `[{"s":{"n":1}},{"s":{"n":2}}]`},
		"nothing":     {`{items: [], steps: [{stepId: s, type: tool, config: {tool: echo}}]}`, `[]`},
		"while":       {`{while: "index < 3", steps: [{stepId: s, type: tool, config: {tool: echo, arguments: {i: "{{ index }}"}}}]}`, `[{"s":{"i":0}},{"s":{"i":1}},{"s":{"i":2}}]`},
		"until":       {`{until: "steps.s.i == 1", steps: [{stepId: s, type: tool, config: {tool: echo, arguments: {i: "{{ index }}"}}}]}`, `[{"s":{"i":0}},{"s":{"i":1}}]`},
		"while steps": {`{while: "steps.s == nil || steps.s.i < 1", steps: [{stepId: s, type: tool, config: {tool: echo, arguments: {i: "{{ index }}"}}}]}`, `[{"s":{"i":0}},{"s":{"i":1}}]`},
		"previous": {`{items: [1, 2, 3], steps: [{stepId: sum, type: tool, config: {tool: echo, arguments: {n: "{{ item + (previous?.sum.n ?? 0) }}"}}}]}`,
			`[{"sum":{"n":1}},{"sum":{"n":3}},{"sum":{"n":6}}]`},
		"list until": {`{items: [1, 2, 3], until: "item == 2", steps: [{stepId: s, type: tool, config: {tool: echo}}]}`, `[{"s":{}},{"s":{}}]`},
		"nested": {`{items: [1, 2], as: outer, steps: [{stepId: in, type: loop, config: {items: [3], steps: [{stepId: s, type: tool, config: {tool: echo, arguments: {n: "{{ outer * item }}"}}}]}}]}`,
			`[{"in":[{"s":{"n":3}}]},{"in":[{"s":{"n":6}}]}]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := do(t, newCaller(), `[{stepId: l, type: loop, config: `+test.config+`}]`, `{"x":"y","list":[{"name":"p"},{"name":"q"}]}`)
			expect(t, r, `{"l":`+test.want+`}`)
		})
	}
}

func TestLoopsEnd(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		`{while: "true", maxIterations: 3, steps: [{stepId: s, type: tool, config: {tool: echo}}]}`: "not over after 3 rounds",
		`{until: "false", steps: [{stepId: s, type: tool, config: {tool: echo}}]}`:                  "not over after 100 rounds",
		`{items: "1..101", steps: [{stepId: s, type: tool, config: {tool: echo}}]}`:                 "items has 101 entries, more than maxIterations, which is 100",
		`{items: "input", steps: [{stepId: s, type: tool, config: {tool: echo}}]}`:                  "items is an object, not a list",
		`{items: [1], while: "index", steps: [{stepId: s, type: tool, config: {tool: echo}}]}`:      "while: it is a number, not true or false",
	} {
		expectFailure(t, do(t, newCaller(), `[{stepId: l, type: loop, config: `+config+`}]`, `{}`), "l", StepFailed, want)
	}
	r := do(t, newCaller(), `[{stepId: l, type: loop, config: {items: [1, 2], steps: [{stepId: s, type: tool, config: {tool: "{{ item }}"}}]}}]`, `{}`)
	expectFailure(t, r, "s", ToolNotFound, "round 1: there is no tool")
}

// A run may not go on for ever, nor keep without end.
func TestRunsAreBounded(t *testing.T) {
	t.Parallel()
	round := `[{stepId: a, type: loop, config: {items: "1..1000", maxIterations: 1000, steps: [
	{stepId: b, type: loop, config: {items: "1..1000", maxIterations: 1000, steps: [{stepId: s, type: tool, config: {tool: echo}}]}}]}}]`
	r := do(t, newCaller(), round, `{}`)
	if r.Failure == nil || !strings.Contains(r.Failure.Message, "the run took 10000 steps") {
		t.Errorf("%+v", r.Failure)
	}
	caller := newCaller()
	caller.tools["huge"] = func(context.Context, map[string]any) (any, error) {
		return map[string]any{"text": strings.Repeat("x", 1<<20)}, nil
	}
	r = do(t, caller, `[{stepId: a, type: loop, config: {items: "1..100", steps: [{stepId: s, type: tool, config: {tool: huge}}]}}]`, `{}`)
	expectFailure(t, r, "s", StepFailed, "round 16: the outputs of the run have more than 16777216 bytes")
}

func TestFailureStopsTheRun(t *testing.T) {
	t.Parallel()
	caller := newCaller()
	caller.tools["fail"] = func(context.Context, map[string]any) (any, error) { return nil, errors.New("no luck") }
	r := do(t, caller, `
- {stepId: a, type: tool, config: {tool: echo, arguments: {n: 1}}}
- {stepId: b, type: parallel, config: {steps: [{stepId: c, type: tool, config: {tool: fail}}]}}
- {stepId: d, type: tool, config: {tool: echo}}
`, `{}`)
	expectFailure(t, r, "c", ToolExecutionError, "fail: BROKEN: no luck")
	if diff := cmp.Diff(map[string]any{"a": map[string]any{"n": 1}}, r.Outputs); diff != "" {
		t.Error(diff)
	}
	if len(r.Steps) != 2 || r.Steps[1].StepID != "b" || r.Steps[1].Success || r.Steps[1].Error.StepID != "c" || r.Last != nil {
		t.Errorf("%+v", r)
	}
}

// The first failure stops what runs beside it.
func TestFailureStopsSiblings(t *testing.T) {
	t.Parallel()
	g := newGate()
	caller := newCaller()
	caller.tools["wait"] = g.wait
	caller.tools["fail"] = func(ctx context.Context, _ map[string]any) (any, error) {
		eventually(t, "the others run", func() bool { return g.waiting.Load() == 2 })
		return nil, errors.New("no luck")
	}
	r := do(t, caller, `
- stepId: p
  type: parallel
  config:
    maxConcurrency: 3
    steps: [{stepId: w1, type: tool, config: {tool: wait}}, {stepId: w2, type: tool, config: {tool: wait}},
      {stepId: f, type: tool, config: {tool: fail}}, {stepId: never, type: tool, config: {tool: echo}}]
`, `{}`)
	expectFailure(t, r, "f", ToolExecutionError, "no luck")
	if g.waiting.Load() != 0 {
		t.Error("siblings still run")
	}
	for _, call := range caller.calls {
		if strings.HasPrefix(call, "echo") {
			t.Error("a step started after the failure")
		}
	}
}

func TestErrorsOfTools(t *testing.T) {
	t.Parallel()
	caller := newCaller()
	caller.tools["refuse"] = func(context.Context, map[string]any) (any, error) {
		return nil, &tools.Error{Code: tools.InvalidInput, Message: "key is missing", Usage: "refuse(key)"}
	}
	caller.tools["session"] = func(context.Context, map[string]any) (any, error) {
		return nil, tools.Errorf("SESSION_NOT_FOUND", "there is none").WithHint("open one")
	}
	caller.tools["told"] = func(context.Context, map[string]any) (any, error) {
		return map[string]any{"success": false, "error": map[string]any{"code": "X", "message": "inner", "hint": "do y"}}, nil
	}
	caller.tools["honest"] = func(context.Context, map[string]any) (any, error) { return map[string]any{"success": false}, nil }
	for tool, want := range map[string]Failure{
		"nothing": {Code: ToolNotFound, Message: `there is no tool "nothing"`},
		"refuse":  {Code: ToolConfigError, Message: "key is missing", Hint: "usage: refuse(key)"},
		"session": {Code: ToolExecutionError, Message: "session: SESSION_NOT_FOUND: there is none", Hint: "open one"},
		"told":    {Code: ToolExecutionError, Message: "X: inner", Hint: "do y"},
	} {
		r := do(t, caller, `[{stepId: s, type: tool, config: {tool: `+tool+`}}]`, `{}`)
		want.StepID = "s"
		if r.Failure == nil || r.Failure.Code != want.Code || r.Failure.Message != want.Message || r.Failure.Hint != want.Hint {
			t.Errorf("%s: %+v, want %+v", tool, r.Failure, want)
		}
	}
	expect(t, do(t, caller, `[{stepId: s, type: tool, config: {tool: honest}}]`, `{}`), `{"s":{"success":false}}`)
}

// counting fails until it was called often enough.
func counting(calls *atomic.Int64, succeedAt int64) func(context.Context, map[string]any) (any, error) {
	return func(context.Context, map[string]any) (any, error) {
		if n := calls.Add(1); n < succeedAt {
			return nil, fmt.Errorf("attempt %d", n)
		}
		return map[string]any{"n": calls.Load()}, nil
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		retry string
		at    int64
		calls int64
		ok    bool
	}{
		"none":        {``, 2, 1, false},
		"enough":      {`, retry: {maxAttempts: 5, backoffMs: 1}`, 4, 4, true},
		"not enough":  {`, retry: {maxAttempts: 2, backoffMs: 1}`, 4, 2, false},
		"three unset": {`, retry: {backoffMs: 1}`, 9, 3, false},
		"not needed":  {`, retry: {maxAttempts: 5, backoffMs: 60000}`, 1, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			caller := newCaller()
			caller.tools["flaky"] = counting(&calls, test.at)
			r := do(t, caller, `[{stepId: s, type: tool, config: {tool: flaky}`+test.retry+`}]`, `{}`)
			if (r.Failure == nil) != test.ok || calls.Load() != test.calls {
				t.Errorf("%d calls, %+v", calls.Load(), r.Failure)
			}
		})
	}
}

// What every attempt would meet is not tried again.
func TestFinalFailuresAreNotRetried(t *testing.T) {
	t.Parallel()
	caller := newCaller()
	r := do(t, caller, `[{stepId: s, type: tool, config: {tool: nothing}, retry: {maxAttempts: 5, backoffMs: 60000}}]`, `{}`)
	expectFailure(t, r, "s", ToolNotFound, "nothing")
	if len(caller.calls) != 1 {
		t.Errorf("%d attempts", len(caller.calls))
	}
}

// Waits double: four attempts wait 20+40+80 ms at least.
func TestBackoffDoubles(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	caller := newCaller()
	caller.tools["flaky"] = counting(&calls, 9)
	start := time.Now()
	do(t, caller, `[{stepId: s, type: tool, config: {tool: flaky}, retry: {maxAttempts: 4, backoffMs: 20}}]`, `{}`)
	if waited := time.Since(start); waited < 140*time.Millisecond {
		t.Errorf("waited %s, want at least 140ms", waited)
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	g := newGate()
	caller := newCaller()
	caller.tools["wait"] = g.wait
	for text, step := range map[string]string{
		`[{stepId: s, type: tool, timeoutMs: 20, config: {tool: wait}}]`:                                                 "s",
		`[{stepId: p, type: parallel, timeoutMs: 20, config: {steps: [{stepId: s, type: tool, config: {tool: wait}}]}}]`: "s",
	} {
		r := do(t, caller, text, `{}`)
		expectFailure(t, r, step, TimedOut, "took longer than it may")
	}
	var calls atomic.Int64
	caller.tools["slow first"] = func(ctx context.Context, args map[string]any) (any, error) {
		if calls.Add(1) == 1 {
			return g.wait(ctx, args)
		}
		return args, nil
	}
	succeed(t, do(t, caller, `[{stepId: s, type: tool, timeoutMs: 1000, retry: {backoffMs: 1}, config: {tool: slow first}}]`, `{}`))
	if p := compiled(t, `[{stepId: s, type: tool, config: {tool: x}}, {stepId: d, type: delegate, config: {agentId: x}}]`); p.steps.nodes[0].timeout != 2*time.Minute || p.steps.nodes[1].timeout != 0 {
		t.Error("the default timeouts are not those documented")
	}
}

// A cancelled run ends with all that it started, wherever it was.
func TestCancellation(t *testing.T) {
	for name, text := range map[string]string{
		"tool":     `[{stepId: s, type: tool, config: {tool: wait}}, {stepId: never, type: tool, config: {tool: echo}}]`,
		"parallel": `[{stepId: p, type: parallel, config: {steps: [{stepId: a, type: tool, config: {tool: wait}}, {stepId: b, type: tool, config: {tool: wait}}]}}]`,
		"loop":     `[{stepId: l, type: loop, config: {while: "true", maxIterations: 1000, steps: [{stepId: a, type: tool, config: {tool: wait}}]}}]`,
		"branch":   `[{stepId: c, type: conditional, config: {condition: "true", then: [{stepId: a, type: tool, config: {tool: wait}}]}}]`,
		"backoff":  `[{stepId: s, type: tool, retry: {maxAttempts: 3, backoffMs: 60000}, config: {tool: fail}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate()
			caller := newCaller()
			caller.tools["wait"] = g.wait
			var failed atomic.Bool
			caller.tools["fail"] = func(context.Context, map[string]any) (any, error) {
				failed.Store(true)
				return nil, errors.New("no luck")
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan Result)
			go func() {
				done <- (&Runner{Caller: caller}).Run(ctx, Job{Kind: WorkflowJob, ID: "w", Program: compiled(t, text)})
			}()
			eventually(t, "a step runs", func() bool { return g.waiting.Load() > 0 || failed.Load() })
			cancel()
			select {
			case r := <-done:
				if r.Failure == nil || r.Failure.Code != Cancelled {
					t.Errorf("%+v", r.Failure)
				}
			case <-time.After(patience):
				t.Fatal("the run goes on")
			}
			if g.waiting.Load() != 0 {
				t.Error("a tool is still running")
			}
			eventually(t, "no goroutine is left", func() bool { return engineGoroutines() == 0 })
		})
	}
}

func TestRunOfACancelledContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	caller := newCaller()
	r := (&Runner{Caller: caller}).Run(ctx, Job{Kind: WorkflowJob, ID: "w", Program: compiled(t, `[{stepId: s, type: tool, config: {tool: echo}}]`)})
	if r.Failure == nil || r.Failure.Code != Cancelled || len(caller.calls) != 0 {
		t.Errorf("%+v, %v", r.Failure, caller.calls)
	}
}

func TestPanicsStayInside(t *testing.T) {
	t.Parallel()
	caller := newCaller()
	caller.tools["panic"] = func(context.Context, map[string]any) (any, error) { panic("secret of the stack") }
	r := do(t, caller, `[{stepId: s, type: tool, config: {tool: panic}}]`, `{}`)
	expectFailure(t, r, "s", tools.Internal, "the step broke down")
	if strings.Contains(r.Failure.Message, "secret") {
		t.Error(r.Failure.Message)
	}
}

func TestDelegation(t *testing.T) {
	t.Parallel()
	caller := newCaller()
	caller.tools["agent.run"] = func(_ context.Context, args map[string]any) (any, error) {
		switch args["agentId"] {
		case "writer":
			return map[string]any{"success": true, "output": args}, nil
		case "broken":
			return map[string]any{"success": false, "error": map[string]any{"code": "AGENT_STAGE_FAILED", "message": "no model", "hint": "set one"}}, nil
		}
		return nil, tools.Errorf("AGENT_NOT_FOUND", "there is no agent")
	}
	r := (&Runner{Caller: caller}).Run(t.Context(), Job{Kind: WorkflowJob, ID: "w", Session: "s1", Program: compiled(t, `
- {stepId: a, type: delegate, config: {targetAgent: writer, input: {topic: "{{ input.t ?? 1 }}"}}}
- {stepId: b, type: delegate, config: {targetAgentId: "{{ steps.a.agentId }}"}}
`)})
	expect(t, r, `{"a":{"agentId":"writer","input":{"topic":1},"sessionId":"s1"},"b":{"agentId":"writer","input":{},"sessionId":"s1"}}`)
	r = do(t, caller, `[{stepId: a, type: delegate, config: {agentId: broken}}]`, `{}`)
	expectFailure(t, r, "a", DependencyFailed, "agent broken failed: AGENT_STAGE_FAILED: no model")
	if r.Failure.Hint != "set one" {
		t.Error(r.Failure.Hint)
	}
	expectFailure(t, do(t, caller, `[{stepId: a, type: delegate, config: {agentId: x}}]`, `{}`), "a", DependencyFailed, "agent x: AGENT_NOT_FOUND")
}

func TestChain(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	if Nested(ctx) {
		t.Error("nested at first")
	}
	for i := range MaxDepth + 1 {
		next, err := Enter(ctx, AgentJob, fmt.Sprint("a", i), -1)
		if err != nil {
			t.Fatal(i, err)
		}
		if _, err := Enter(next, AgentJob, "a0", -1); err == nil || err.Code != DelegationDepth || !strings.Contains(err.Message, "agent a0 would run within itself: agent a0 → ") {
			t.Errorf("cycle at %d: %v", i, err)
		}
		ctx = next
	}
	if _, err := Enter(ctx, AgentJob, "too deep", -1); err == nil || err.Code != DelegationDepth || !strings.Contains(err.Message, "too deep") {
		t.Error(err)
	}
	if !Nested(ctx) {
		t.Error("not nested")
	}
	shallow, _ := Enter(t.Context(), AgentJob, "a", 0)
	if _, err := Enter(shallow, AgentJob, "b", -1); err == nil {
		t.Error("maxDelegationDepth 0 lets delegate")
	}
	if _, err := Enter(shallow, WorkflowJob, "a", -1); err == nil {
		t.Error("a workflow is not counted")
	}
	once, _ := Enter(t.Context(), AgentJob, "a", -1)
	if _, err := Enter(once, WorkflowJob, "a", -1); err != nil {
		t.Error("an agent and a workflow of one name are taken for one:", err)
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []Progress
	ctx := WithProgress(t.Context(), func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, p)
	})
	caller := newCaller()
	r := &Runner{Caller: caller}
	inner := compiled(t, `[{stepId: x, type: tool, config: {tool: echo}}, {stepId: y, type: tool, config: {tool: echo}}]`)
	caller.tools["agent.run"] = func(ctx context.Context, _ map[string]any) (any, error) {
		return map[string]any{"output": r.Run(ctx, Job{Kind: AgentJob, ID: "in", Program: inner}).Outputs}, nil
	}
	succeed(t, r.Run(ctx, Job{Kind: WorkflowJob, ID: "w", Program: compiled(t, `
- {stepId: a, type: delegate, config: {agentId: in}}
- {stepId: b, type: loop, config: {items: [1, 2], steps: [{stepId: s, type: tool, config: {tool: echo}}]}}
- {stepId: c, type: parallel, config: {steps: [{stepId: p, type: tool, config: {tool: echo}}, {stepId: q, type: tool, config: {tool: echo}}]}}
`)}))
	last := Progress{}
	messages := map[string]int{}
	for _, p := range seen {
		if p.Done <= last.Done || p.Total != 3 {
			t.Errorf("%+v after %+v", p, last)
		}
		last = p
		messages[p.Message]++
	}
	if last.Done < 2.999999 || last.Done > 3 || last.Message != "c: done" {
		t.Errorf("the last report is %+v", last)
	}
	want := map[string]int{}
	for _, step := range []string{"a", "x", "y", "b", "s", "s", "c", "p", "q"} {
		want[step+": started"]++
		want[step+": done"]++
	}
	if diff := cmp.Diff(want, messages); diff != "" {
		t.Error(diff)
	}
}
