package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/test/testwait"
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
	callers atomic.Int64
	most    atomic.Int64
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) wait(ctx context.Context, args map[string]any) (any, error) {
	n := g.callers.Add(1)
	defer g.callers.Add(-1)
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
		"in order": {many(3, "- {stepId: s%d, type: tool, config: {tool: wait}}\n"), 1},
		"after a first": {"- {stepId: s, type: tool, config: {tool: echo}}\n" +
			many(12, "- {stepId: s%d, type: tool, dependsOn: [s], config: {tool: wait}}\n"), 5},
		"parallel": {"- {stepId: p, type: parallel, config: {steps: [" + many(12, "{stepId: s%d, type: tool, config: {tool: wait}},") +
			"]}}", 5},
		"parallel by two": {"- {stepId: p, type: parallel, config: {maxConcurrency: 2, steps: [" +
			many(12, "{stepId: s%d, type: tool, config: {tool: wait}},") + "]}}", 2},
		"parallel by nine": {"- {stepId: p, type: parallel, config: {maxConcurrency: 9, steps: [" +
			many(12, "{stepId: s%d, type: tool, config: {tool: wait}},") + "]}}", 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate()
			caller := newCaller()
			caller.tools["wait"] = g.wait
			done := make(chan Result)
			go func() { done <- do(t, caller, test.steps, `{}`) }()
			testwait.Until(t, "all that may run wait at the gate", func() bool { return g.callers.Load() == test.want })
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
		"list": {`{items: [a, "{{ input.x }}"], steps: [{stepId: s, type: tool, config: {tool: echo,` +
			` arguments: {i: "{{ index }}", it: "{{ item }}"}}}]}`,
			`[{"s":{"i":0,"it":"a"}},{"s":{"i":1,"it":"y"}}]`},
		"expression": {`{items: "input.list", as: file, steps: [{stepId: s, type: tool, config: {tool: echo,` +
			` arguments: {f: "{{ file.name }}-{{ item.name }}"}}}]}`,
			`[{"s":{"f":"p-p"}},{"s":{"f":"q-q"}}]`},
		"range": {`{items: "{{ 1..2 }}", steps: [{stepId: s, type: tool, config: {tool: echo, arguments: {n: "{{ item }}"}}}]}`,
			`[{"s":{"n":1}},{"s":{"n":2}}]`},
		"nothing": {`{items: [], steps: [{stepId: s, type: tool, config: {tool: echo}}]}`, `[]`},
		"while": {`{while: "index < 3", steps: [{stepId: s, type: tool, config: {tool: echo, arguments: {i: "{{ index }}"}}}]}`,
			`[{"s":{"i":0}},{"s":{"i":1}},{"s":{"i":2}}]`},
		"until": {`{until: "steps.s.i == 1", steps: [{stepId: s, type: tool, config: {tool: echo, arguments: {i: "{{ index }}"}}}]}`,
			`[{"s":{"i":0}},{"s":{"i":1}}]`},
		"while steps": {`{while: "steps.s == nil || steps.s.i < 1", steps: [{stepId: s, type: tool, config: {tool: echo,` +
			` arguments: {i: "{{ index }}"}}}]}`, `[{"s":{"i":0}},{"s":{"i":1}}]`},
		"previous": {`{items: [1, 2, 3], steps: [{stepId: sum, type: tool, config: {tool: echo,` +
			` arguments: {n: "{{ item + (previous?.sum.n ?? 0) }}"}}}]}`,
			`[{"sum":{"n":1}},{"sum":{"n":3}},{"sum":{"n":6}}]`},
		"list until": {`{items: [1, 2, 3], until: "item == 2", steps: [{stepId: s, type: tool, config: {tool: echo}}]}`, `[{"s":{}},{"s":{}}]`},
		"nested": {`{items: [1, 2], as: outer, steps: [{stepId: in, type: loop, config: {items: [3], steps: [{stepId: s, type: tool,` +
			` config: {tool: echo, arguments: {n: "{{ outer * item }}"}}}]}}]}`,
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
		`{items: "1..101", steps: [{stepId: s, type: tool, config: {tool: echo}}]}`: "items has 101 entries, more than " +
			"maxIterations, which is 100",
		`{items: "input", steps: [{stepId: s, type: tool, config: {tool: echo}}]}`:             "items is an object, not a list",
		`{items: [1], while: "index", steps: [{stepId: s, type: tool, config: {tool: echo}}]}`: "while: it is a number, not true or false",
	} {
		expectFailure(t, do(t, newCaller(), `[{stepId: l, type: loop, config: `+config+`}]`, `{}`), "l", StepFailed, want)
	}
	r := do(t, newCaller(), `[{stepId: l, type: loop, config: {items: [1, 2], steps: [{stepId: s, type: tool,`+
		` config: {tool: "{{ item }}"}}]}}]`, `{}`)
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

// A cancelled run ends with all that it started, wherever it was.
func TestCancellation(t *testing.T) {
	for name, text := range map[string]string{
		"tool": `[{stepId: s, type: tool, config: {tool: wait}}, {stepId: never, type: tool, config: {tool: echo}}]`,
		"parallel": `[{stepId: p, type: parallel, config: {steps: [{stepId: a, type: tool, config: {tool: wait}}, {stepId: b, type: tool,` +
			` config: {tool: wait}}]}}]`,
		"loop": `[{stepId: l, type: loop, config: {while: "true", maxIterations: 1000, steps: [{stepId: a, type: tool,` +
			` config: {tool: wait}}]}}]`,
		"branch":  `[{stepId: c, type: conditional, config: {condition: "true", then: [{stepId: a, type: tool, config: {tool: wait}}]}}]`,
		"backoff": `[{stepId: s, type: tool, retry: {maxAttempts: 3, backoffMs: 60000}, config: {tool: fail}}]`,
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
			testwait.Until(t, "a step runs", func() bool { return g.callers.Load() > 0 || failed.Load() })
			cancel()
			if r := testwait.Receive(t, "the run ends", done); r.Failure == nil || r.Failure.Code != Cancelled {
				t.Errorf("%+v", r.Failure)
			}
			if g.callers.Load() != 0 {
				t.Error("a tool is still running")
			}
			testwait.Until(t, "no goroutine is left", func() bool { return engineGoroutines() == 0 })
		})
	}
}

func TestRunOfACancelledContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	caller := newCaller()
	r := (&Runner{Caller: caller}).Run(ctx, Job{Kind: WorkflowJob, ID: "w",
		Program: compiled(t, `[{stepId: s, type: tool, config: {tool: echo}}]`)})
	if r.Failure == nil || r.Failure.Code != Cancelled || len(caller.calls) != 0 {
		t.Errorf("%+v, %v", r.Failure, caller.calls)
	}
}

func TestPanicsStayInside(t *testing.T) {
	t.Parallel()
	caller := newCaller()
	caller.tools["panic"] = func(context.Context, map[string]any) (any, error) { panic("secret of the stack") }
	r := do(t, caller, `[{stepId: s, type: tool, config: {tool: panic}}]`, `{}`)
	expectFailure(t, r, "s", toolfold.Internal, "the step broke down")
	if strings.Contains(r.Failure.Message, "secret") {
		t.Error(r.Failure.Message)
	}
}
