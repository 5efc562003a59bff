package app_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// A dry run counts the agents and workflows that its steps run, by any of their names.
func TestDryRunOfNestedRuns(t *testing.T) {
	t.Parallel()
	b := checked(t)
	folder := filepath.Join(b.Workspace, ".toolfold", "workflows")
	for name, text := range map[string]string{
		"inner": `{name: Inner, steps: [{stepId: p, type: prompt, retry: {}, config: {prompt: x}}]}`,
		"outer": `
name: Outer
steps:
- {stepId: a, type: tool, config: {tool: workflow.run, arguments: {workflowId: inner}}}
- {stepId: b, type: tool, config: {tool: workflow, arguments: {action: run, params: {workflowId: inner}}}}
- {stepId: c, type: tool, config: {tool: agent_run, arguments: {agentId: writer, input: {question: x}}}}
- {stepId: d, type: delegate, config: {agentId: filed, input: {question: x}}}
- {stepId: e, type: tool, config: {tool: agent.get, arguments: {agentId: writer}}}
`,
		"open": `
name: Open
steps:
- {stepId: a, type: tool, config: {tool: agent.run, arguments: {agentId: "{{ input.x }}"}}}
- {stepId: b, type: tool, config: {tool: workflow, arguments: "{{ input.y }}"}}
- {stepId: c, type: prompt, config: {prompt: x, tools: ["agent.*"]}}
- {stepId: d, type: delegate, config: {agentId: missing}}
`,
	} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name+".yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	type dry struct {
		ModelCalls *int
		Unknown    []string
		Problems   []struct{ Path string }
	}
	run := func(id string) (success bool, d dry) {
		answer := b.Runner.Call(t.Context(), "workflow.run", json.RawMessage(`{"workflowId":"`+id+`","dryRun":true}`))
		var out struct {
			Success bool
			DryRun  dry
		}
		if err := json.Unmarshal(answer.Content, &out); err != nil || answer.Failed {
			t.Fatal(string(answer.Content), err)
		}
		return out.Success, out.DryRun
	}
	if _, d := run("outer"); d.Unknown != nil || *d.ModelCalls != 3+3+1+1 {
		t.Errorf("%+v", d)
	}
	success, d := run("open")
	want := []string{"step a: its agent is known when it runs", "step b: its workflow is known when it runs",
		"step c: its model may call agent.run", `step d: agent missing: there is no agent "missing"`}
	if success || d.ModelCalls != nil || !reflect.DeepEqual(d.Unknown, want) {
		t.Errorf("%v %+v", success, d)
	}
	found := false
	for _, p := range d.Problems {
		found = found || p.Path == "/steps/3/config/agentId"
	}
	if !found {
		t.Errorf("the missing agent is no problem: %+v", d.Problems)
	}
	// Of a name in two places the outer one counts, each time.
	const twice = `{name: Twice, steps: [{stepId: a, type: tool, config: {tool: workflow.run, arguments: {workflowId: inner,
  params: {workflowId: none}}}}]}`
	if err := os.WriteFile(filepath.Join(folder, "twice.yaml"), []byte(twice), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, d := run("twice"); d.ModelCalls == nil || *d.ModelCalls != 3 {
			t.Fatalf("%+v", d)
		}
	}
}
