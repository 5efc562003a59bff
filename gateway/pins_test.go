package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/upstream"
)

// listing is a session with a server that only lists.
type listing struct {
	gateway.Session
	answer func() upstream.Answer
}

func (l listing) List(context.Context) (upstream.Answer, error) { return l.answer(), nil }
func (l listing) Gone() <-chan struct{}                         { return nil }
func (l listing) Close()                                        {}

// lister returns a gateway to servers that list what answers has by name, and its folder of records.
func lister(t *testing.T, dir string, answers map[string]*upstream.Answer, list ...gateway.Upstream) *gateway.Gateway {
	t.Helper()
	g, err := gateway.New(gateway.Options{Upstreams: list, Dir: dir,
		Connect: func(_ context.Context, u gateway.Upstream, _ upstream.Client) (gateway.Session, error) {
			return listing{answer: func() upstream.Answer { return *answers[u.Name] }}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

func refresh(t *testing.T, g *gateway.Gateway, server string) {
	t.Helper()
	if err := g.Refresh(t.Context(), server); err != nil {
		t.Fatal(err)
	}
}

// heldBack returns the names of what a server has held back; ~ stands for its title and instructions.
func heldBack(t *testing.T, g *gateway.Gateway, server string) string {
	t.Helper()
	list, err := g.HeldTools(server)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, h := range list {
		if h.Name == "" {
			h.Name = "~"
		}
		names = append(names, h.Name)
	}
	return strings.Join(names, " ")
}

// What was accepted in files of commit 4f8cc35 stays accepted: the folder holds what its binary wrote of ten
// servers, which were listed twice. Server 4 had changed a tool, 5 had taken one away, and 6 had added one.
func TestFormerRecords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "former"))); err != nil {
		t.Fatal(err)
	}
	var list []gateway.Upstream
	answers := map[string]*upstream.Answer{}
	for n := range 10 {
		name := fmt.Sprintf("server%d", n+1)
		list = append(list, gateway.Upstream{Name: name, Server: upstream.Server{Argv: []string{"python3", "server.py", fmt.Sprint(n + 1)}}})
		text, err := os.ReadFile(recordIn(t, dir, name+"-????????.json"))
		if err != nil {
			t.Fatal(err)
		}
		line, tools, _ := bytes.Cut(text, []byte("\n"))
		var record struct {
			Instructions string
			Sizes        []int
		}
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatal(err)
		}
		answers[name] = &upstream.Answer{Title: "Server", Instructions: record.Instructions}
		for _, size := range record.Sizes {
			answers[name].Tools, tools = append(answers[name].Tools, tools[:size:size]), tools[size:]
		}
	}
	wants := map[string]string{"server4": "set_thing_4", "server6": "added_6"}
	for _, withRefresh := range []bool{false, true, false} { // as it is read, asked again, and read as it was written
		g := lister(t, dir, answers, list...)
		for _, u := range list {
			if len(g.Families()) == 0 || slices.Contains(g.Unknown(), u.Name) {
				t.Fatalf("%s is not known", u.Name)
			}
			if withRefresh {
				refresh(t, g, u.Name)
			}
			if got := heldBack(t, g, u.Name); got != wants[u.Name] {
				t.Errorf("%s (asked: %v) has held back %q, want %q", u.Name, withRefresh, got, wants[u.Name])
			}
		}
		g.Close()
	}
	g := lister(t, dir, answers, list...)
	answers["server4"].Tools[1] = bytes.Replace(answers["server4"].Tools[1], []byte("Sets another."), []byte("Sets thing 4."), 1)
	answers["server5"].Tools = append(answers["server5"].Tools,
		json.RawMessage(`{"name":"leaves_5","description":"Comes and goes.","inputSchema":{"type":"object"}}`))
	for _, name := range []string{"server4", "server5"} {
		if refresh(t, g, name); heldBack(t, g, name) != "" {
			t.Errorf("%s, as it was accepted, has held back %s", name, heldBack(t, g, name))
		}
	}
}

// Every part of a definition is pinned, and so are the title and the instructions of the server; the
// order of members is not.
func TestPinned(t *testing.T) {
	t.Parallel()
	const tool = `{"name":"a","title":"A","description":"D.","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},` +
		`"annotations":{"readOnlyHint":true},"execution":{"taskSupport":"optional"},"icons":[{"src":"x:y"}],` +
		`"_meta":{"ui/resourceUri":"ui://a/b"}}`
	answer := &upstream.Answer{}
	g := lister(t, t.TempDir(), map[string]*upstream.Answer{"s": answer}, gateway.Upstream{Name: "s"})
	list := func(title, instructions, tool string) {
		*answer = upstream.Answer{Title: title, Instructions: instructions, Tools: []json.RawMessage{json.RawMessage(tool)}}
		refresh(t, g, "s")
	}
	list("T", "I", tool)
	for _, part := range [][2]string{
		{`"title":"A"`, `"title":"B"`}, {`"D."`, `"E."`}, {`"readOnlyHint":true`, `"readOnlyHint":true,"x":1`},
		{`optional`, `required`}, {`x:y`, `x:z`},
		{`ui://a/b`, `ui://a/c`}, {`"outputSchema":{"type":"object"}`, `"outputSchema":{}`}, {`"name":"a"`, `"name":"a","more":1`},
		{`"title":"A"`, `"title":"B","title":"A"`},
	} {
		if list("T", "I", strings.Replace(tool, part[0], part[1], 1)); heldBack(t, g, "s") != "a" {
			t.Errorf("%s for %s: held back %q", part[1], part[0], heldBack(t, g, "s"))
		}
	}
	list("T", "I", `{"title":"A", "name":"a",`+strings.TrimPrefix(tool, `{"name":"a","title":"A",`))
	if got := heldBack(t, g, "s"); got != "" {
		t.Errorf("in another order: held back %q", got)
	}
	for _, texts := range [][2]string{{"T", "J"}, {"U", "I"}, {"", ""}} {
		if list(texts[0], texts[1], tool); heldBack(t, g, "s") != "~" ||
			!strings.Contains(g.Trouble()["s"], "its title and instructions (changed since it was accepted)") || len(g.Families()) != 1 {
			t.Errorf("%q: held back %q, trouble %q", texts, heldBack(t, g, "s"), g.Trouble()["s"])
		}
	}
	held, err := g.HeldTools("s")
	if err != nil || string(held[0].Was) != `{"title":"T","instructions":"I"}` || string(held[0].Now) != `{"title":"","instructions":""}` {
		t.Errorf("%v, %v", held, err)
	}
	list("again", "I", tool)
	if taken, err := g.Approve("s", held...); err == nil || len(taken) > 0 || heldBack(t, g, "s") != "~" {
		t.Errorf("approved %q, which has changed since it was shown: %v", taken, err)
	}
	now, err := g.HeldTools("s")
	if err != nil || gateway.DigestOf(now) == gateway.DigestOf(held) {
		t.Errorf("two definitions have one digest, %v", err)
	}
	if _, err := g.Approve("s", now...); err != nil || heldBack(t, g, "s") != "" {
		t.Errorf("approved: held back %q, %v", heldBack(t, g, "s"), err)
	}
}

// What the user rejects stays held back, over restarts too, until it is approved. A later change waits again.
func TestRejected(t *testing.T) {
	t.Parallel()
	tool := func(name, text string) json.RawMessage {
		return json.RawMessage(`{"name":"` + name + `","description":"` + text + `","inputSchema":{"type":"object"}}`)
	}
	dir, answer := t.TempDir(), &upstream.Answer{Tools: []json.RawMessage{tool("get", "A."), tool("set", "A.")}}
	open := func() *gateway.Gateway {
		return lister(t, dir, map[string]*upstream.Answer{"s": answer}, gateway.Upstream{Name: "s"})
	}
	list := func(g *gateway.Gateway, text string) []gateway.HeldTool {
		t.Helper()
		answer.Tools = []json.RawMessage{tool("get", "A."), tool("set", text), tool("new", text)}
		refresh(t, g, "s")
		held, err := g.HeldTools("s")
		if err != nil {
			t.Fatal(err)
		}
		return held
	}
	rejected := func(g *gateway.Gateway, want string) {
		t.Helper()
		held, err := g.HeldTools("s")
		if err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for _, h := range held {
			if h.Rejected {
				names = append(names, h.Name)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("rejected are %q, want %q", got, want)
		}
	}
	g := open()
	refresh(t, g, "s")
	first := list(g, "B.")
	rejected(g, "")
	second := list(g, "C.")
	if names, err := g.Reject("s", first...); err == nil || names != nil {
		t.Errorf("rejected %v, which has changed since it was shown", names)
	}
	rejected(g, "")
	if names, err := g.Reject("s", second...); err != nil || strings.Join(names, " ") != "set new" {
		t.Errorf("rejected %v, %v", names, err)
	}
	rejected(g, "set new")
	if trouble := g.Trouble()["s"]; !strings.Contains(trouble, "set (rejected by the user), new (rejected by the user)") {
		t.Errorf("the trouble is %q", trouble)
	}
	if err := g.Withheld("s.set", nil); err == nil || !strings.Contains(err.Message, "the user has rejected it") {
		t.Errorf("a call of a rejected tool is refused by %v", err)
	}
	g.Close()
	g = open()
	rejected(g, "set new")
	list(g, "D.")
	rejected(g, "")
	list(g, "C.")
	rejected(g, "set new")
	if heldBack(t, g, "s") != "set new" {
		t.Errorf("held back are %q", heldBack(t, g, "s"))
	}
	if names, err := g.Approve("s", second[0]); err != nil || strings.Join(names, " ") != "set" {
		t.Errorf("approved %v, %v", names, err)
	}
	rejected(g, "new")
	if _, err := g.Reject("s", second[0]); err == nil || !strings.Contains(err.Error(), "not held back") {
		t.Errorf("rejecting an approved tool: %v", err)
	}
	list(g, "D.")
	list(g, "C.")
	if heldBack(t, g, "s") != "new" {
		t.Errorf("an approved tool is held back: %q", heldBack(t, g, "s"))
	}
}

// What was accepted under other arguments or another URL counts, and what differs is shown.
func TestOtherArguments(t *testing.T) {
	t.Parallel()
	tool := func(name, text string) json.RawMessage {
		return json.RawMessage(`{"name":"` + name + `","description":"` + text + `","inputSchema":{"type":"object"}}`)
	}
	dir := t.TempDir()
	answers := map[string]*upstream.Answer{"s": {Instructions: "I", Tools: []json.RawMessage{tool("get", "A."), tool("set", "A.")}}}
	u := gateway.Upstream{Name: "s", Server: upstream.Server{Argv: []string{"npx", "x@1.2"}}}
	g := lister(t, dir, answers, u)
	refresh(t, g, "s")
	before, _ := g.Plan("s")
	g.Close()
	answers["s"].Tools = []json.RawMessage{tool("get", "A."), tool("set", "B."), tool("new", "C.")}
	for _, server := range []upstream.Server{{Argv: []string{"npx", "x@1.3"}}, {URL: "http://127.0.0.1:1/mcp"}, u.Server} {
		u.Server = server
		for range 2 { // a start that never asks forgets nothing
			g = lister(t, dir, answers, u)
			if !slices.Equal(g.Unknown(), []string{"s"}) && server.URL != "" {
				t.Error("the list of another server is taken for its")
			}
			g.Close()
		}
		g = lister(t, dir, answers, u)
		refresh(t, g, "s")
		held, err := g.HeldTools("s")
		if heldBack(t, g, "s") != "set new" || err != nil || string(held[0].Was) != string(tool("set", "A.")) || held[1].Was != nil {
			t.Errorf("%+v has held back %v, %v", server, held, err)
		}
		if now, _ := g.Plan("s"); len(before.Families) == 0 || now.Families[0].Name != before.Families[0].Name {
			t.Errorf("%+v is folded as %v", server, now)
		}
		g.Close()
	}
}

// With firstList hold nothing of a new server is offered before something of it was accepted.
func TestFirstListHeld(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	raw := func(text string) []json.RawMessage { return []json.RawMessage{json.RawMessage(text)} }
	answers := map[string]*upstream.Answer{
		"s":      {Tools: raw(`{"name":"get","inputSchema":{"type":"object"}}`), Prompts: raw(`{"name":"p"}`), Resources: raw(`{"uri":"a:b"}`)},
		"beside": {Prompts: raw(`{"name":"p"}`)}, // it has no tools
	}
	for name, want := range map[string]string{"s": "get ~", "beside": "~"} {
		u := gateway.Upstream{Name: name, FirstList: gateway.Hold, Changes: gateway.Accept}
		for range 2 {
			g := lister(t, dir, answers, u)
			refresh(t, g, name)
			if n := len(g.Families()) + len(g.Prompts(t.Context())) + len(g.Resources(t.Context())); n > 0 || heldBack(t, g, name) != want {
				t.Errorf("%s: %d are offered, held back are %q", name, n, heldBack(t, g, name))
			}
			g.Close()
		}
		g := lister(t, dir, answers, u)
		held, err := g.HeldTools(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Approve(name, held...); err != nil || heldBack(t, g, name) != "" || len(g.Prompts(t.Context())) != 1 {
			t.Errorf("%s: approved: held back %q, %v", name, heldBack(t, g, name), err)
		}
		g.Close()
		if g = lister(t, dir, answers, u); len(g.Prompts(t.Context())) != 1 {
			t.Errorf("%s, started again, offers nothing", name)
		}
	}
}
