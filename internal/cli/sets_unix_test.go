//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/internal/text/english"
)

// withSets is a sandbox with three upstreams and sets of them.
func withSets(t *testing.T) sandbox {
	t.Helper()
	m := newSandbox(t)
	m.write(t, filepath.Join(m.home, "config", "toolfold", "config.json"), `{"upstreams":{
		"one":{"command":"small-mcp","args":["one"]},"two":{"command":"small-mcp","args":["two"]},
		"three":{"command":"small-mcp","args":["three"]}},
		"sets":{"a":["one"],"b":["two","three.get_*"]}}`)
	m.learn(t)
	return m
}

// serving starts a server over HTTP and returns its address.
func (m sandbox) serving(t *testing.T, args ...string) string {
	t.Helper()
	p := start(t, m.command(t, append([]string{"serve", "--http=127.0.0.1:0"}, args...)...), nil)
	testwait.Until(t, "it serves", func() bool { return strings.Contains(p.stderr.String(), " tools, ") })
	_, at, _ := strings.Cut(p.stderr.String(), "serving MCP at ")
	at, _, _ = strings.Cut(at, "\n")
	return at
}

// requester returns a function that makes requests of a server at an address.
func requester(t *testing.T, url, token string) func(method, params string) string {
	h := mcptest.To(t, url)
	return func(method, params string) string {
		t.Helper()
		var members struct{ Name, URI string }
		_ = json.Unmarshal([]byte("{"+params+"}"), &members)
		if params != "" {
			params += ","
		}
		headers := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method}
		if name := members.Name + members.URI; name != "" {
			headers = append(headers, "Mcp-Name", name)
		}
		if token != "" {
			headers = append(headers, "Authorization", "Bearer "+token)
		}
		answer, _ := h.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, params, mcptest.ModernMeta), headers...)
		return answer
	}
}

// callOf returns the params of a call.
func callOf(name, arguments string) string {
	return fmt.Sprintf(`"name":%q,"arguments":%s`, name, arguments)
}

// named returns requests of a server under every kind of name.
func named(server string) map[string][2]string {
	return map[string][2]string{
		"full name":       {"tools/call", callOf(server+".get_item", "{}")},
		"folded":          {"tools/call", callOf(server, `{"action":"get_item"}`)},
		"joined":          {"tools/call", callOf(server+"_get_item", "{}")},
		"bare name":       {"tools/call", callOf(server+"_only", "{}")},
		"tool_call":       {"tools/call", callOf("tool_call", fmt.Sprintf(`{"name":%q,"arguments":{}}`, server+".get_item"))},
		"tool_call, bare": {"tools/call", callOf("tool_call", fmt.Sprintf(`{"name":%q,"arguments":{}}`, server+"_only"))},
		"prompt":          {"prompts/get", fmt.Sprintf(`"name":%q`, server+"-hello")},
		"resource":        {"resources/read", fmt.Sprintf(`"uri":"toolfold://upstream/%s/x:1"`, server)},
	}
}

// reaches checks that a caller reaches all or none of a server's names.
func reaches(t *testing.T, where string, ask func(method, params string) string, server string, all bool) {
	t.Helper()
	for how, request := range named(server) {
		got := ask(request[0], request[1])
		if strings.Contains(got, "of "+server) != all {
			t.Errorf("%s: %s of %s is answered %s", where, how, server, got)
		}
	}
	for how, request := range map[string][2]string{
		"tools/list": {"tools/list", ""}, "prompts/list": {"prompts/list", ""}, "resources/list": {"resources/list", ""},
		"tools.list": {"tools/call", callOf("tools", `{"action":"list","include_disabled":true}`)},
		"find":       {"tools/call", callOf("tools", fmt.Sprintf(`{"action":"find","query":"item of %s"}`, server))},
		"describe":   {"tools/call", callOf("tools", fmt.Sprintf(`{"action":"describe","name":%q}`, server+".get_item"))},
		"discover":   {"server/discover", ""},
	} {
		got := ask(request[0], request[1])
		is := how == "discover" && strings.Contains(got, "Items of "+server)
		for _, mark := range []string{`"name":"` + server + `"`, "Get an item of " + server, server + "-hello", "upstream/" + server + "/"} {
			is = is || strings.Contains(strings.ReplaceAll(got, `\`, ""), mark)
		}
		if is != all {
			t.Errorf("%s: %s has %s: %t, want %t: %.600s", where, how, server, is, all, got)
		}
	}
}

// Two sets in one process are separate in every request that a client can make.
func TestSetsOverHTTP(t *testing.T) {
	t.Parallel()
	m := withSets(t)
	at := m.serving(t)
	for _, place := range []struct {
		path string
		all  map[string]bool
	}{
		{"", map[string]bool{"one": true, "two": true, "three": true}},
		{"/a", map[string]bool{"one": true, "two": false, "three": false}},
		{"/b", map[string]bool{"two": true, "one": false}},
	} {
		t.Run("at "+place.path, func(t *testing.T) {
			t.Parallel()
			ask := requester(t, at+place.path, "")
			for server, all := range place.all {
				reaches(t, place.path, ask, server, all)
			}
			if got := ask("tools/call", callOf("memory", `{"action":"stats"}`)); !strings.Contains(got, "totalEntries") {
				t.Errorf("%s: the workbench answers %s", place.path, got)
			}
		})
	}
	b := requester(t, at+"/b", "")
	for request, want := range map[[2]string]string{
		{"tools/call", callOf("three.get_item", "{}")}:              `of three`,
		{"tools/call", callOf("three.put_item", "{}")}:              `the set b has only get_* of the server three`,
		{"tools/call", callOf("one.get_item", "{}")}:                `the server one is not in the set b`,
		{"resources/read", `"uri":"toolfold://upstream/three/x:1"`}: `"error"`,
		{"prompts/get", `"name":"three-hello"`}:                     `"error"`,
		{"tools/call", callOf("tools", `{"action":"list"}`)}:        `three`,
	} {
		if got := b(request[0], request[1]); !strings.Contains(got, want) {
			t.Errorf("%v is answered %s, want %s", request, got, want)
		}
	}
	answer, status := mcptest.To(t, at+"/c").Post(mcptest.Initialize)
	if status != http.StatusNotFound || !strings.Contains(answer, "toolfold upstream sets") || strings.Contains(answer, "three") {
		t.Errorf("an unknown set is answered %d %s", status, answer)
	}
}

// A request has the rights of its address, whichever address began its session.
func TestSessionsDoNotMixSets(t *testing.T) {
	t.Parallel()
	at := withSets(t).serving(t)
	h := mcptest.To(t, at+"/a")
	first, _ := h.Post(mcptest.Initialize)
	if !strings.Contains(first, "Items of one") || strings.Contains(first, "Items of two") {
		t.Errorf("it begins with %s", first)
	}
	for path, want := range map[string]bool{"/a": true, "/b": false} {
		h.URL = at + path
		got, _ := h.Post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one.get_item","arguments":{}}}`)
		list, _ := h.Post(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
		if strings.Contains(got, "of one") != want || strings.Contains(list, "{\"name\":\"one\"") != want || !strings.Contains(list, "tools") {
			t.Errorf("at %s one is reached: %s, %.300s", path, got, list)
		}
	}
}

// A token limited to sets has them all at /mcp, and only one at that set's address. Its tasks are
// limited to the sets too.
func TestTokensWithSets(t *testing.T) {
	t.Parallel()
	m := withSets(t)
	tokens := map[string]string{}
	for name, args := range map[string][]string{"a": {"--set", "a"}, "both": {"--set", "a", "--set", "b"}, "all": nil} {
		out, err := m.command(t, append([]string{"token", "add", name}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		tokens[name] = strings.TrimSpace(string(out))
	}
	at := m.serving(t)
	for _, test := range []struct {
		token, path string
		one, two    bool
	}{
		{"a", "", true, false}, {"a", "/a", true, false}, {"both", "", true, true}, {"both", "/b", false, true},
		{"all", "", true, true}, {"all", "/a", true, false},
	} {
		ask := requester(t, at+test.path, tokens[test.token])
		reaches(t, test.token+" at "+test.path, ask, "one", test.one)
		reaches(t, test.token+" at "+test.path, ask, "two", test.two)
	}
	h := mcptest.To(t, at+"/b")
	for _, path := range []string{"/b", "/none"} { // a token of other sets cannot tell these apart
		h.URL = at + path
		answer, status := h.Post(mcptest.Initialize, "Authorization", "Bearer "+tokens["a"])
		if status != http.StatusForbidden || !strings.Contains(answer, "it is limited to a") {
			t.Errorf("%s is answered %d %s", path, status, answer)
		}
	}
	h.URL = at + "/none"
	if answer, status := h.Post(mcptest.Initialize); status != http.StatusUnauthorized {
		t.Errorf("without a token it is answered %d %s", status, answer)
	}
	a := requester(t, at, tokens["a"])
	got := a("tools/call", callOf("task", `{"action":"submit","params":{"name":"x","input":{"tool":"two.get_item","arguments":{}}}}`))
	if !strings.Contains(got, `there is no tool \\\"two.get_item`) {
		t.Errorf("a task of what is not in the set is answered %s", got)
	}
}

// A process that serves one set starts no other upstream, and serves nothing more at other sets'
// addresses.
func TestProcessOfASet(t *testing.T) {
	t.Parallel()
	m := withSets(t)
	at := m.serving(t, "--set=a")
	for _, path := range []string{"", "/a"} {
		ask := requester(t, at+path, "")
		reaches(t, path, ask, "one", true)
		reaches(t, path, ask, "two", false)
	}
	b := requester(t, at+"/b", "")
	reaches(t, "/b", b, "one", false)
	reaches(t, "/b", b, "two", false)
	if got := requester(t, at, "")("tools/call", callOf("two.get_item", "{}")); !strings.Contains(got, "the server two is not in the set a") {
		t.Errorf("a call of another server is answered %s", got)
	}
}

// The start message counts the list, and names failing servers only if they are served.
func TestStartLine(t *testing.T) {
	t.Parallel()
	m := newSandbox(t)
	m.write(t, filepath.Join(m.home, "config", "toolfold", "config.json"), `{"upstreams":{
		"one":{"command":"small-mcp","args":["one"]},"two":{"command":"small-mcp","args":["two"]},
		"off":{"command":"no-such-program","disabled":true},"out":{"command":"no-such-program"},"bad":{"command":"no-such-program"}},
		"sets":{"good":["one"],"both":["one","bad"]}}`)
	_ = m.command(t, "upstream", "check").Run() // it fails, because two of the servers do
	for options, want := range map[string]string{
		"":                       "of 2 servers (622 as they are); 2 servers fail: bad, out",
		"--set=good":             "of 1 server of the set good (311 as they are)",
		"--set=both":             "of 1 server of the set both (311 as they are); 1 server fails: bad",
		"--set=good --tier=none": "of 1 server of the set good (311 as they are)",
		"--set=good --for=codex": "of 1 server of the set good (311 as they are)",
		"--deny=two,two_write":   "of 1 server (311 as they are); 2 servers fail: bad, out",
		"--tool-mode=legacy":     "of 2 servers (622 as they are); 2 servers fail: bad, out",
	} {
		p := start(t, m.command(t, append([]string{"serve", "--http=127.0.0.1:0"}, strings.Fields(options)...)...), nil)
		testwait.Until(t, "it serves", func() bool { return strings.Contains(p.stderr.String(), " tools, ") })
		at, line, _ := strings.Cut(p.stderr.String(), " listing: ")
		line, _, _ = strings.Cut(line, "\n")
		_, at, _ = strings.Cut(at, "serving MCP at ")
		at, _, _ = strings.Cut(at, "\n")
		var answer struct{ Result json.RawMessage }
		if err := json.Unmarshal([]byte(requester(t, at, "")("tools/list", "")), &answer); err != nil {
			t.Fatal(err)
		}
		list, err := doctor.ReadList(answer.Result)
		if err != nil {
			t.Fatal(err)
		}
		cost, err := doctor.CostOf(list)
		if err != nil {
			t.Fatal(err)
		}
		begins := fmt.Sprintf("%d tools, %s tokens: ", cost.Tools, english.Grouped(cost.Tokens))
		if !strings.HasPrefix(line, begins) || !strings.HasSuffix(line, want) {
			t.Errorf("with %s it starts with %q, want %q … %q", options, line, begins, want)
		}
	}
}
