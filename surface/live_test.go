package surface_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
)

// live is a surface with discovery and a permanent tool.
func live(t testing.TB, o surface.Options) *surface.Surface {
	t.Helper()
	o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	s := surface.New(o)
	put(t, s, external(t, "weather_report", "Weather of a city, today and tomorrow."))
	put(t, s, lazy.Mount(s.Discovery))
	return s
}

func put(t testing.TB, s *surface.Surface, spec *toolfold.Family) {
	t.Helper()
	if err := s.Put(spec); err != nil {
		t.Fatal(err)
	}
}

// external is a tool that returns its name and its arguments.
func external(t testing.TB, name, description string) *toolfold.Family {
	t.Helper()
	spec, err := toolfold.External{
		Name: name, Description: description, Category: "elsewhere", Effect: toolfold.Reads,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","description":"Where."},` +
			`"days":{"type":["integer","null"],"minimum":1}},"required":["city"],"additionalProperties":false}`),
		Run: func(_ context.Context, args json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(fmt.Sprintf(`{"tool":%q,"args":%s}`, name, args)), nil
		},
	}.Family()
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// Many clients find, describe, load and call while tools come and go. The permanent tool is always
// available. Other tools are available completely or not at all.
func TestToolsComeAndGoUnderLoad(t *testing.T) {
	t.Parallel()
	s := live(t, surface.Options{Level: lazy.Search})
	stop := make(chan struct{})
	var changer, clients sync.WaitGroup
	changer.Go(func() { comeAndGo(t, s, stop) })
	for i := range 100 {
		clients.Go(func() { useTools(t, s, fmt.Sprint("session ", i)) })
	}
	clients.Wait()
	close(stop)
	changer.Wait()
}

func comeAndGo(t *testing.T, s *surface.Surface, stop chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		spec := external(t, "almanac", fmt.Sprintf("Tides of a harbour, edition %d.", i))
		if err := s.Put(spec); err != nil {
			t.Error(err)
		}
		if i%2 == 1 {
			if err := s.Remove("almanac"); err != nil {
				t.Error(err)
			}
		}
	}
}

func useTools(t *testing.T, s *surface.Surface, session string) {
	ctx := callctx.With(t.Context(), toolfold.Origin{Session: session, ListGrows: true})
	callBy := func(tool, args string) (string, bool) {
		answer := s.Runner.Call(ctx, tool, json.RawMessage(args))
		if answer.Err != nil && answer.Err.Code == toolfold.Internal {
			t.Errorf("%s: %s", args, answer.Content)
		}
		return string(answer.Content), !answer.IsError()
	}
	call := func(args string) (string, bool) { return callBy("tools", args) }
	for range 20 {
		if found, ok := call(`{"action":"find","query":"weather of a city"}`); !ok || !strings.Contains(found, `"weather_report"`) {
			t.Errorf("weather_report is not found: %s", found)
		}
		if doc, ok := call(`{"action":"describe","names":["weather_report","almanac"]}`); !ok || !strings.Contains(doc, `name:'weather_report'`) {
			t.Errorf("weather_report is not described: %s", doc)
		}
		for _, name := range []string{"weather_report", "almanac"} {
			got, ok := callBy("tool_call", fmt.Sprintf(`{"name":%q,"arguments":{"city":"Kiel"}}`, name))
			if want := fmt.Sprintf(`{"tool":%q,"args":{"city":"Kiel"}}`, name); ok && got != want || !ok && name == "weather_report" {
				t.Errorf("calling %s answered %s", name, got)
			}
		}
		if loaded, ok := call(`{"action":"load","names":["weather_report","almanac"]}`); !ok ||
			!strings.Contains(loaded, `"loaded":["weather_report"`) {
			t.Errorf("weather_report is not loaded: %s", loaded)
		}
		if active, ok := call(`{"action":"active"}`); !ok || !strings.Contains(active, `"loaded":["weather_report"`) {
			t.Errorf("weather_report is not active: %s", active)
		}
	}
}

// Added, changed and removed tools are found, described and listed accordingly.
func TestDiscoveryFollowsTheCatalogue(t *testing.T) {
	t.Parallel()
	s := live(t, surface.Options{Level: lazy.Lazy})
	call := func(args string) string {
		return string(s.Runner.Call(t.Context(), "tools", json.RawMessage(args)).Content)
	}
	find, describe := `{"action":"find","query":"harbour tides"}`, `{"action":"describe","name":"almanac"}`
	if got := call(find); strings.Contains(got, "almanac") {
		t.Errorf("found before it is there: %s", got)
	}
	put(t, s, external(t, "almanac", "Tides of a harbour."))
	if got := call(find); !strings.Contains(got, "almanac") {
		t.Errorf("not found: %s", got)
	}
	if got := call(describe); !strings.Contains(got, "Tides of a harbour.") {
		t.Errorf("not described: %s", got)
	}
	put(t, s, external(t, "almanac", "Moon phases by night."))
	if got := call(find); strings.Contains(got, "almanac") {
		t.Errorf("found by words it no longer has: %s", got)
	}
	if got := call(describe); !strings.Contains(got, "Moon phases by night.") {
		t.Errorf("the old description is shown: %s", got)
	}
	if err := s.Remove("almanac"); err != nil {
		t.Fatal(err)
	}
	if got := call(describe); !strings.Contains(got, "UNKNOWN_TOOL") {
		t.Errorf("described after it is gone: %s", got)
	}
	for _, l := range s.Discovery.List(t.Context()) {
		if l.Name == "almanac" {
			t.Error("listed after it is gone")
		}
	}
}

// Watchers are called once for a change, and not for one that changes nothing.
func TestChangesAreToldOnce(t *testing.T) {
	t.Parallel()
	s := live(t, surface.Options{})
	told := 0
	s.OnChange(func() { told++ })
	almanac := external(t, "almanac", "Tides of a harbour.")
	for _, step := range []struct {
		why    string
		change func() error
		want   int
	}{
		{"nothing is removed", func() error { return s.Remove() }, 0},
		{"what is removed is not there", func() error { return s.Remove("almanac") }, 0},
		{"added", func() error { return s.Put(almanac) }, 1},
		{"the same again", func() error { return s.Put(almanac) }, 1},
		{"replaced", func() error { return s.Put(external(t, "almanac", "Moon phases by night.")) }, 2},
		{"removed", func() error { return s.Remove("almanac", "nothing") }, 3},
	} {
		if err := step.change(); err != nil || told != step.want {
			t.Errorf("%s: told %d times, want %d: %v", step.why, told, step.want, err)
		}
	}
}

// Tools that were declared elsewhere are checked and explained like our own.
func TestExternalTools(t *testing.T) {
	t.Parallel()
	s := live(t, surface.Options{})
	for _, test := range []struct{ args, want string }{
		{`{"city":"Kiel","days":2}`, `{"tool":"weather_report","args":{"city":"Kiel","days":2}}`},
		{`{"city":"Kiel","days":"2"}`, `{"tool":"weather_report","args":{"city":"Kiel","days":2}}`},
		{`{"city":"Kiel","include_fields":["args.city"]}`, `{"args":{"city":"Kiel"}}`},
		{`{"town":"Kiel"}`, `"problems":[{"path":"/city","kind":"missing"},{"path":"/town","kind":"unknown"}]`},
		{`{"city":"Kiel","days":0}`, `"kind":"range"`},
	} {
		got := string(s.Runner.Call(t.Context(), "weather_report", json.RawMessage(test.args)).Content)
		if !strings.Contains(got, test.want) {
			t.Errorf("%s answered %s, want %s", test.args, got, test.want)
		}
	}
}

// Forbidden actions are not listed, found, described, loaded or called. list shows them with the
// reason if asked.
func TestRejectedToolsAreHidden(t *testing.T) {
	t.Parallel()
	s := live(t, surface.Options{Rights: &toolfold.Rights{Allows: func(a *toolfold.Action) bool { return a.FullName() != "weather_report" }}})
	for _, l := range s.Discovery.List(t.Context()) {
		if l.Name == "weather_report" {
			t.Error("it is listed")
		}
	}
	for args, want := range map[string]bool{
		`{"action":"find","query":"weather of a city"}`:                                 false,
		`{"action":"list"}`:                                                             false,
		`{"action":"list","include_disabled":true}`:                                     true,
		`{"action":"load","names":["weather_report"]}`:                                  false,
		`{"action":"describe","name":"weather_report"}`:                                 false,
		`{"name":"weather_report","arguments":{"city":"Kiel"}}`:                         false,
		`{"action":"list","category":"elsewhere","include_disabled":true}`:              true,
		`{"action":"list","category":"elsewhere","include_disabled":false}`:             false,
		`{"action":"active"}`:                                                           false,
		`{"action":"describe","names":["weather_report","tools"]}`:                      false,
		`{"action":"find","query":"what is the weather like tomorrow, say","limit":50}`: false,
	} {
		got := string(s.Runner.Call(t.Context(), map[bool]string{false: "tools", true: "tool_call"}[strings.HasPrefix(args, `{"name"`)],
			json.RawMessage(args)).Content)
		shown := strings.Contains(got, `"Weather of a city`) || strings.Contains(got, `"tool":"weather_report"`) ||
			strings.Contains(got, `"not permitted here"`) && strings.Contains(got, "reason")
		if shown != want {
			t.Errorf("%s answered %s", args, got)
		}
	}
}

// A strict surface rejects clients' calls by names of other modes. Calls by way of tool_call may use
// every name.
func TestStrictNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mode       surface.Mode
		name, args string
		want       string
	}{
		{surface.Consolidated, "tools", `{"action":"find","query":"weather"}`, `"weather_report"`},
		{surface.Consolidated, "tools", `{"action":"describe","name":"tools.find"}`, `tools(action:'find'`},
		{surface.Consolidated, "tool_call", `{"name":"tools.active"}`, `"level"`},
		{surface.Consolidated, "tools.find", `{"query":"weather"}`, `UNKNOWN_TOOL`},
		{surface.Consolidated, "tool_find", `{"query":"weather"}`, `UNKNOWN_TOOL`},
		{surface.Legacy, "tool_find", `{"query":"weather"}`, `"results"`},
		{surface.Legacy, "tools", `{"action":"find","query":"weather"}`, `UNKNOWN_TOOL`},
	} {
		s := live(t, surface.Options{Mode: test.mode, Strict: true})
		if got := string(s.Client.Call(t.Context(), test.name, []byte(test.args)).Content); !strings.Contains(got, test.want) {
			t.Errorf("%s %s %s answered %s, want %s", test.mode, test.name, test.args, got, test.want)
		}
	}
}
