package call_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
)

// Errors of services look like errors of schemas: they have paths, and the usage of the action or
// of the argument.
func TestServicesRefuseInOneShape(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{Mode: surface.Consolidated, Level: lazy.Full})
	for _, test := range []struct{ name, args, path string }{
		{"memory.bulk_delete", `{}`, "/keys"},
		{"memory.bulk_delete", `{"keys":["a"],"prefix":"a"}`, "/keys"},
		{"memory", `{"action":"bulk_delete","params":{"keys":["a"],"prefix":"a"}}`, "/params/keys"},
		{"memory.get", `{}`, "/key"},
		{"memory.get", `{"key":"a","keys":["b"]}`, "/key"},
		{"memory.list", `{"cursor":"x"}`, "/cursor"},
		{"task.submit", `{"name":"x"}`, "/input"},
		{"task.submit", `{"name":"x","agentId":"a","workflowId":"b"}`, "/agentId"},
		{"task.submit", `{"name":"x","type":"wait"}`, "/dependencies"},
		{"task.submit", `{"name":"x","type":"parallel"}`, "/type"},
		{"task.submit", `{"name":"x","type":"timeout","input":{"tool":"memory.list"}}`, "/timeoutMs"},
		{"task.submit", `{"name":"x","type":"wait","agentId":"a","dependencies":["b"]}`, "/type"},
		{"task.submit", `{"name":"x","input":{"tool":"memory.list"},"schedule":"x"}`, "/schedule"},
		{"task.submit", `{"name":"x","input":{"tool":"memory.list"},"schedule":"@every 1s"}`, "/schedule"},
		{"task.submit", `{"name":"x","input":{"tool":"memory.list"},"dependencies":["x"]}`, "/dependencies"},
		{"task.submit", `{"name":"x","input":{"tool":"memory.list","args":{}}}`, "/input/args"},
		{"task.submit", `{"name":"x","input":{"tool":"memory.store","arguments":{}}}`, "/input/arguments/key"},
		{"agent.register", `{"agentId":"a","description":"d","workflow":[{"stepId":"s","name":"S","type":"nope"}]}`, "/workflow/0/type"},
		{"agent.register", `{"agentId":"a","description":"d","workflow":[{"stepId":"s","name":"S","type":"tool",` +
			`"config":{"tool":"memory.lst"}}]}`, "/workflow/0/config/tool"},
		{"agent.update", `{"agentId":"a"}`, "/enabled"},
		{"metrics.record", `{"metricName":" ","value":1}`, "/metricName"},
		{"metrics.query", `{"metricName":"a","since":"2026-02-01T00:00:00Z","until":"2026-01-01T00:00:00Z"}`, "/since"},
		{"queue.create", `{"name":" "}`, "/name"},
		{"design.list", `{"type":"flow"}`, "/type"},
		{"design.list", `{"status":"approved"}`, "/status"},
		{"tools.describe", `{}`, "/name"},
	} {
		answer := b.Runner.Call(t.Context(), test.name, json.RawMessage(test.args))
		t.Logf("%s", answer.Content)
		if answer.Err == nil || answer.Err.Code != toolfold.InvalidInput {
			t.Errorf("%s %s: %s", test.name, test.args, answer.Content)
			continue
		}
		if len(answer.Err.Problems) == 0 || answer.Err.Problems[0].Path != test.path {
			t.Errorf("%s %s: problems %+v, want one at %s", test.name, test.args, answer.Err.Problems, test.path)
		}
		if answer.Err.Example == nil || answer.Err.Message == "" || strings.Contains(answer.Err.Message, "is wrong") {
			t.Errorf("%s %s has no message or example: %s", test.name, test.args, answer.Content)
		}
		if len(answer.Content) > 700 {
			t.Errorf("%s %s is refused in %d bytes: %s", test.name, test.args, len(answer.Content), answer.Content)
		}
	}
}
