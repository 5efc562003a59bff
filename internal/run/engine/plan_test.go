package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// agents answers agent.get with agents by their steps; those of an unknown agent are an error.
func agents(t testing.TB, definitions map[string]string) *fakeCaller {
	caller := newCaller()
	caller.tools["agent.get"] = func(_ context.Context, args map[string]any) (any, error) {
		text, found := definitions[args["agentId"].(string)]
		if !found {
			return nil, toolfold.Errorf("AGENT_NOT_FOUND", "there is no agent %q", args["agentId"])
		}
		if text == "" {
			return map[string]any{"agentId": args["agentId"]}, nil
		}
		return map[string]any{"agentId": args["agentId"], "workflow": steps(t, text)}, nil
	}
	return caller
}

func planned(t testing.TB, caller toolfold.Caller, text string) Plan {
	t.Helper()
	return compiled(t, text).Plan(t.Context(), fakeTools{}, caller, work.Reference{Kind: work.Workflow, ID: "test"})
}

func TestModelCallsOfAPlan(t *testing.T) {
	t.Parallel()
	caller := agents(t, map[string]string{
		"plain": "",
		"twice": `[{stepId: a, type: prompt, config: {prompt: x}}, {stepId: b, type: prompt, config: {prompt: "{{ agent.role }}"}}]`,
		"chain": `[{stepId: a, type: delegate, config: {agentId: twice}}, {stepId: b, type: prompt, config: {prompt: x}}]`,
		"self":  `[{stepId: a, type: delegate, config: {agentId: self}}]`,
		"each":  `[{stepId: a, type: loop, config: {items: input.x, steps: [{stepId: p, type: prompt, config: {prompt: x}}]}}]`,
	})
	const prompt = `{stepId: p, type: prompt, config: {prompt: x}}`
	const object = `{stepId: o, type: prompt, config: {prompt: x, outputSchema: {type: object}}}`
	for name, test := range map[string]struct {
		steps   string
		calls   int
		unknown []string
	}{
		"tool":        {steps: `[{stepId: a, type: tool, config: {tool: memory.list}}]`},
		"prompt":      {steps: `[` + prompt + `]`, calls: 1},
		"schema":      {steps: `[` + object + `]`, calls: 2},
		"model tools": {steps: `[{stepId: a, type: prompt, config: {prompt: x, tools: [memory.list]}}]`, calls: defaultTurns},
		"turns": {steps: `[{stepId: a, type: prompt, config: {prompt: x, tools: [memory.list], maxTurns: 3, ` +
			`outputSchema: {type: object}}}]`, calls: 4},
		"retry": {steps: `[{stepId: a, type: prompt, retry: {}, config: {prompt: x}}]`, calls: 3},
		"outer retry": {steps: `[{stepId: a, type: parallel, retry: {maxAttempts: 2}, config: {steps: [` + prompt + `, ` +
			object + `]}}]`, calls: 6},
		"larger branch": {steps: `[{stepId: a, type: conditional, config: {condition: "true", then: [` + prompt + `], else: [` + object + `]}}]`,
			calls: 2},
		"items":     {steps: `[{stepId: a, type: loop, config: {items: [1, "{{ input.x }}", 3], steps: [` + prompt + `]}}]`, calls: 3},
		"no items":  {steps: `[{stepId: a, type: loop, config: {items: [], steps: [` + prompt + `]}}]`},
		"condition": {steps: `[{stepId: a, type: loop, config: {until: "true", maxIterations: 7, steps: [` + object + `]}}]`, calls: 14},
		"open items": {steps: `[{stepId: a, type: loop, config: {items: input.list, maxIterations: 5, steps: [` + object + `]}}, ` + prompt + `]`,
			calls: 1, unknown: []string{`step a: its items are known when it runs: at most 5 rounds, of at most 2 model calls each`}},
		"open items without a model": {
			steps: `[{stepId: a, type: loop, config: {items: input.list, steps: [{stepId: b, type: tool, config: {tool: memory.list}}]}}]`},
		"agent without steps": {steps: `[{stepId: a, type: delegate, config: {agentId: plain}}]`, calls: 1},
		"agents":              {steps: `[{stepId: a, type: delegate, retry: {maxAttempts: 2}, config: {agentId: chain}}]`, calls: 6},
		"same agent again": {steps: `[{stepId: a, type: delegate, config: {agentId: chain}}, ` +
			`{stepId: b, type: delegate, config: {agentId: chain}}]`,
			calls: 6},
		"agent by placeholder": {steps: `[{stepId: a, type: delegate, config: {agentId: "{{ input.x }}"}}]`,
			unknown: []string{"step a: its agent is known when it runs"}},
		"no agent": {steps: `[{stepId: a, type: delegate, config: {agentId: nobody}}]`,
			unknown: []string{`step a: agent nobody: there is no agent "nobody"`}},
		"cycle": {steps: `[{stepId: a, type: delegate, config: {agentId: self}}]`,
			unknown: []string{"agent self, step a: agent self would run within itself"}},
		"agent with open items": {steps: `[{stepId: a, type: delegate, config: {agentId: each}}]`,
			unknown: []string{"agent each, step a: its items are known when it runs: at most 100 rounds, of at most 1 model calls each"}},
		"too many": {steps: `[{stepId: a, type: loop, config: {while: "true", maxIterations: 1000, steps: [` +
			`{stepId: b, type: loop, config: {while: "true", maxIterations: 1000, steps: [` + object + `]}}]}}]`,
			calls: mostModelCalls, unknown: []string{"step a: more than 1000000 model calls"}},
	} {
		plan := planned(t, caller, test.steps)
		if plan.ModelCalls != test.calls {
			t.Errorf("%s: %d model calls, want %d", name, plan.ModelCalls, test.calls)
		}
		if diff := cmp.Diff(test.unknown, plan.Unknown); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, call := range caller.calls {
		if !strings.HasPrefix(call, "agent.get ") {
			t.Errorf("a plan calls %s", call)
		}
	}
}

// Runs that nest deeper than they may are no part of the number.
func TestDepthOfAPlan(t *testing.T) {
	t.Parallel()
	definitions := map[string]string{"a6": ""}
	for i := range MaxDepth + 1 {
		definitions["a"+string(rune('0'+i))] = `[{stepId: a, type: delegate, config: {agentId: a` + string(rune('1'+i)) + `}}]`
	}
	plan := planned(t, agents(t, definitions), `[{stepId: a, type: delegate, config: {agentId: a1}}]`)
	if diff := cmp.Diff([]string{"agent a5, step a: agent a6 would be more than 5 runs deep"}, plan.Unknown); diff != "" {
		t.Error(diff)
	}
	plan = planned(t, agents(t, definitions), `[{stepId: a, type: delegate, config: {agentId: a2}}]`)
	if plan.ModelCalls != 1 || plan.Unknown != nil {
		t.Errorf("%+v", plan)
	}
}

// The steps of a plan nest as they run, and have the order in which they start.
func TestStepsOfAPlan(t *testing.T) {
	t.Parallel()
	plan := planned(t, agents(t, map[string]string{"writer": `[{stepId: text, type: prompt, config: {prompt: x}}]`}), `
- {stepId: last, type: tool, dependsOn: [first], config: {tool: memory.list}}
- stepId: first
  type: conditional
  config:
    condition: input.x
    then: [{stepId: a, type: delegate, retry: {maxAttempts: 2}, config: {agentId: writer}}]
    else: [{stepId: b, type: delegate, config: {agentId: writer}}, {stepId: c, type: delegate, config: {agentId: "{{ input.y }}"}}]
- stepId: each
  type: loop
  dependsOn: [last]
  config:
    items: [1, 2]
    steps: [{stepId: both, type: parallel, config: {steps: [{stepId: e, type: prompt, retry: {}, config: {prompt: x}}]}}]
`)
	const want = `[{"stepId":"first","type":"conditional","then":[{"stepId":"a","type":"delegate","agentId":"writer","attempts":2,` +
		`"steps":[{"stepId":"text","type":"prompt","modelCalls":1}]}],"else":[{"stepId":"b","type":"delegate","agentId":"writer"},` +
		`{"stepId":"c","type":"delegate","agentId":"{{ input.y }}"}]},` +
		`{"stepId":"last","type":"tool","dependsOn":["first"],"tool":"memory.list"},` +
		`{"stepId":"each","type":"loop","dependsOn":["last"],"rounds":2,"steps":[{"stepId":"both","type":"parallel",` +
		`"steps":[{"stepId":"e","type":"prompt","attempts":3,"modelCalls":3}]}]}]`
	if diff := cmp.Diff(want, string(ordered.MustJSON(plan.Steps))); diff != "" {
		t.Error(diff)
	}
}
