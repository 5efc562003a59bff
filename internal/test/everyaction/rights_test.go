package everyaction_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/surface"
)

// Actions that are not permitted are absent in each mode and at each level: from the list with its
// enums, signatures and schemas, from find, describe and load, from suggestions and from dispatch,
// under every name.
func TestForbiddenActionsAreAbsent(t *testing.T) {
	t.Parallel()
	onlyReads := &toolfold.Rights{Allows: func(a *toolfold.Action) bool { return a.Effect == toolfold.Reads || a.Forwards() }}
	everything := workbench.New(t, surface.Options{})
	for _, mode := range surface.Modes() {
		for _, level := range lazy.Levels() {
			b := workbench.New(t, surface.Options{Mode: mode, Level: level, Rights: onlyReads})
			list := b.Discovery.List(t.Context())
			for _, e := range everything.Entries() {
				if onlyReads.Allow(e.Action) {
					continue
				}
				name := e.Action.FullName()
				if shows(list, e) {
					t.Errorf("%s %s: %s is listed", mode, level, name)
				}
				if level == mode.DefaultLevel() {
					checkAbsent(t, t.Context(), b, e)
				}
			}
		}
	}
}

// shows reports whether a list has a trace of an action: its legacy name, its
// signature, or its name in an enum.
func shows(list []lazy.ListedTool, e *entry.Entry) bool {
	for _, l := range list {
		if e.Legacy || l.Name != e.Action.Family.Name {
			if l.Name == e.Tool {
				return true
			}
			continue
		}
		for signature := range strings.FieldsSeq(strings.TrimPrefix(l.Description, e.Action.Family.Summary+":")) {
			verbs, _, _ := strings.Cut(signature, "(") // several with the same parameters
			verbs, _, _ = strings.Cut(verbs, "=")
			if slices.Contains(strings.Split(verbs, "|"), e.Action.Name) {
				return true
			}
		}
		var schema struct {
			Properties map[string]struct{ Enum []string }
		}
		return json.Unmarshal(l.InputSchema, &schema) == nil && slices.Contains(schema.Properties[callctx.ArgAction].Enum, e.Action.Name)
	}
	return false
}

func checkAbsent(t *testing.T, ctx context.Context, b *workbench.Bench, e *entry.Entry) {
	t.Helper()
	name := e.Action.FullName()
	view := b.Discovery.View(ctx)
	for _, found := range view.Find(e.Action.Summary+" "+e.Action.Words, 50) {
		if found.Name == name {
			t.Errorf("%s is found", name)
		}
	}
	if e.Selector == "" {
		if doc, err := view.Describe(e.Tool, lazy.Account{Examples: true}); err == nil {
			t.Errorf("%s is described: %s", e.Tool, doc)
		} else {
			checkSilent(t, e.Tool+" described", name, err)
		}
		if loaded, err := b.Discovery.Load(ctx, e.Tool); err == nil {
			t.Errorf("%s is loaded: %v", e.Tool, loaded)
		}
	}
	for how, args := range map[string]json.RawMessage{
		"with its example":        e.Example(),
		"with bad arguments":      json.RawMessage(`{"action":` + quoted(e.Selector) + `,"qqqq":1}`),
		"with a misspelt action":  json.RawMessage(`{"action":` + quoted(e.Selector+"x") + `}`),
		"with nothing but action": json.RawMessage(`{"action":` + quoted(e.Selector) + `}`),
	} {
		for _, via := range []string{"directly", "through tools.call"} {
			called, arguments := e.Tool, args
			if via != "directly" {
				called, arguments = "tools.call", json.RawMessage(fmt.Sprintf(`{"name":%q,"arguments":%s}`, e.Tool, args))
			}
			answer := b.Runner.Call(ctx, called, arguments)
			if answer.Err == nil {
				t.Errorf("%s is called %s %s: %s", e.Title(), via, how, answer.Content)
				continue
			}
			if answer.Err.Code != toolfold.PermissionDenied {
				t.Errorf("%s %s %s answers %s", e.Title(), via, how, answer.Content)
			}
			checkSilent(t, e.Title()+" "+via+" "+how, name, answer.Err)
		}
	}
}

// checkSilent fails when an error shows the action as something to call.
func checkSilent(t *testing.T, how, name string, err *toolfold.Error) {
	t.Helper()
	_, action, _ := strings.Cut(name, ".")
	for _, p := range err.Problems {
		if p.Suggest == action || strings.Contains(" "+strings.Join(p.Allowed, " ")+" ", " "+action+" ") {
			t.Errorf("%s suggests %s: %+v", how, name, p)
		}
	}
	if strings.HasPrefix(err.Usage, action+"(") || strings.Contains(err.Hint, name) {
		t.Errorf("%s shows %s: %+v", how, name, err)
	}
}

// If the name of a forbidden action resolves anyway, the call is rejected before its arguments are
// read.
func TestPermissionsAreASecondLine(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	names := call.NewResolver(b.Entries())
	runner := call.New(func(*toolfold.Rights) *call.Resolver { return names }, nil, call.Permissions)
	nothing := callctx.With(t.Context(),
		toolfold.Origin{Rights: &toolfold.Rights{Allows: func(*toolfold.Action) bool { return false }}})
	for _, e := range b.Entries() {
		for _, args := range []json.RawMessage{e.Example(), json.RawMessage(`{"action":` + quoted(e.Selector) + `,"qqqq":1}`)} {
			if answer := runner.Call(nothing, e.Tool, args); answer.Err == nil || answer.Err.Code != toolfold.PermissionDenied {
				t.Errorf("%s %s answers %s", e.Title(), args, answer.Content)
			}
		}
	}
}

// A denied action is denied under every name, in the rule and in the call, and for all callers:
// tools.call, tasks, workflows and agents.
func TestDeniedEverywhere(t *testing.T) {
	t.Parallel()
	everything := workbench.New(t, surface.Options{})
	entries := everything.Entries()
	for _, family := range everything.Families() {
		for _, a := range family.Actions {
			if a.Forwards() {
				continue
			}
			t.Run(a.FullName(), func(t *testing.T) {
				t.Parallel()
				patterns := []string{a.FullName(), "mcp__toolfold__" + family.Name + "_" + a.Name}
				for _, old := range a.Legacy {
					patterns = append(patterns, old.Name)
				}
				for _, pattern := range patterns {
					rules := permission.Rules{Deny: []string{pattern}}
					if rules.Rights().Allow(a) {
						t.Errorf("deny %q permits it", pattern)
					}
				}
				rules := permission.Rules{Deny: patterns[len(patterns)-1:]}
				b := workbench.New(t, surface.Options{Rights: rules.Rights()})
				for _, e := range entries {
					if e.Action.FullName() == a.FullName() {
						checkDenied(t, t.Context(), b, e, "does")
					}
				}
			})
		}
	}
}

// The rights of a caller hold on a server whose other callers have more rights. A denied action is
// not listed, found, described, loaded or called under any name. tools.call, workflows, agents and
// tasks do not run it either, even if a worker runs the task after the caller is gone.
func TestRightsOfCallers(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	b.Work(t)
	entries := b.Entries()
	for _, family := range b.Families() {
		for i, a := range family.Actions {
			if a.Forwards() {
				continue
			}
			t.Run(a.FullName(), func(t *testing.T) {
				t.Parallel()
				ctx := callctx.With(t.Context(), toolfold.Origin{Rights: permission.Rules{Deny: []string{a.FullName()}}.Rights()})
				for n, e := range entries {
					if e.Action.FullName() != a.FullName() {
						continue
					}
					if shows(b.Discovery.List(ctx), e) {
						t.Errorf("%s is listed", e.Title())
					}
					if !shows(b.Discovery.List(t.Context()), e) && !e.Legacy && !a.Apart && e.Selector != "" {
						t.Errorf("%s is not listed for others", e.Title())
					}
					checkAbsent(t, ctx, b, e)
					id := fmt.Sprintf("does-%s-%d-%d", strings.ReplaceAll(family.Name, "_", "-"), i, n)
					checkDenied(t, ctx, b, e, id)
					checkTask(t, ctx, b, id)
				}
			})
		}
	}
}

// checkTask submits a task that runs an agent with the rights of ctx, and expects it to be rejected
// or to fail. The worker has all rights.
func checkTask(t *testing.T, ctx context.Context, b *workbench.Bench, agent string) {
	t.Helper()
	submitted := b.Runner.Call(ctx, "task.submit", fmt.Appendf(nil, `{"name":"x","agentId":%q}`, agent))
	if submitted.Err != nil {
		return
	}
	var task struct{ TaskID, Status, Error string }
	if err := json.Unmarshal(submitted.Content, &task); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Minute); task.Status == "queued" || task.Status == "running"; time.Sleep(20 * time.Millisecond) {
		answer := b.Runner.Call(t.Context(), "task.status", fmt.Appendf(nil, `{"taskId":%q}`, task.TaskID))
		if err := json.Unmarshal(answer.Content, &task); err != nil || answer.Err != nil || time.Now().After(deadline) {
			t.Fatalf("%v, %s", err, answer.Content)
		}
	}
	if task.Status != "failed" {
		t.Errorf("a task that runs %s is %s", agent, task.Status)
	}
}

// checkDenied calls an entry in every way and expects that it does not run. An agent and a workflow
// with this id call it.
func checkDenied(t *testing.T, ctx context.Context, b *workbench.Bench, e *entry.Entry, id string) {
	t.Helper()
	step := ordered.MustJSON([]any{map[string]any{
		"stepId": "do", "type": "tool", "config": map[string]any{"tool": e.Tool, "arguments": e.Example()},
	}})
	workflow := filepath.Join(b.Workspace, ".toolfold", "workflows", id+".json")
	if err := os.WriteFile(workflow, fmt.Appendf(nil, `{"name":"Does","steps":%s}`, step), 0o600); err != nil {
		t.Fatal(err)
	}
	b.Runner.Call(t.Context(), "agent.register", fmt.Appendf(nil, `{"agentId":%q,"description":"Does.","workflow":%s}`, id, step))
	for how, call := range map[string]struct{ name, args string }{
		"tools.call":  {"tools.call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, e.Tool, e.Example())},
		"tool_call":   {"tool_call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, e.Tool, e.Example())},
		"a task":      {"task.submit", fmt.Sprintf(`{"name":"x","input":{"tool":%q,"arguments":%s}}`, e.Tool, e.Example())},
		"a workflow":  {"workflow.run", fmt.Sprintf(`{"workflowId":%q}`, id)},
		"an agent":    {"agent.run", fmt.Sprintf(`{"agentId":%q,"input":{}}`, id)},
		"its name":    {e.Tool, string(e.Example())},
		"its own run": {e.Action.FullName(), e.Action.Example},
	} {
		answer := b.Runner.Call(ctx, call.name, json.RawMessage(call.args))
		var run struct{ Success *bool }
		_ = json.Unmarshal(answer.Content, &run) // only results of runs have it
		if answer.Err == nil && (run.Success == nil || *run.Success) {
			t.Errorf("%s, called %s, is run by %s: %s", e.Action.FullName(), e.Title(), how, answer.Content)
		}
	}
}

func quoted(s string) string { return string(ordered.MustJSON(s)) }
