package page

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
)

// drawing writes rows as text: steps of a row side by side, groups in brackets, with runs and states.
func drawing(rows []row) string {
	var lines []string
	for _, r := range rows {
		var steps []string
		for _, n := range r {
			text := n.ID
			if n.Status != "" {
				text += fmt.Sprintf(" %s %d/%d %s", n.Status, n.Failed, n.Runs, n.Took)
			}
			for _, g := range n.Groups {
				text += fmt.Sprintf(" %s[%s]", g.Label, drawing(g.Rows))
			}
			steps = append(steps, text)
		}
		lines = append(lines, strings.Join(steps, " | "))
	}
	return strings.Join(lines, " -> ")
}

// TestGraphOfAWorkflow draws definitions with the spans of two runs.
func TestGraphOfAWorkflow(t *testing.T) {
	for name, test := range map[string]struct{ steps, want string }{
		"in order": {`[{"stepId":"a"},{"stepId":"b"}]`, "a -> b"},
		"diamond": {`[{"stepId":"d","dependsOn":["b","c"]},{"stepId":"b","dependsOn":["a"]},{"stepId":"c","dependsOn":["a"]},` +
			`{"stepId":"a"}]`, "a -> b | c -> d"},
		"cycle":    {`[{"stepId":"a","dependsOn":["b"]},{"stepId":"b","dependsOn":["a"]}]`, "a | b"},
		"unknown":  {`[{"stepId":"a","dependsOn":["x"]},{"stepId":"b"}]`, "b -> a"},
		"parallel": {`[{"stepId":"p","type":"parallel","config":{"steps":[{"stepId":"x"},{"stepId":"y"}]}}]`, "p at once[x | y]"},
		"loop":     {`[{"stepId":"l","type":"loop","config":{"steps":[{"stepId":"x"},{"stepId":"y"}]}}]`, "l each time[x -> y]"},
		"condition": {`[{"stepId":"c","type":"conditional","config":{"then":[{"stepId":"x"}],"else":[{"stepId":"y"}]}}]`,
			"c if true[x] if false[y]"},
		"other form": {`[{"stepId":"c","type":"tool","config":{"tool":{},"then":7}}]`, "c"},
	} {
		var steps []step
		if err := json.Unmarshal([]byte(test.steps), &steps); err != nil {
			t.Fatal(err)
		}
		if got := drawing(rowsOf(steps, false, map[string]*node{}, 0)); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	for config, want := range map[string]string{`{"name":"greet"}`: "greet", `{"code":"\n  return 1\n// more"}`: "return 1"} {
		var s step
		if err := json.Unmarshal([]byte(`{"stepId":"s","type":"script","config":`+config+`}`), &s); err != nil || doing(s) != want {
			t.Errorf("%s does %q, want %q", config, doing(s), want)
		}
	}

	p, _, _ := served(t, func(action string, arguments json.RawMessage) (json.RawMessage, error) {
		spans := func(list ...string) json.RawMessage {
			return json.RawMessage(`{"spans":[` + strings.Join(list, ",") + `]}`)
		}
		span := func(depth int, kind, label, status string, ms int) string {
			return fmt.Sprintf(`{"depth":%d,"kind":%q,"label":%q,"status":%q,"durationMs":%d}`, depth, kind, label, status, ms)
		}
		switch {
		case action == "trace.list":
			return json.RawMessage(`{"traces":[{"traceId":"new"},{"traceId":"old"}]}`), nil
		case strings.Contains(string(arguments), `"new"`):
			return spans(span(0, "task", "task T", "running", 9), span(1, "workflow", "w", "running", 9),
				span(2, "step", "step b", "failure", 2), span(2, "step", "step b", "success", 3),
				span(3, "agent", "other", "success", 1), span(4, "step", "step a", "failure", 1), // of another run
				span(2, "step", "step c", "running", 1), span(2, "step", "step gone", "success", 1), span(0, "step", "step a", "failure", 1)), nil
		}
		return spans(span(0, "task", "task T", "failure", 9), span(1, "workflow", "w", "failure", 9),
			span(2, "step", "step a", "success", 4), span(2, "step", "step b", "failure", 2)), nil
	})
	p.definitions = func(context.Context, string) (map[string]json.RawMessage, error) {
		const steps = `{"steps":[{"stepId":"a"},{"stepId":"b"},{"stepId":"c"},{"stepId":"d"}]}`
		return map[string]json.RawMessage{"workflow w": json.RawMessage(steps)}, nil
	}
	const want = "a success 0/1 4ms -> b success 1/2 5ms -> c running 0/1 1ms -> d"
	for name, task := range map[string]result{
		"submitted": {"taskId": "7", "workflowId": "w"}, "task call": {"taskId": "7", "input": result{"arguments": result{"workflowId": "w"}}},
	} {
		g, err := p.graphOf(t.Context(), task)
		if err != nil || g == nil || drawing(g.Rows) != want {
			t.Errorf("%s: %+v %v, want %s", name, g, err, want)
		}
	}
	for name, task := range map[string]result{
		"another workflow": {"workflowId": "x"}, "an action": {"input": result{"tool": "memory.get"}}, "text": {"input": "w"},
	} {
		if g, err := p.graphOf(t.Context(), task); g != nil || err != nil {
			t.Errorf("%s: %+v %v", name, g, err)
		}
	}
	p.call = func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return nil, toolfold.Errorf(toolfold.PermissionDenied, "denied")
	}
	if g, err := p.graphOf(t.Context(), result{"taskId": "7", "workflowId": "w"}); err != nil || drawing(g.Rows) != "a -> b -> c -> d" {
		t.Errorf("without the right to traces: %+v %v", g, err)
	}
}
