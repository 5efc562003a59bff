package permission_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/surface"
)

// A caller that changes an agent or a schedule limits its runs to the caller's own rights, no matter
// who scheduled it or starts it.
func TestSchedulesHaveNoMoreRights(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	b.Work(t)
	limited := callctx.With(t.Context(), toolfold.Origin{Rights: permission.Rules{Allow: []string{"agent", "workflow", "task"}}.Rights()})
	call := func(ctx context.Context, name, args string) string {
		t.Helper()
		answer := b.Runner.Call(ctx, name, json.RawMessage(args))
		if answer.Err != nil {
			t.Fatalf("%s %s: %v", name, args, answer.Err)
		}
		return string(answer.Content)
	}
	store := func(key string) string {
		return `[{"stepId":"s","name":"s","type":"tool","config":{"tool":"memory.store","arguments":{"key":"` + key + `","value":1}}}]`
	}
	var submitted, run struct{ TaskID string }
	call(t.Context(), "agent.register", `{"agentId":"nightly","description":"d","workflow":`+store("before")+`}`)
	schedule := call(t.Context(), "task.submit", `{"name":"n","agentId":"nightly","input":{},"schedule":"0 0 1 1 *"}`)
	if err := json.Unmarshal([]byte(schedule), &submitted); err != nil {
		t.Fatal(err)
	}
	trigger := func(status, key, found string) {
		t.Helper()
		if err := json.Unmarshal([]byte(call(t.Context(), "task.trigger", `{"taskId":"`+submitted.TaskID+`"}`)), &run); err != nil {
			t.Fatal(err)
		}
		if got := call(t.Context(), "task.wait", `{"taskId":"`+run.TaskID+`"}`); !strings.Contains(got, `"status":"`+status+`"`) {
			t.Errorf("the run answered %s, want %s", got, status)
		}
		if got := call(t.Context(), "memory.get", `{"key":"`+key+`"}`); !strings.Contains(got, `"found":`+found) {
			t.Errorf("memory.get %s answered %s", key, got)
		}
	}
	trigger("completed", "before", "true")
	call(limited, "agent.update", `{"agentId":"nightly","workflow":`+store("after")+`}`)
	trigger("failed", "after", "false")
	call(t.Context(), "agent.remove", `{"agentId":"nightly"}`)
	call(t.Context(), "agent.register", `{"agentId":"nightly","description":"d","workflow":`+store("third")+`}`)
	call(limited, "task.update", `{"taskId":"`+submitted.TaskID+`","priority":"high"}`)
	trigger("failed", "third", "false")
}
