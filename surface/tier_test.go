package surface_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/surface"
)

// In any mode and at any level, tools outside the tier and unlisted families are not listed. They can still be found,
// described, loaded and called.
func TestTier(t *testing.T) {
	t.Parallel()
	for _, mode := range surface.Modes() {
		for _, level := range lazy.Levels() {
			testUnlisted(t, live(t, surface.Options{Mode: mode, Level: level, Tier: toolfold.Core})) // weather_report is extended
			if mode == surface.Consolidated {                                                        // the whole legacy list has no discovery
				testUnlisted(t, live(t, surface.Options{Level: level, Unlisted: []string{"weather_report"}}))
			}
		}
	}
}

// testUnlisted checks that weather_report is not listed, and that calls find, describe, load and call it.
func testUnlisted(t *testing.T, s *surface.Surface) {
	t.Helper()
	mode, level := s.Mode, s.Level
	view := s.Discovery.View(t.Context())
	for how, list := range map[string][]lazy.ListedTool{
		"tools/list": s.Discovery.List(t.Context()), "tools/list at full": view.ListAt(lazy.Full), "stubs": view.Stubs(),
	} {
		if !slices.ContainsFunc(list, func(l lazy.ListedTool) bool { return l.Name == "tool_call" }) {
			t.Errorf("%s %s: %s has no tool_call", mode, level, how)
		}
		if slices.ContainsFunc(list, func(l lazy.ListedTool) bool { return l.Name == "weather_report" }) {
			t.Errorf("%s %s: %s has weather_report", mode, level, how)
		}
	}
	for call, want := range map[string]string{
		`{"name":"tool_find","arguments":{"query":"weather of a city"}}`:                  `tool_call(name: 'weather_report'`,
		`{"name":"tool_describe","arguments":{"name":"weather_report"}}`:                  `tool_call(name:'weather_report'`,
		`{"name":"tool_load","arguments":{"names":["weather_report"]}}`:                   `"loaded":["weather_report"]`,
		`{"name":"weather_report","arguments":{"city":"Kiel"}}`:                           `{"city":"Kiel"}`,
		`{"name":"list_available_tools","arguments":{}}`:                                  `"name":"weather_report"`,
		`{"name":"tool_call","arguments":{"name":"weather_report","arguments":{"x":""}}}`: `INVALID_INPUT`,
	} {
		if mode == surface.Legacy && strings.Contains(want, `"weather_report"`) {
			continue // no legacy name, so not listed in that mode
		}
		answer := s.Client.Call(t.Context(), "tool_call", json.RawMessage(call))
		if !strings.Contains(string(answer.Content), want) {
			t.Errorf("%s %s: %s answered %s, want %s", mode, level, call, answer.Content, want)
		}
	}
}

// A tool outside the tier that a session loads joins the session's list.
func TestLoadBeyondTheTier(t *testing.T) {
	t.Parallel()
	s := live(t, surface.Options{Tier: toolfold.Core})
	ctx := callctx.With(t.Context(), toolfold.Origin{Session: "one", ListGrows: true})
	answer := s.Client.Call(ctx, "tools", json.RawMessage(`{"action":"load","names":["weather_report"]}`))
	if !strings.Contains(string(answer.Content), `"listed":true`) {
		t.Errorf("load answered %s", answer.Content)
	}
	if list := s.Discovery.List(ctx); !slices.ContainsFunc(list, func(l lazy.ListedTool) bool { return l.Name == "weather_report" }) {
		t.Errorf("it is not listed: %v", list)
	}
	if list := s.Discovery.List(t.Context()); len(list) != 2 {
		t.Errorf("others are listed %v", list)
	}
}

// Calls of a tool are shown in the form that the list declares.
func TestCallsAreShownAsListed(t *testing.T) {
	t.Parallel()
	for _, level := range lazy.Levels() {
		s := live(t, surface.Options{Level: level})
		described := string(s.Client.Call(t.Context(), "tools", json.RawMessage(`{"action":"describe","params":{"name":"weather_report"}}`)).
			Content)
		list := s.Discovery.List(t.Context())
		at := slices.IndexFunc(list, func(l lazy.ListedTool) bool { return l.Name == "weather_report" })
		if at < 0 {
			continue
		}
		raw, err := json.Marshal(list[at])
		if err != nil {
			t.Fatal(err)
		}
		inObject := strings.Contains(string(raw), `"params":`)
		if strings.Contains(described, `params?:{days`) != inObject {
			t.Errorf("%s: %s is described as %s", level, raw, described)
		}
		refused := s.Client.Call(t.Context(), "weather_report", json.RawMessage(`{"city":"Kiel","days":"many"}`))
		if strings.Contains(string(refused.Content), `params?: {days`) != inObject {
			t.Errorf("%s: %s refuses a call with %s", level, raw, refused.Content)
		}
	}
}

// Tools of other servers with a full definition are listed in every tier.
func TestToolsOfOtherServersHaveNoTier(t *testing.T) {
	t.Parallel()
	for _, mode := range surface.Modes() {
		s := live(t, surface.Options{Mode: mode, Tier: toolfold.Core, Level: lazy.Lazy})
		foreign, err := toolfold.External{
			Name: "tide_table", Description: "Tides of a harbour.", Category: "harbour", Effect: toolfold.Reads,
			InputSchema: json.RawMessage(`{"type":"object"}`), Aliases: []string{"harbour.tide_table"},
			Definition: json.RawMessage(`{"name":"tide_table","inputSchema":{"type":"object"}}`),
			Relay: func(context.Context, json.RawMessage) (toolfold.Reply, error) {
				return toolfold.Reply{Result: json.RawMessage(`{"content":[]}`)}, nil
			},
		}.Family()
		if err != nil {
			t.Fatal(err)
		}
		put(t, s, foreign)
		found := false
		for _, l := range s.Discovery.List(t.Context()) {
			found = found || l.Name == "tide_table"
			if l.Name != "tide_table" && !l.Discovery {
				t.Errorf("%s lists %s", mode, l.Name)
			}
		}
		if !found {
			t.Errorf("%s does not list tide_table", mode)
		}
	}
}

// Names of families that are switched off are answered with the reason. This is so for all callers,
// in calls, in calls by way of discovery, and in descriptions.
func TestSwitchedOff(t *testing.T) {
	t.Parallel()
	for _, fold := range consolidate.Folds() {
		s := live(t, surface.Options{Fold: fold, Off: []*toolfold.Family{things(t, "thing", "")}, WhyOff: "it is off"})
		some := permission.Rules{Allow: []string{"weather_report", "tools"}}.Rights()
		for who, ctx := range map[string]context.Context{
			"all": t.Context(), "some": callctx.With(t.Context(), toolfold.Origin{Rights: some}),
		} {
			for _, name := range []string{"thing", "thing_write", "thing.look", "thing_mend"} {
				for tool, arguments := range map[string]string{
					name: `{"key":"k"}`, "tool_call": fmt.Sprintf(`{"name":%q,"arguments":{}}`, name),
					"tools.describe": fmt.Sprintf(`{"name":%q}`, name),
				} {
					answer := string(s.Client.Call(ctx, tool, json.RawMessage(arguments)).Content)
					if !strings.Contains(answer, "there is no tool") || !strings.Contains(answer, "it is off") && tool != "tools.describe" {
						t.Errorf("%s %s: %s %s answered %s", fold, who, tool, arguments, answer)
					}
				}
			}
			if answer := s.Client.Call(ctx, "weather_report", json.RawMessage(`{"city":"Kiel"}`)); answer.IsError() {
				t.Errorf("%s %s: %s", fold, who, answer.Content)
			}
		}
	}
}

// A family is also called by its other name with every fold, unless another family has that name.
// Deny rules match it.
func TestOtherNames(t *testing.T) {
	t.Parallel()
	calls := map[consolidate.Fold][]string{
		consolidate.ByFamily: {`thing {"action":"look","params":{"city":"Kiel"}}`, `thing {"action":"mend","params":{"city":"Kiel"}}`},
		consolidate.ByEffect: {`thing {"action":"look","params":{"city":"Kiel"}}`, `thing_write {"action":"mend","params":{"city":"Kiel"}}`},
		consolidate.None:     {`thing_look {"city":"Kiel"}`, `thing.mend {"city":"Kiel"}`},
	}
	for fold, list := range calls {
		for _, text := range list {
			tool, arguments, _ := strings.Cut(text, " ")
			call := func(rules permission.Rules, more ...*toolfold.Family) string {
				s := live(t, surface.Options{Fold: fold, Rights: rules.Rights()})
				for _, f := range append(more, things(t, "thing_mcp", "thing")) {
					put(t, s, f)
				}
				return string(s.Client.Call(t.Context(), tool, json.RawMessage(arguments)).Content)
			}
			if answer := call(permission.Rules{}); !strings.Contains(answer, `"tool":"`) {
				t.Errorf("%s: %s answered %s", fold, text, answer)
			}
			for _, rule := range []string{"thing", "thing*", "thing_mcp"} {
				if answer := call(permission.Rules{Deny: []string{rule}}); !strings.Contains(answer, "PERMISSION_DENIED") {
					t.Errorf("%s, %s denied: %s answered %s", fold, rule, text, answer)
				}
			}
		}
	}
	s := live(t, surface.Options{})
	put(t, s, things(t, "thing_mcp", "thing"))
	put(t, s, external(t, "thing", "Another thing."))
	answer := string(s.Client.Call(t.Context(), "thing", json.RawMessage(`{"city":"Kiel"}`)).Content)
	if !strings.Contains(answer, `"tool":"thing"`) {
		t.Errorf("the name of another family answered %s", answer)
	}
}

// things is a family with an action that reads, one that changes something, and another name.
func things(t *testing.T, name, also string) *toolfold.Family {
	t.Helper()
	var actions []*toolfold.Action
	for verb, effect := range map[string]toolfold.Effect{"look": toolfold.Reads, "mend": toolfold.Sets} {
		f := external(t, verb, "Does "+verb+".")
		actions = append(actions, f.Actions[0])
		actions[len(actions)-1].Effect = effect
	}
	slices.SortFunc(actions, func(a, b *toolfold.Action) int { return strings.Compare(a.Name, b.Name) })
	f := toolfold.Family{Name: name, Summary: "Things", Category: "elsewhere", Tier: toolfold.Extended, Apiece: true, Server: also,
		Also: also, Actions: actions}
	mounted, err := toolfold.Mount(f, func(context.Context) (*struct{}, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	return mounted
}
