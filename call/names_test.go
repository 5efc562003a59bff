package call_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
)

// otherVerbs are words that callers use for actions, by action.
var otherVerbs = map[string]string{
	"store": "save put set write remember add", "get": "fetch read retrieve show view", "search": "find query lookup grep",
	"list": "ls all show_all list_all enumerate", "delete": "remove erase forget del drop",
	"bulk_delete": "delete_many remove_many bulkDelete",
	"clear":       "wipe empty", "export": "dump backup", "import": "restore upload", "stats": "statistics count",
	"create": "new make add open", "join": "enter", "leave": "exit quit", "complete": "finish end close done", "fail": "error",
	"status": "get show info state progress", "submit": "create add enqueue schedule new", "cancel": "abort kill stop delete", "wait": "await",
	"retry": "rerun restart redo", "pause": "hold stop suspend halt", "resume": "unpause continue start restart",
	"update": "edit modify change",
	"remove": "delete unregister del drop", "register": "create add define new", "run": "execute start invoke launch",
	"set": "update change write", "unset": "delete reset remove", "show": "view display", "test": "check",
	"scan": "analyze detect lint", "apply": "execute", "check": "verify validate test", "find": "search query",
	"describe": "help explain info",
	"active":   "loaded", "rest": "more next", "analyze": "diagnose investigate", "record": "log add track", "increment": "inc bump",
	"query": "search find read", "start": "begin", "stop": "end finish",
}

// A wrong name for an action leads to it in one round, as the name of a tool, through tool_call and
// as the action. No name leads to an action that destroys more.
func TestOtherNamesLeadToTheAction(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{Mode: surface.Consolidated, Level: lazy.Lazy})
	right, tried := map[string]int{}, map[string]int{}
	for _, f := range b.Families() {
		taken := map[string]bool{}
		for _, a := range f.Actions {
			taken[a.Name] = true
			for _, old := range a.Legacy {
				taken[strings.TrimPrefix(old.Name, f.Name+"_")] = true
			}
		}
		for _, a := range f.Actions {
			for verb := range strings.FieldsSeq(otherVerbs[a.Name]) {
				if f.Bare || a.Apart || taken[verb] {
					continue
				}
				args := workbench.Arguments(entry.New(a, a.FullName()))
				through := map[string]any{"name": f.Name + "." + verb, "arguments": args}
				action := map[string]any{callctx.ArgAction: verb}
				for name, value := range args {
					action[name] = value
				}
				for how, answer := range map[string]toolfold.Answer{
					"as a tool": b.Client.Call(t.Context(), f.Name+"_"+verb, ordered.MustJSON(args)),
					"in front":  b.Client.Call(t.Context(), verb+"_"+f.Name, ordered.MustJSON(args)),
					"joined":    b.Client.Call(t.Context(), verb+upperFirst(f.Name), ordered.MustJSON(map[string]any{"params": args})),
					"tool_call": b.Client.Call(t.Context(), "tool_call", ordered.MustJSON(through)),
					"as action": b.Client.Call(t.Context(), f.Name, ordered.MustJSON(action)),
				} {
					tried[how]++
					suggested := ""
					if answer.Err != nil && len(answer.Err.Problems) > 0 {
						suggested = answer.Err.Problems[0].Suggest
					}
					if suggested == a.Name && answer.Err.Usage+string(ordered.MustJSON(answer.Err.Example)) != "" {
						right[how]++
						continue
					}
					t.Logf("%s %s, %s: %q, want %q: %.300s", f.Name, verb, how, suggested, a.Name, answer.Content)
					if other := f.Action(suggested); other != nil && other.Effect == toolfold.Deletes && a.Effect != toolfold.Deletes {
						t.Errorf("%s %s, %s, leads to %s", f.Name, verb, how, suggested)
					}
				}
			}
		}
	}
	for how, n := range tried {
		t.Logf("%s: %d of %d", how, right[how], n)
		if n < 100 || right[how]*100 < n*95 {
			t.Errorf("%s: %d of %d lead to the right action", how, right[how], n)
		}
	}
}

func upperFirst(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// Verbs for things that a family does not do lead to no action, least of all to the opposite.
func TestNoVerbLeadsToTheOpposite(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{Mode: surface.Consolidated, Level: lazy.Lazy})
	for _, test := range []struct{ family, verb, not string }{
		{"queue", "unpause", "pause"}, {"queue", "delete", "pause"}, {"queue", "drop", "pause"}, {"queue", "continue", "pause"},
		{"agent", "unregister", "register"}, {"agent", "delete", "get"}, {"agent", "edit", "register"}, {"config", "delete", "get"},
		{"config", "reset", "set"}, {"memory", "remove", "get"}, {"memory", "forget", "get"}, {"memory", "clean", "clear"},
		{"session", "delete", "fail"}, {"workflow", "delete", "run"}, {"ability", "deregister", "register"}, {"memory", "unstore", "store"},
	} {
		answer := b.Client.Call(t.Context(), test.family, ordered.MustJSON(map[string]any{"action": test.verb}))
		if answer.Err == nil || len(answer.Err.Problems) == 0 || answer.Err.Problems[0].Suggest == test.not {
			t.Errorf("%s %s: %s", test.family, test.verb, answer.Content)
		}
	}
}

// If no action fits, the suggested one does not delete, also if the first of the family does.
func TestGuessDeletesNothing(t *testing.T) {
	t.Parallel()
	f := toolfold.Family{Name: "files", Summary: "S", Category: "c", Tier: toolfold.Extended, Apiece: true}
	for _, tool := range []struct {
		name   string
		effect toolfold.Effect
	}{{"destroy", toolfold.Deletes}, {"move", toolfold.Sets}} {
		a, err := toolfold.External{
			Name: tool.name, Description: "D.", Effect: tool.effect, Definition: json.RawMessage(`{}`),
			InputSchema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`),
			Relay:       func(context.Context, json.RawMessage) (toolfold.Reply, error) { return toolfold.Reply{}, nil },
		}.Action()
		if err != nil {
			t.Fatal(err)
		}
		f.Actions = append(f.Actions, a)
	}
	mounted, err := toolfold.Mount(f, func(context.Context) (any, error) { return f, nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{`{}`, `{"action":"frobnicate"}`} {
		answer := runnerOf(mounted).Call(t.Context(), "files", json.RawMessage(call))
		if answer.Err == nil || answer.Err.Problems[0].Suggest != "move" {
			t.Errorf("%s: %v, want move suggested", call, answer.Err)
		}
	}
}

// If names are strict, only listed ones are accepted, at every tier and level. Errors about other
// names show how to call them.
func TestOnlyListedNamesAreAccepted(t *testing.T) {
	t.Parallel()
	for _, o := range []surface.Options{{Tier: toolfold.Core}, {Tier: toolfold.Standard}, {Level: lazy.Search}, {}} {
		o.Strict = true
		b := workbench.New(t, o)
		tools := map[string]bool{}
		for _, l := range b.Discovery.List(t.Context()) {
			tools[l.Name] = true
		}
		refused := 0
		for _, f := range b.Families() {
			if f.Category == callctx.Discovery {
				continue
			}
			e := entry.Select(f.Actions[0])
			answer := b.Client.Call(t.Context(), f.Name, e.Example())
			unknown := answer.Err != nil && answer.Err.Code == toolfold.UnknownTool
			if unknown == tools[f.Name] || unknown && !strings.Contains(answer.Err.Hint, "tool_call") {
				t.Errorf("tier %v, listing %s: %s, listed %t, answers %.200s", o.Tier, o.Level, f.Name, tools[f.Name], answer.Content)
			}
			if !unknown {
				continue
			}
			refused++
			through := ordered.MustJSON(map[string]any{"name": f.Name, "arguments": e.Example()})
			if answer := b.Client.Call(t.Context(), "tool_call", through); answer.Err != nil && answer.Err.Code == toolfold.UnknownTool {
				t.Errorf("tool_call of %s: %s", f.Name, answer.Content)
			}
		}
		if full := o.Tier == 0 && o.Level == ""; full != (refused == 0) {
			t.Errorf("tier %v, listing %s: %d names are refused", o.Tier, o.Level, refused)
		}
	}
}
