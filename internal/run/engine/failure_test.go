package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/test/testwait"
)

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
	if len(r.Steps) != 2 || r.Steps[1].StepID != "b" || r.Steps[1].Success || r.Steps[1].Error != nil || r.Last != nil {
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
		testwait.Until(t, "the others run", func() bool { return g.callers.Load() == 2 })
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
	if g.callers.Load() != 0 {
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
		return nil, &toolfold.Error{Code: toolfold.InvalidInput, Message: "key is missing", Usage: "refuse(key)"}
	}
	caller.tools["session"] = func(context.Context, map[string]any) (any, error) {
		return nil, toolfold.Errorf("SESSION_NOT_FOUND", "there is none").WithHint("open one")
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

// A step whose run stopped at a call that may have been done has no further attempt, which would make
// the call again.
func TestInterruptedIsNotRetried(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	caller := newCaller()
	caller.tools["stops"] = func(context.Context, map[string]any) (any, error) {
		calls.Add(1)
		return map[string]any{"success": false, "error": map[string]any{"code": Interrupted, "message": "call 1 may have been done"}}, nil
	}
	r := do(t, caller, `[{stepId: s, type: tool, config: {tool: stops}, retry: {maxAttempts: 3, backoffMs: 1}}]`, `{}`)
	if r.Failure == nil || calls.Load() != 1 {
		t.Errorf("%d calls, %+v", calls.Load(), r.Failure)
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

// Waits double: four attempts wait 20+40+80 ms.
func TestBackoffDoubles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		caller := newCaller()
		caller.tools["flaky"] = counting(&calls, 9)
		start := time.Now()
		do(t, caller, `[{stepId: s, type: tool, config: {tool: flaky}, retry: {maxAttempts: 4, backoffMs: 20}}]`, `{}`)
		if waited := time.Since(start); waited != 140*time.Millisecond {
			t.Errorf("waited %s, want 140ms", waited)
		}
	})
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, checkTimeouts)
}

func checkTimeouts(t *testing.T) {
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
	if p := compiled(t, `[{stepId: s, type: tool, config: {tool: x}}, {stepId: d, type: delegate,`+
		` config: {agentId: x}}]`); p.steps.nodes[0].timeout != 2*time.Minute || p.steps.nodes[1].timeout != 0 {
		t.Error("the default timeouts are not those documented")
	}
}
