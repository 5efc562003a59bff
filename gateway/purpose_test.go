package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/upstream"
)

// listOnlySession is a session whose server only lists.
type listOnlySession struct{ answer upstream.Answer }

func (l listOnlySession) List(context.Context) (upstream.Answer, error) { return l.answer, nil }
func (listOnlySession) Call(context.Context, upstream.Call) (json.RawMessage, error) {
	return json.RawMessage(`{"content":[]}`), nil
}
func (listOnlySession) Watch(context.Context, string, bool) error { return nil }
func (listOnlySession) Gone() <-chan struct{}                     { return nil }
func (listOnlySession) Close()                                    {}

// familiesOf returns the families of servers with these answers.
func familiesOf(t *testing.T, servers []gateway.Upstream, answers map[string]upstream.Answer) []*toolfold.Family {
	t.Helper()
	g, err := gateway.New(gateway.Options{
		Upstreams: servers,
		Connect: func(_ context.Context, u gateway.Upstream, _ upstream.Client) (gateway.Session, error) {
			return listOnlySession{answers[u.Name]}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	if err := g.Learn(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g.Families()
}

// twoTools returns a tool that reads and one without annotations.
func twoTools() []json.RawMessage {
	return []json.RawMessage{
		json.RawMessage(`{"name":"get_a","description":"` + long + `","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`),
		json.RawMessage(`{"name":"set_a","description":"` + long + `","inputSchema":{"type":"object"}}`),
	}
}

// The first family of a server begins with the server's purpose, from its own texts. The effect is
// shown if the tools state it.
func TestPurpose(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ title, description, instructions, want string }{
		{"", "", "", "Srv, reads"},
		{"Chrome DevTools MCP server", "", "", "Chrome DevTools, reads"},
		{"MCP Server", "", "", "Srv, reads"},
		{"Docs", "Context7 provides up-to-date documentation and code examples for libraries and frameworks.", "",
			"Up-to-date documentation and code examples, reads"},
		{"", "", "Use this server to search the Web for various types of data via the API.", "Search the Web for various types of data, reads"},
		{"", "Gives AI coding agents access to Figma design data, providing layout.", "", "Figma design data, reads"},
		{"", "", "This server provides tools to manage Jira issues.\nMore follows.", "Manage Jira issues, reads"},
		{"", "", "Provides scraping, crawling, and extraction tools for AI.", "Scraping, crawling, and extraction tools, reads"},
		{"", "", "IMPORTANT", "Srv, reads"},
		{"Sign in", "", "", "Sign in, reads"},
		{"", "Lets users sign in.", "", "Sign in, reads"},
		{"", "Lets users read the notes and the plans of the people", "", "Read the notes and the plans, reads"},
		{"", "", strings.Repeat("é", 194) + " provides ééé ééé", "Srv, reads"}, // the limit falls within a character
		{"Bad\u200b\x1b[31m title", "", "", "Bad [31m title, reads"},
	} {
		families := familiesOf(t, []gateway.Upstream{{Name: "srv"}}, map[string]upstream.Answer{"srv": {
			Title: test.title, Description: test.description, Instructions: test.instructions, Tools: twoTools(),
		}})
		if got := families[0].Summary; got != test.want {
			t.Errorf("%+v is summed up as %q", test, got)
		}
		if got := families[1].Summary; got != "Srv" {
			t.Errorf("the other family is summed up as %q", got)
		}
	}
}

// For any name and title, a server gets a legible summary within the limit.
func TestSummaryOfAnyName(t *testing.T) {
	t.Parallel()
	hostile := []string{
		"", "-", "_-_", " ", "\u200b", "\u200b\u200b-", "\x1b[2J", "…", "🚀", "of", "a of the", "mcp server", "Sign in",
		strings.Repeat("x", 43), strings.Repeat("x", 90), strings.Repeat("é", 90), strings.Repeat("語", 90), strings.Repeat("-", 90),
		"a" + strings.Repeat("-", 90), strings.Repeat("of ", 30), "x" + strings.Repeat("🚀", 30), strings.Repeat("é", 30) + " of the",
		"bad \xff\xfe bytes", strings.Repeat("\xff", 90),
	}
	for _, name := range append(hostile, "srv") {
		for _, title := range hostile {
			if name == "" || name != "srv" && title != "" && title != name {
				continue
			}
			families := familiesOf(t, []gateway.Upstream{{Name: name}}, map[string]upstream.Answer{
				name: {Title: title, Description: "Provides " + title, Instructions: title, Tools: twoTools()},
			})
			if len(families) != 2 {
				t.Errorf("%q with title %q has %d families", name, title, len(families))
			}
			for _, f := range families {
				if text := f.Summary; strings.TrimSpace(text) == "" || strings.HasPrefix(text, ",") || len(text) > 60 || !utf8.ValidString(text) {
					t.Errorf("%q with title %q is summed up as %q", name, title, text)
				}
			}
		}
	}
}

// A summary written by the user is listed unchanged.
func TestSummaryOfUser(t *testing.T) {
	t.Parallel()
	g, err := gateway.New(gateway.Options{
		Upstreams: []gateway.Upstream{{Name: "srv"}},
		Connect: func(context.Context, gateway.Upstream, upstream.Client) (gateway.Session, error) {
			return listOnlySession{upstream.Answer{Title: "Docs", Tools: twoTools()}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	if err := g.Learn(t.Context()); err != nil {
		t.Fatal(err)
	}
	plan, _ := g.Plan("srv")
	plan.Families[0].Summary = "our wiki, mind the gap"
	if err := g.UsePlan("srv", plan, ""); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"our wiki, mind the gap", "Srv"} {
		if got := g.Families()[i].Summary; got != want {
			t.Errorf("family %d is listed as %q, want %q", i, got, want)
		}
	}
}

// Servers of one kind are distinguished by folder or host, never by possible secrets.
func TestDistinction(t *testing.T) {
	t.Parallel()
	program := func(argv ...string) upstream.Server { return upstream.Server{Argv: argv} }
	for _, test := range []struct {
		one, other upstream.Server
		want       string
	}{
		{program("npx", "-y", "files", "/home/me/work"), program("npx", "-y", "files", "/home/me/private"), "One (work), reads"},
		{program("npx", "-y", "files", "/home/me/work"), program("npx", "-y", "other", "/home/me/private"), "One, reads"},
		{program("npx", "-y", "files", "sk-123"), program("npx", "-y", "files", "sk-456"), "One, reads"},
		{program("npx", "files", "--token", "/x/sk-123"), program("npx", "files", "--token", "/x/sk-456"), "One, reads"},
		{program("npx", "files", "--token=/x/sk-123"), program("npx", "files"), "One, reads"},
		{upstream.Server{Argv: []string{"files"}, Dir: "/srv/a"}, upstream.Server{Argv: []string{"files"}, Dir: "/srv/b"}, "One (a), reads"},
		{upstream.Server{URL: "https://me:pw@eu.example.com/mcp?key=1"}, upstream.Server{URL: "https://us.example.com/mcp?key=2"},
			"One (eu.example.com), reads"},
		{upstream.Server{URL: "https://hooks.example.com/mcp/SECRET1"}, upstream.Server{URL: "https://hooks.example.com/mcp/SECRET2"},
			"One, reads"},
		{upstream.Server{URL: "https://hooks.example.com/SECRET1/mcp"}, upstream.Server{URL: "https://us.example.com/SECRET2/mcp"},
			"One, reads"},
		{upstream.Server{URL: "https://eu.example.com/SECRET"}, upstream.Server{URL: "https://us.example.com/SECRET"},
			"One (eu.example.com), reads"},
		{upstream.Server{URL: "https://example.com:1/mcp"}, upstream.Server{URL: "https://example.com:2/mcp"}, "One, reads"},
		{upstream.Server{Argv: []string{"files"}, Env: []string{"T=1"}}, upstream.Server{Argv: []string{"files"}, Env: []string{"T=2"}},
			"One, reads"},
		{program(`C:\files.exe`, `D:\work`), program(`C:\files.exe`, `D:\home`), "One (work), reads"},
	} {
		families := familiesOf(t, []gateway.Upstream{{Name: "one", Server: test.one}, {Name: "other", Server: test.other}},
			map[string]upstream.Answer{"one": {Tools: twoTools()}, "other": {Tools: twoTools()}})
		if got := families[0].Summary; got != test.want {
			t.Errorf("%v beside %v is summed up as %q, want %q", test.one, test.other, got, test.want)
		}
	}
}

// A server can be described by its name, with its whole instructions. A tool without a stated effect is
// not described as deleting.
func TestDescribeServer(t *testing.T) {
	t.Parallel()
	instructions := "Use it with care.\n" + strings.Repeat("It is long. ", 100)
	families := familiesOf(t, []gateway.Upstream{{Name: "srv"}, {Name: "many_x"}}, map[string]upstream.Answer{
		"srv": {Instructions: instructions, Tools: twoTools()}, "many_x": {Instructions: "Of many.", Tools: manyTools()},
	})
	s := surface.New(surface.Options{})
	if err := s.Put(families...); err != nil {
		t.Fatal(err)
	}
	describe := func(name string) string {
		text, err := s.Discovery.View(t.Context()).Describe(name, lazy.Account{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return string(text)
	}
	quoted, err := json.Marshal(instructions)
	if err != nil {
		t.Fatal(err)
	}
	for name, wants := range map[string][]string{
		"srv":       {`"instructions":` + string(quoted), `{"name":"srv_write","summary":"Srv"}`, `"usage":"srv(`},
		"many_x":    {`{"name":"many_x","instructions":"Of many.","tools":[{"name":"many_x_bird","summary":"Many x: bird, reads"}`},
		"srv.set_a": {`"effect":"not annotated"`},
		"srv_write": {`"effect":"not annotated"`},
	} {
		for _, want := range wants {
			if got := describe(name); !strings.Contains(got, want) {
				t.Errorf("%s is described as %s, want %s", name, got, want)
			}
		}
	}
	if got := describe("srv_write"); strings.Contains(got, "instructions") {
		t.Errorf("a tool that has not the server's name has its instructions: %s", got)
	}
}

// The only tool of a server is described with the server's instructions only under the server's name.
func TestDescribeServerOfOneTool(t *testing.T) {
	t.Parallel()
	s := surface.New(surface.Options{})
	if err := s.Put(familiesOf(t, []gateway.Upstream{{Name: "thinking"}, {Name: "silent"}, {Name: "other"}}, map[string]upstream.Answer{
		"thinking": {Instructions: "Think first.", Tools: oneTool("thinking")}, "silent": {Tools: oneTool("silent")},
		"other": {Instructions: "Not this.", Tools: oneTool("get_a")},
	})...); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"thinking": true, "thinking.thinking": false, "silent": false, "get_a": false} {
		text, err := s.Discovery.View(t.Context()).Describe(name, lazy.Account{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := strings.Contains(string(text), `"server":{"name":"thinking","instructions":"Think first."`); got != want {
			t.Errorf("%s is described as %s", name, text)
		}
		if !want && strings.Contains(string(text), `"server":`) {
			t.Errorf("%s is described with a server: %s", name, text)
		}
	}
}

// The instructions of a server with the name of one of our families are not in our family's
// description, but in that of the server's first family.
func TestDescribeNamesake(t *testing.T) {
	t.Parallel()
	type nothing struct{}
	run := toolfold.Method(func(nothing, context.Context, struct{}) (out struct {
		Done bool `json:"done" doc:"Done."`
	}, err error) {
		return out, nil
	})
	asks := []string{"which notes are there", "what does the note say"}
	own, err := toolfold.Mount(toolfold.Family{
		Name: "memory", Summary: "Notes", Category: "memory", Tier: toolfold.Core,
		Actions: []*toolfold.Action{
			{Name: "get", Summary: "Get a note.", Asks: asks, Effect: toolfold.Reads, Example: "{}", Run: run},
			{Name: "list", Summary: "List notes.", Asks: asks, Effect: toolfold.Reads, Example: "{}", Run: run},
		},
	}, func(context.Context) (nothing, error) { return nothing{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, tools := range [][]json.RawMessage{twoTools(), oneTool("memory"), oneTool("get_a")} {
		g, err := gateway.New(gateway.Options{
			Upstreams: []gateway.Upstream{{Name: "memory"}}, Ours: []*toolfold.Family{own},
			Connect: func(context.Context, gateway.Upstream, upstream.Client) (gateway.Session, error) {
				return listOnlySession{upstream.Answer{Instructions: "Of a graph.", Tools: tools}}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(g.Close)
		if err := g.Learn(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := surface.New(surface.Options{})
		if err := s.Put(append([]*toolfold.Family{own}, g.Families()...)...); err != nil {
			t.Fatal(err)
		}
		first := g.Families()[0].Name
		for name, want := range map[string]bool{"memory": false, "memory.get": false, first: true} {
			text, err := s.Discovery.View(t.Context()).Describe(name, lazy.Account{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := strings.Contains(string(text), `"server":{"name":"memory","instructions":"Of a graph."`); got != want {
				t.Errorf("%s is described as %s", name, text)
			}
		}
	}
}

// oneTool returns a list with one tool that reads.
func oneTool(name string) []json.RawMessage {
	return []json.RawMessage{json.RawMessage(fmt.Sprintf(
		`{"name":%q,"description":"It looks.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`, name))}
}

// manyTools returns tools of two nouns, so that no family has only the server's name.
func manyTools() (tools []json.RawMessage) {
	for _, noun := range []string{"bird", "fish"} {
		for _, verb := range []string{"get", "list", "find", "read", "view", "count", "watch", "show"} {
			tools = append(tools, json.RawMessage(fmt.Sprintf(
				`{"name":"%s_%s","description":%q,"inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`, verb, noun, long)))
		}
	}
	return tools
}
