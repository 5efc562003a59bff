package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/guard"
)

// filesOf are the texts of the files in a workspace, by path.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		texts[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// writing is the example of an action with what makes it write a file, where
// it takes that.
func writing(t *testing.T, a *toolfold.Action) json.RawMessage {
	t.Helper()
	args := map[string]any{}
	if err := json.Unmarshal([]byte(a.Example), &args); err != nil {
		t.Fatal(err)
	}
	for _, p := range a.Params() {
		switch p.Name {
		case "outputPath":
			args[p.Name] = "docs/written.txt"
		case "dryRun":
			args[p.Name] = false
		case "autoApply":
			args[p.Name] = true
		case "scope":
			if slices.Contains(p.Enum, "local") {
				args[p.Name] = "local"
			}
		}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// nothing is a policy that lets nothing be written.
const nothing = "gates: [path_violation]\nforbiddenPaths: [\"**\"]\n"

// What writes files declares which, and writes none in a session whose policy
// forbids them.
func TestActionsThatWriteFiles(t *testing.T) {
	t.Parallel()
	written := 0
	for _, spec := range newBench(t).Families() {
		for i, a := range spec.Actions {
			if a.Effect == toolfold.Reads || a.Forwards() || len(a.Family.Actions) == 0 {
				continue
			}
			args := writing(t, a)
			if !a.WritesFiles() && string(args) == a.Example {
				continue
			}
			fresh := func(t *testing.T) *bench {
				b := benchOf(t, surface.Options{})
				if err := os.MkdirAll(b.workspace+"/.toolfold/policies", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(b.workspace+"/.toolfold/policies/nothing.yaml", []byte(nothing), 0o644); err != nil {
					t.Fatal(err)
				}
				for _, before := range worldOf(t, spec, i).before {
					b.call(entry.Select(before), entry.Select(before).Example())
				}
				return b
			}
			b := fresh(t)
			had := filesOf(t, b.workspace)
			answer := b.Runner.Call(t.Context(), a.FullName(), args)
			var changed []string
			for name, text := range filesOf(t, b.workspace) {
				if had[name] != text && !strings.HasPrefix(name, ".toolfold/backups/") {
					changed = append(changed, name)
				}
			}
			if (len(changed) > 0) != a.WritesFiles() {
				t.Errorf("%s changes %v, but WritesFiles is %v: %s", a.FullName(), changed, a.WritesFiles(), answer.Content)
			}
			if !a.WritesFiles() {
				continue
			}
			written++
			b = fresh(t)
			if out := b.Runner.Call(t.Context(), "guard.apply",
				json.RawMessage(`{"sessionId":"`+exampleSession+`","policyId":"nothing"}`)); out.Err != nil {
				t.Fatal(out.Err)
			}
			had = filesOf(t, b.workspace)
			answer = b.Runner.Call(work.InSessions(t.Context(), exampleSession), a.FullName(), args)
			if answer.Err == nil || answer.Err.Code != guard.Violation || len(answer.Content) > 640 ||
				!strings.Contains(answer.Err.Message, "policy nothing of session "+exampleSession) {
				t.Errorf("%s in a session that may write nothing: %s", a.FullName(), answer.Content)
			}
			if now := filesOf(t, b.workspace); !maps.Equal(had, now) {
				t.Errorf("%s changed files though it was refused", a.FullName())
			}
		}
	}
	if written < 7 {
		t.Errorf("only %d actions write files", written)
	}
}

// schemaTo are the arguments of design.schema that writes a file.
func schemaTo(path string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"name":"User","fields":[{"name":"email","type":"email"}],"outputPath":%q}`, path))
}

// A session's policy holds for its agents, for the connections that are part
// of it and for the tasks that they submit, and for nobody else.
func TestSessionPolicy(t *testing.T) {
	t.Parallel()
	b := benchOf(t, surface.Options{})
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
		if _, err := os.Stat(filepath.Join(b.workspace, path)); err == nil {
			t.Errorf("%s was written", path)
		}
	}
	must(over("lead"), "guard.apply", `{"sessionId":"`+exampleSession+`","policyId":"bugfix"}`)
	must(over("lead"), "guard.apply", `{"sessionId":"`+exampleSession+`","policyId":"bugfix"}`)
	refused(over("lead"), "src/contracts/a.ts", "forbiddenPaths has **/contracts/**")
	must(over("other"), "design.schema", string(schemaTo("other/contracts/a.ts")))
	must(over("other"), "session.join", `{"sessionId":"`+exampleSession+`","agentId":"ann"}`)
	refused(over("other"), "src/contracts/a.ts", "policy bugfix")
	must(over("other"), "memory.store", `{"key":"k","value":{}}`)

	must(t.Context(), "agent.register", `{"agentId":"writer","description":"w","workflow":[{"stepId":"s","name":"s","type":"tool",`+
		`"config":{"tool":"design.schema","arguments":`+string(schemaTo("in/contracts/a.ts"))+`}}]}`)
	must(t.Context(), "agent.register", `{"agentId":"boss","description":"b","workflow":[{"stepId":"d","name":"d","type":"delegate",`+
		`"config":{"agentId":"writer"}}]}`)
	for _, agent := range []string{"writer", "boss"} {
		if out := must(t.Context(), "agent.run", `{"agentId":"`+agent+`","sessionId":"`+strings.ToUpper(exampleSession)+`"}`); !strings.Contains(
			out, guard.Violation) {
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
	must(over("lead"), "session.complete", `{"sessionId":"`+exampleSession+`"}`)
	must(over("lead"), "design.schema", string(schemaTo("d/x.ts")))
	answer := b.Runner.Call(over("lead"), "guard.apply", json.RawMessage(`{"sessionId":"`+exampleSession+`","policyId":"bugfix"}`))
	if answer.Err == nil || answer.Err.Code != "SESSION_INVALID_TRANSITION" {
		t.Errorf("applied to a session that has ended: %s", answer.Content)
	}
}
