package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/guard"
)

// schemaTo returns arguments for a design.schema that writes a file.
func schemaTo(path string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"name":"User","fields":[{"name":"email","type":"email"}],"outputPath":%q}`, path))
}

// A session's policy applies to its agents, to the connections that entered it and to the tasks
// that they submit, and to no other calls.
func TestSessionPolicy(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	over := func(connection string) context.Context {
		return callctx.With(t.Context(), toolfold.Origin{Session: connection})
	}
	must := func(ctx context.Context, name, args string) string {
		t.Helper()
		answer := b.Runner.Call(ctx, name, json.RawMessage(args))
		if answer.Err != nil {
			t.Fatalf("%s: %s", name, answer.Content)
		}
		return string(answer.Content)
	}
	refused := func(ctx context.Context, path, why string) {
		t.Helper()
		answer := b.Runner.Call(ctx, "design.schema", schemaTo(path))
		if answer.Err == nil || answer.Err.Code != guard.Violation || !strings.Contains(string(answer.Content), why) {
			t.Errorf("writing %s: %s", path, answer.Content)
		}
		if _, err := os.Stat(filepath.Join(b.Workspace, path)); err == nil {
			t.Errorf("%s was written", path)
		}
	}
	must(over("lead"), "guard.apply", `{"sessionId":"`+workbench.Session+`","policyId":"bugfix"}`)
	must(over("lead"), "guard.apply", `{"sessionId":"`+workbench.Session+`","policyId":"bugfix"}`)
	refused(over("lead"), "src/contracts/a.ts", "forbiddenPaths has **/contracts/**")
	must(over("other"), "design.schema", string(schemaTo("other/contracts/a.ts")))
	must(over("other"), "session.join", `{"sessionId":"`+workbench.Session+`","agentId":"ann"}`)
	refused(over("other"), "src/contracts/a.ts", "policy bugfix")
	must(over("other"), "memory.store", `{"key":"k","value":{}}`)

	must(t.Context(), "agent.register", `{"agentId":"writer","description":"w","workflow":[{"stepId":"s","name":"s","type":"tool",`+
		`"config":{"tool":"design.schema","arguments":`+string(schemaTo("in/contracts/a.ts"))+`}}]}`)
	must(t.Context(), "agent.register", `{"agentId":"boss","description":"b","workflow":[{"stepId":"d","name":"d","type":"delegate",`+
		`"config":{"agentId":"writer"}}]}`)
	for _, agent := range []string{"writer", "boss"} {
		out := must(t.Context(), "agent.run", `{"agentId":"`+agent+`","sessionId":"`+strings.ToUpper(workbench.Session)+`"}`)
		if !strings.Contains(out, guard.Violation) {
			t.Errorf("%s in the session: %s", agent, out)
		}
	}
	if out := must(over("lead"), "agent.run", `{"agentId":"writer"}`); !strings.Contains(out, guard.Violation) {
		t.Errorf("an agent that a connection of the session runs: %s", out)
	}
	if out := must(t.Context(), "agent.run", `{"agentId":"writer"}`); strings.Contains(out, guard.Violation) {
		t.Errorf("an agent outside of the session: %s", out)
	}

	for _, path := range []string{"a/x.ts", "b/x.ts", "c/x.ts", "a/y.ts"} { // three folders
		must(over("lead"), "design.schema", string(schemaTo(path)))
	}
	refused(over("lead"), "d/x.ts", "there were: a, b, c")
	must(over("lead"), "session.complete", `{"sessionId":"`+workbench.Session+`"}`)
	must(over("lead"), "design.schema", string(schemaTo("d/x.ts")))
	answer := b.Runner.Call(over("lead"), "guard.apply", json.RawMessage(`{"sessionId":"`+workbench.Session+`","policyId":"bugfix"}`))
	if answer.Err == nil || answer.Err.Code != "SESSION_INVALID_TRANSITION" {
		t.Errorf("applied to a session that has ended: %s", answer.Content)
	}
}

// A policy of a session applies to files for results too, before the action runs.
func TestSessionPolicyOfSavedResults(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	lead := callctx.With(t.Context(), toolfold.Origin{Session: "lead"})
	call := func(name, args string) toolfold.Answer { return b.Runner.Call(lead, name, json.RawMessage(args)) }
	if answer := call("guard.apply", `{"sessionId":"`+workbench.Session+`","policyId":"bugfix"}`); answer.Err != nil {
		t.Fatalf("%s", answer.Content)
	}
	const store = `{"name":"memory.store","arguments":{"key":"once","value":1,"ifAbsent":true},"saveTo":"`
	answer := call("tools.call", store+`src/contracts/a.json"}`)
	if answer.Err == nil || answer.Err.Code != guard.Violation ||
		!strings.Contains(string(answer.Content), "forbiddenPaths has **/contracts/**") {
		t.Errorf("%s", answer.Content)
	}
	answer = call("tool_call", store+`src/a.json"}`)
	if answer.Err != nil || !strings.Contains(string(answer.Content), `"path":"src/a.json"`) {
		t.Errorf("%s", answer.Content)
	}
	for name, exists := range map[string]bool{"src/contracts": false, "src/a.json": true} {
		if _, err := os.Stat(filepath.Join(b.Workspace, name)); (err == nil) != exists {
			t.Errorf("%s: %v", name, err)
		}
	}
}
