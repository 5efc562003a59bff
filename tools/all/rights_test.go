package all_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools"
)

// What is not permitted is absent, in each mode and at each level: from the
// list with its enums, signatures and schemas, from find, describe and load,
// from suggestions and from dispatch, under every name.
func TestWhatIsNotPermittedIsAbsent(t *testing.T) {
	t.Parallel()
	onlyReads := &tools.Rights{Allows: func(a *tools.Action) bool { return a.Effect == tools.Reads || a.Forwards() }}
	everything := newBench(t)
	for _, mode := range surface.Modes() {
		for _, level := range lazy.Levels() {
			b := benchOf(t, surface.Options{Mode: mode, Level: level, Rights: onlyReads})
			list := b.Discovery.List(t.Context())
			for _, e := range everything.entries() {
				if onlyReads.Allow(e.Action) {
					continue
				}
				name := e.Action.FullName()
				if shows(list, e) {
					t.Errorf("%s %s: %s is listed", mode, level, name)
				}
				if level == mode.DefaultLevel() {
					checkAbsent(t, b, e)
				}
			}
		}
	}
}

// shows reports whether a list has a trace of an action: its legacy name, its
// signature, or its name in an enum.
func shows(list []lazy.Listed, e *tools.Entry) bool {
	for _, l := range list {
		if e.Legacy || l.Name != e.Action.Family.Name {
			if l.Name == e.Tool {
				return true
			}
			continue
		}
		for signature := range strings.FieldsSeq(strings.TrimPrefix(l.Description, e.Action.Family.Summary+":")) {
			if verb, _, _ := strings.Cut(signature, "("); verb == e.Action.Name {
				return true
			}
		}
		var schema struct {
			Properties map[string]struct{ Enum []string }
		}
		return json.Unmarshal(l.InputSchema, &schema) == nil && slices.Contains(schema.Properties[tools.ActionParam].Enum, e.Action.Name)
	}
	return false
}

func checkAbsent(t *testing.T, b *bench, e *tools.Entry) {
	t.Helper()
	name, ctx := e.Action.FullName(), t.Context()
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
			switch answer.Err.Code {
			case tools.UnknownTool, tools.InvalidAction:
			default:
				t.Errorf("%s %s %s answers %s", e.Title(), via, how, answer.Content)
			}
			checkSilent(t, e.Title()+" "+via+" "+how, name, answer.Err)
		}
	}
}

// checkSilent fails when an error shows the action as something to call.
func checkSilent(t *testing.T, how, name string, err *tools.Error) {
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

// Should a name of an action that is not permitted resolve all the same, the
// call is refused before its arguments are looked at.
func TestPermissionsAreASecondLine(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	names := call.NewResolver(b.entries())
	runner := call.New(func(*tools.Rights) *call.Resolver { return names }, nil, call.Permissions)
	nothing := tools.WithOrigin(t.Context(), tools.Origin{Rights: &tools.Rights{Allows: func(*tools.Action) bool { return false }}})
	for _, e := range b.entries() {
		for _, args := range []json.RawMessage{e.Example(), json.RawMessage(`{"action":` + quoted(e.Selector) + `,"qqqq":1}`)} {
			if answer := runner.Call(nothing, e.Tool, args); answer.Err == nil || answer.Err.Code != tools.PermissionDenied {
				t.Errorf("%s %s answers %s", e.Title(), args, answer.Content)
			}
		}
	}
}

// A denied action is denied whatever name the rule has, whatever name it is
// called by, and whoever calls: tools.call, a task, a workflow or an agent.
func TestDeniedEverywhere(t *testing.T) {
	t.Parallel()
	everything := newBench(t)
	entries := everything.entries()
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
				b := benchOf(t, surface.Options{Rights: rules.Rights()})
				for _, e := range entries {
					if e.Action.FullName() == a.FullName() {
						b.checkDenied(t, e)
					}
				}
			})
		}
	}
}

// checkDenied calls an entry in every way and wants none to run it.
func (b *bench) checkDenied(t *testing.T, e *tools.Entry) {
	t.Helper()
	step := ordered.MustJSON([]any{map[string]any{
		"stepId": "do", "type": "tool", "config": map[string]any{"tool": e.Tool, "arguments": e.Example()},
	}})
	workflow := filepath.Join(b.workspace, ".toolfold", "workflows", "does.json")
	if err := os.WriteFile(workflow, fmt.Appendf(nil, `{"name":"Does","steps":%s}`, step), 0o600); err != nil {
		t.Fatal(err)
	}
	b.Runner.Call(t.Context(), "agent.register", fmt.Appendf(nil, `{"agentId":"does","description":"Does.","workflow":%s}`, step))
	for how, call := range map[string]struct{ name, args string }{
		"tools.call":  {"tools.call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, e.Tool, e.Example())},
		"tool_call":   {"tool_call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, e.Tool, e.Example())},
		"a task":      {"task.submit", fmt.Sprintf(`{"name":"x","input":{"tool":%q,"arguments":%s}}`, e.Tool, e.Example())},
		"a workflow":  {"workflow.run", `{"workflowId":"does"}`},
		"an agent":    {"agent.run", `{"agentId":"does","input":{}}`},
		"its name":    {e.Tool, string(e.Example())},
		"its own run": {e.Action.FullName(), e.Action.Example},
	} {
		answer := b.Runner.Call(t.Context(), call.name, json.RawMessage(call.args))
		var run struct{ Success *bool }
		_ = json.Unmarshal(answer.Content, &run) // results of runs only
		if answer.Err == nil && (run.Success == nil || *run.Success) {
			t.Errorf("%s, called %s, is run by %s: %s", e.Action.FullName(), e.Title(), how, answer.Content)
		}
	}
}
