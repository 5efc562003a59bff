package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
)

func TestDelegation(t *testing.T) {
	t.Parallel()
	caller := newCaller()
	caller.tools["agent.run"] = func(_ context.Context, args map[string]any) (any, error) {
		switch args["agentId"] {
		case "writer":
			return map[string]any{"success": true, "output": args}, nil
		case "broken":
			return map[string]any{"success": false, "error": map[string]any{"code": "AGENT_STAGE_FAILED", "message": "no model", "hint": "set one"}},
				nil
		}
		return nil, toolfold.Errorf("AGENT_NOT_FOUND", "there is no agent")
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
	expectFailure(t, do(t, caller, `[{stepId: a, type: delegate, config: {agentId: x}}]`, `{}`), "a", DependencyFailed,
		"agent x: AGENT_NOT_FOUND")
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
		if _, err := Enter(next, AgentJob, "a0", -1); err == nil || err.Code != DelegationDepth ||
			!strings.Contains(err.Message, "agent a0 would run within itself: agent a0 → ") {
			t.Errorf("cycle at %d: %v", i, err)
		}
		ctx = next
	}
	if _, err := Enter(ctx, AgentJob, "too deep", -1); err == nil || err.Code != DelegationDepth ||
		!strings.Contains(err.Message, "too deep") {
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
	var seen []toolfold.Progress
	ctx := callctx.With[func(toolfold.Progress)](t.Context(), func(p toolfold.Progress) {
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
- {stepId: c, type: parallel, config: {steps: [{stepId: p, type: tool, config: {tool: echo}},
    {stepId: q, type: tool, config: {tool: echo}}]}}
`)}))
	last := toolfold.Progress{}
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
