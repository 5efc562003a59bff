package engine

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// failOn is a caller whose tool "some" fails where its argument n is the one
// given, and answers with its arguments otherwise.
func failOn(n float64) *fakeCaller {
	caller := newCaller()
	caller.tools["some"] = func(_ context.Context, args map[string]any) (any, error) {
		if args["n"] == n {
			return nil, errors.New("no luck")
		}
		return args, nil
	}
	return caller
}

// What a block had done when it failed is in the outputs, at every depth.
func TestFailuresHavePartialOutputs(t *testing.T) {
	t.Parallel()
	caller := failOn(3)
	caller.tools["agent.run"] = func(context.Context, map[string]any) (any, error) {
		return map[string]any{"success": false, "output": map[string]any{"draft": "half"}, "error": map[string]any{"code": "X", "message": "m"}},
			nil
	}
	const some = `{stepId: s, type: tool, config: {tool: some, arguments: {n: "{{ item }}"}}}`
	for name, test := range map[string]struct{ steps, want string }{
		"loop": {`[{stepId: l, type: loop, config: {items: [1, 2, 3, 4], steps: [` + some + `]}}]`, `{"l":[{"s":{"n":1}},{"s":{"n":2}}]}`},
		"round": {`[{stepId: l, type: loop, config: {items: [1, 3], steps: [{stepId: e, type: tool, config: {tool: echo}}, ` + some + `]}}]`,
			`{"l":[{"e":{},"s":{"n":1}},{"e":{}}]}`},
		"nested": {`[{stepId: c, type: conditional, config: {condition: "true", then: [{stepId: l, type: loop, config: {items: [1, 3], steps: [` +
			some + `]}}]}}]`,
			`{"c":{"l":[{"s":{"n":1}}]}}`},
		"parallel": {`[{stepId: p, type: parallel, config: {maxConcurrency: 1, steps: [{stepId: a, type: tool, config: {tool: echo}},
			{stepId: b, type: tool, config: {tool: some, arguments: {n: 3}}}]}}]`, `{"p":{"a":{}}}`},
		"delegate": {`[{stepId: d, type: delegate, config: {agentId: x}}]`, `{"d":{"draft":"half"}}`},
		"nothing":  {`[{stepId: p, type: parallel, config: {steps: [{stepId: b, type: tool, config: {tool: some, arguments: {n: 3}}}]}}]`, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := do(t, caller, test.steps, `{}`)
			if r.Failure == nil || r.Completed != 0 {
				t.Errorf("%+v, %d steps succeeded", r.Failure, r.Completed)
			}
			if diff := cmp.Diff(test.want, string(ordered.MustJSON(r.Outputs))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestContinueOnError(t *testing.T) {
	t.Parallel()
	r := do(t, failOn(3), `
- {stepId: a, type: tool, continueOnError: true, config: {tool: some, arguments: {n: 3}}}
- {stepId: b, type: tool, continueOnError: true, config: {tool: some, arguments: {n: 1}}}
- stepId: l
  type: loop
  continueOnError: true
  config: {items: [1, 3], steps: [{stepId: s, type: tool, config: {tool: some, arguments: {n: "{{ item }}"}}}]}
- {stepId: end, type: tool, config: {tool: echo, arguments: {a: "{{ steps.a ?? \"none\" }}", why: "{{ errors.a.message }}",
    b: "{{ errors.b == nil }}", rounds: "{{ len(steps.l) }}", at: "{{ errors.l.stepId }}"}}}
`, `{}`)
	expect(t, r, `{"b":{"n":1},"end":{"a":"none","at":"s","b":true,"rounds":1,"why":"some: BROKEN: no luck"},"l":[{"s":{"n":1}}]}`)
	if len(r.Steps) != 4 || r.Steps[0].Success || r.Steps[0].Error == nil || r.Completed != 2 {
		t.Errorf("%+v", r)
	}
	const again = `[{stepId: l, type: loop, config: {until: "errors.s == nil", steps: [
		{stepId: s, type: tool, continueOnError: true, config: {tool: some, arguments: {n: "{{ 2 - index }}"}}}]}}]`
	expect(t, do(t, failOn(2), again, `{}`), `{"l":[{},{"s":{"n":1}}]}`)
	if _, faults := Compile(Definition{Steps: steps(t, `[{stepId: a, type: tool, config: {tool: "{{ errors.z }}",`+
		` arguments: {x: "{{ errors.z }}"}}}]`)}, nil); len(faults) == 0 || !strings.Contains(faults.Error(), `no step "z"`) {
		t.Error(faults)
	}
}

// A limit of the run ends it whatever its steps say.
func TestContinueOnErrorWithinLimits(t *testing.T) {
	t.Parallel()
	r := do(t, newCaller(), `[{stepId: a, type: loop, config: {items: "1..1000", maxIterations: 1000, steps: [
	{stepId: b, type: loop, continueOnError: true, config: {items: "1..1000", maxIterations: 1000, steps: [
        {stepId: s, type: tool, continueOnError: true, config: {tool: echo}}]}}]}}]`, `{}`)
	if r.Failure == nil || !strings.Contains(r.Failure.Message, "the run took 10000 steps") {
		t.Errorf("%+v", r.Failure)
	}
}
