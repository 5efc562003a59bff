package surface_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
)

// What a tier leaves out is not listed, in any mode and at any level, and is
// found, described, loaded and called all the same.
func TestTier(t *testing.T) {
	t.Parallel()
	for _, mode := range surface.Modes() {
		for _, level := range lazy.Levels() {
			s := live(t, surface.Options{Mode: mode, Level: level, Tier: toolfold.Core}) // weather_report is extended
			view := s.Discovery.View(t.Context())
			for how, list := range map[string][]lazy.Listed{
				"tools/list": s.Discovery.List(t.Context()), "tools/list at full": view.ListAt(lazy.Full), "stubs": view.Stubs(),
			} {
				if !slices.ContainsFunc(list, func(l lazy.Listed) bool { return l.Name == "tool_call" }) {
					t.Errorf("%s %s: %s has no tool_call", mode, level, how)
				}
				if slices.ContainsFunc(list, func(l lazy.Listed) bool { return l.Name == "weather_report" }) {
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
					continue // it has no legacy name under which that mode could list it
				}
				answer := s.Client.Call(t.Context(), "tool_call", json.RawMessage(call))
				if !strings.Contains(string(answer.Content), want) {
					t.Errorf("%s %s: %s answered %s, want %s", mode, level, call, answer.Content, want)
				}
			}
		}
	}
}

// What a session loads joins its list, where a tier had left it out.
func TestLoadBeyondTheTier(t *testing.T) {
	t.Parallel()
	s := live(t, surface.Options{Tier: toolfold.Core})
	ctx := callctx.With(t.Context(), toolfold.Origin{Session: "one", ListGrows: true})
	answer := s.Client.Call(ctx, "tools", json.RawMessage(`{"action":"load","names":["weather_report"]}`))
	if !strings.Contains(string(answer.Content), `"listed":true`) {
		t.Errorf("load answered %s", answer.Content)
	}
	if list := s.Discovery.List(ctx); !slices.ContainsFunc(list, func(l lazy.Listed) bool { return l.Name == "weather_report" }) {
		t.Errorf("it is not listed: %v", list)
	}
	if list := s.Discovery.List(t.Context()); len(list) != 2 {
		t.Errorf("others are listed %v", list)
	}
}

// Calls of a tool are shown in the form in which the list declares it.
func TestCallsAreShownAsListed(t *testing.T) {
	t.Parallel()
	for _, level := range lazy.Levels() {
		s := live(t, surface.Options{Level: level})
		described := string(s.Client.Call(t.Context(), "tools", json.RawMessage(`{"action":"describe","params":{"name":"weather_report"}}`)).
			Content)
		listed := s.Discovery.List(t.Context())
		at := slices.IndexFunc(listed, func(l lazy.Listed) bool { return l.Name == "weather_report" })
		if at < 0 {
			continue
		}
		raw, err := json.Marshal(listed[at])
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

// Tools of other servers, which have a whole definition, are listed in every tier, and
// discovery alone beside them where there is none.
func TestToolsOfOtherServersHaveNoTier(t *testing.T) {
	t.Parallel()
	for _, mode := range surface.Modes() {
		s := live(t, surface.Options{Mode: mode, Tier: lazy.NoTier, Level: lazy.Lazy})
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
		listed := false
		for _, l := range s.Discovery.List(t.Context()) {
			listed = listed || l.Name == "tide_table"
			if l.Name != "tide_table" && !l.Discovery {
				t.Errorf("%s lists %s", mode, l.Name)
			}
		}
		if !listed {
			t.Errorf("%s does not list tide_table", mode)
		}
	}
}
