package consolidate_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/surface"
)

// With fold effect, a read-only tool runs no other actions for a client, and the hints of every
// tool are true for all its actions.
func TestHintsOfSplitTools(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{Fold: consolidate.ByEffect})
	hints := map[string]toolfold.Hints{}
	for _, l := range b.Discovery.List(t.Context()) {
		hints[l.Name] = l.Hints
	}
	if !hints["memory"].ReadOnly || hints["memory"].Destructive || hints["memory_write"].ReadOnly || !hints["memory_write"].Destructive {
		t.Errorf("memory has %+v, memory_write %+v", hints["memory"], hints["memory_write"])
	}
	for _, f := range b.Families() {
		for _, a := range f.Actions {
			for _, tool := range []string{f.Name, f.Name + "_write"} {
				promise, ok := hints[tool]
				if !ok || f.Bare || a.Apart {
					continue
				}
				args := ordered.MustJSON(map[string]any{"action": a.Name, "qqqq": map[string]any{}})
				answer := b.Client.Call(t.Context(), tool, args)
				runs := answer.Err == nil || answer.Err.Code != toolfold.InvalidAction // it reached the arguments
				want := a.ToolByEffect() == tool || a.Effect == toolfold.Reads
				if runs != want {
					t.Errorf("%s runs %s: %v; it answered %s", tool, a.FullName(), runs, answer.Content)
				}
				has := a.Hints()
				if runs && (promise.ReadOnly && !has.ReadOnly || has.Destructive && !promise.Destructive || promise.Idempotent && !has.Idempotent ||
					has.OpenWorld && !promise.OpenWorld) {
					t.Errorf("%s says %+v and runs %s, which is %+v", tool, promise, a.FullName(), has)
				}
			}
		}
	}
}

// The error for an action of the other tool is enough to correct the call.
func TestErrorForTheOtherTool(t *testing.T) {
	t.Parallel()
	everything := workbench.New(t, surface.Options{})
	for _, f := range everything.Families() {
		for i, a := range f.Actions {
			if a.ToolByEffect() == f.Name || a.Apart {
				continue
			}
			t.Run(a.FullName(), func(t *testing.T) {
				t.Parallel()
				b := workbench.New(t, surface.Options{Fold: consolidate.ByEffect})
				for _, before := range f.Actions[:i] { // examples run in order
					b.Runner.Call(t.Context(), before.FullName(), json.RawMessage(before.Example))
				}
				err := b.Client.Call(t.Context(), f.Name, entry.Select(a).Example()).Err
				if err == nil || err.Code != toolfold.InvalidAction || len(err.Problems) != 1 || err.Problems[0].Kind != toolfold.ProblemStray {
					t.Fatalf("%s answers %+v", f.Name, err)
				}
				if size := len(ordered.MustJSON(err)); size > 640 {
					t.Errorf("an error of %d bytes: %s", size, ordered.MustJSON(err))
				}
				answer := b.Client.Call(t.Context(), err.Problems[0].BelongsTo[0], err.Example)
				if answer.Err != nil && (answer.Err.Code == toolfold.InvalidAction || answer.Err.Code == toolfold.InvalidInput ||
					answer.Err.Code == toolfold.UnknownTool) {
					t.Errorf("mended, it answers %s", answer.Content)
				}
			})
		}
	}
	answer := workbench.New(t, surface.Options{Fold: consolidate.ByEffect}).
		Client.Call(t.Context(), "memory", json.RawMessage(`{"action":"stroe","key":"a"}`))
	if want := `did you mean \"store\"? (store is an action of memory_write)`; !strings.Contains(string(answer.Content), want) {
		t.Errorf("a misspelt action answers %s", answer.Content)
	}
}

// With every fold, every action is called by all its names. Clients can use the names that stand
// for it alone and its own tool; our own calls can use its family too.
func TestEveryNameOfSplitTools(t *testing.T) {
	t.Parallel()
	for _, mode := range surface.Modes() {
		b := workbench.New(t, surface.Options{Mode: mode, Fold: consolidate.ByEffect})
		for _, e := range b.Entries() {
			split := *e
			if e.Selector != "" {
				split.Tool = e.Action.ToolByEffect()
			}
			for how, answer := range map[string]toolfold.Answer{
				"by a client":        b.Client.Call(t.Context(), split.Tool, harmless(split)),
				"from within":        b.Runner.Call(t.Context(), e.Tool, harmless(*e)),
				"from within, split": b.Runner.Call(t.Context(), split.Tool, harmless(split)),
				"by a client through tools.call": b.Client.Call(t.Context(), "tool_call",
					fmt.Appendf(nil, `{"name":%q,"arguments":%s}`, e.Tool, harmless(*e))),
				"by a client through tools.call, split": b.Client.Call(t.Context(), "tool_call",
					fmt.Appendf(nil, `{"name":%q,"arguments":%s}`, split.Tool, harmless(split))),
			} {
				if answer.Err != nil && (answer.Err.Code == toolfold.UnknownTool || answer.Err.Code == toolfold.InvalidAction) {
					t.Errorf("%s: %s as %s %s: %s", mode, e.Action.FullName(), split.Tool, how, answer.Content)
				}
				if e.Legacy && !e.Action.Family.Bare && !e.Action.Apart &&
					(answer.Deprecated == nil || answer.Deprecated.Tool != e.Action.ToolByEffect()) && how == "by a client" {
					t.Errorf("%s: %s is said to be %+v now", mode, e.Tool, answer.Deprecated)
				}
			}
		}
	}
}

// harmless are arguments that pass the first checks and do nothing.
func harmless(called entry.Entry) json.RawMessage {
	members := map[string]any{"include_fields": []string{"no such field"}}
	if called.Selector != "" {
		members["action"] = called.Selector
	}
	return ordered.MustJSON(members)
}

// The calls of a split tool that find, describe and load show work as shown. At every level, its
// tools are listed in place of the family.
func TestDiscoveryOfSplitTools(t *testing.T) {
	t.Parallel()
	for _, level := range lazy.Levels() {
		b := workbench.New(t, surface.Options{Level: level, Fold: consolidate.ByEffect})
		view := b.Discovery.View(t.Context())
		for _, f := range b.Families() {
			for _, a := range f.Actions {
				tool := a.ToolByEffect()
				for _, found := range view.Find(a.Summary+" "+a.Words, 50) {
					if found.Name == a.FullName() && !a.Apart && !strings.HasPrefix(found.Usage, tool+"(") &&
						!strings.HasPrefix(found.Usage, "tool_call(name: '"+found.Name+"'") {
						t.Errorf("%s: %s is found as %s", level, a.FullName(), found.Usage)
					}
				}
				for _, name := range []string{a.FullName(), tool} {
					loaded, err := b.Discovery.Load(t.Context(), name)
					if err != nil || !slices.ContainsFunc(loaded, func(l lazy.ListedTool) bool { return l.Name == tool }) && !a.Apart {
						t.Errorf("%s: %s is loaded as %v, %v", level, name, loaded, err)
					}
				}
			}
		}
		if list := b.Discovery.List(t.Context()); level != lazy.Search &&
			!slices.ContainsFunc(list, func(l lazy.ListedTool) bool { return l.Name == "session_write" }) {
			t.Errorf("%s: session_write is not listed", level)
		}
	}
	view := workbench.New(t, surface.Options{Fold: consolidate.ByEffect}).Discovery.View(t.Context())
	for name, want := range map[string][2]string{ // what describe shows, and what it omits
		"memory":       {`"name":"memory"`, "store("},
		"memory_write": {`"name":"memory_write"`, "get("},
		"memory.store": {"memory_write(action:'store'", "memory(action"},
	} {
		for how, describe := range map[string]func() (json.RawMessage, *toolfold.Error){
			"described": func() (json.RawMessage, *toolfold.Error) { return view.Describe(name, lazy.Account{}) },
			"defined":   func() (json.RawMessage, *toolfold.Error) { return view.Define(name, false) },
		} {
			doc, err := describe()
			if err != nil || how == "described" && !strings.Contains(string(doc), want[0]) || strings.Contains(string(doc), want[1]) {
				t.Errorf("%s %s: %s, %v", name, how, doc, err)
			}
		}
	}
}

// Rules apply with every fold. Rights do not change the tool of an action: a tool that is read-only
// for one caller is so for all.
func TestRightsOfSplitTools(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rules        permission.Rules
		tool, absent string
	}{
		{permission.Rules{Deny: []string{"memory_write"}}, "memory", "memory_write"},
		{permission.Rules{Deny: []string{"mcp__toolfold__memory_write"}}, "memory", "memory_write"},
		{permission.Rules{ReadOnly: true}, "memory", "memory_write"},
		{permission.Rules{Allow: []string{"memory.store"}}, "memory_write", "memory"},
		{permission.Rules{Allow: []string{"memory_write"}}, "memory_write", "memory"},
		{permission.Rules{Deny: []string{"memory"}}, "task_write", "memory"},
	} {
		b := workbench.New(t, surface.Options{Fold: consolidate.ByEffect, Rights: test.rules.Rights()})
		names := map[string]bool{}
		for _, l := range b.Discovery.List(t.Context()) {
			names[l.Name] = true
		}
		if !names[test.tool] || names[test.absent] {
			t.Errorf("%+v lists %v", test.rules, names)
		}
	}
}

// With fold none every action is listed once, at every level, as the tool FAMILY_ACTION. If that is
// also the action's legacy name, it means the current action: nothing is deprecated, and actions
// that change something reject unknown parameters.
func TestEveryActionAlone(t *testing.T) {
	t.Parallel()
	for _, level := range lazy.Levels() {
		b := workbench.New(t, surface.Options{Level: level, Fold: consolidate.None})
		tools := map[string]lazy.ListedTool{}
		for _, l := range b.Discovery.List(t.Context()) {
			tools[l.Name] = l
		}
		for _, f := range b.Families() {
			for _, a := range f.Actions {
				name := f.Name + "_" + a.Name
				switch {
				case f.Bare:
					name = f.Name
				case a.Apart:
					name = a.Legacy[0].Name
				}
				l, ok := tools[name]
				if shown := level != lazy.Search || f.Tier == toolfold.Core || f.Category == callctx.Discovery; ok != shown {
					t.Errorf("%s: %s is listed: %v", level, name, ok)
				}
				delete(tools, name)
				if ok && l.Hints != a.Hints() {
					t.Errorf("%s has the hints %+v", name, l.Hints)
				}
				answer := b.Client.Call(t.Context(), name, json.RawMessage(`{"qqqq":1}`))
				if answer.Deprecated != nil || a.Effect != toolfold.Reads && (answer.Err == nil || answer.Err.Code != toolfold.InvalidInput) {
					t.Errorf("%s with an unknown parameter answers %s, deprecated %v", name, answer.Content, answer.Deprecated)
				}
				usage := name + "("
				if level == lazy.Search && !ok {
					usage = "tool_call(name:'" + name
				}
				if doc, err := b.Discovery.View(t.Context()).Describe(a.FullName(), lazy.Account{}); err != nil ||
					!strings.Contains(string(doc), `"usage":"`+usage) {
					t.Errorf("%s: %s is described as %s, %v", level, name, doc, err)
				}
			}
		}
		for name := range tools {
			t.Errorf("%s: %s is listed too", level, name)
		}
	}
}

// Names of families still work, and errors about wrong names suggest listed ones.
func TestNamesBesideActionsAlone(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{Fold: consolidate.None})
	for _, test := range []struct{ name, args, want string }{
		{"memory", `{"action":"store","key":"a","value":1}`, `"key":"a"`},
		{"memory.get", `{"key":"a"}`, `"value":1`},
		{"memory_save", `{"key":"a","value":1}`, `call memory_store`},
		{"memory_store", `{"key":"a"}`, `"usage":"memory_store(`},
		{"tool_call", `{"name":"memory_get","arguments":{"key":"a"}}`, `"value":1`},
	} {
		if got := string(b.Client.Call(t.Context(), test.name, json.RawMessage(test.args)).Content); !strings.Contains(got, test.want) {
			t.Errorf("%s %s answers %s, want %s", test.name, test.args, got, test.want)
		}
	}
	strict := workbench.New(t, surface.Options{Fold: consolidate.None, Strict: true})
	for name, want := range map[string]bool{"memory_list": true, "memory": false, "memory.list": false} {
		if answer := strict.Client.Call(t.Context(), name, json.RawMessage(`{"action":"list"}`)); (answer.Err == nil ||
			answer.Err.Code != toolfold.UnknownTool) != want {
			t.Errorf("strict, %s answers %s", name, answer.Content)
		}
	}
}
