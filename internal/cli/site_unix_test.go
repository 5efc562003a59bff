//go:build unix

package cli

import (
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/internal/test/testwait"
)

// network serves over HTTP with the tokens of "me", an admin, and "agent". The store is in memory, unless flags
// name another one: only this process has it.
func (m sandbox) network(t *testing.T, flags ...string) (p process, base string, tokens map[string]string) {
	t.Helper()
	tokens = map[string]string{}
	for name, flags := range map[string][]string{"me": {"--admin"}, "agent": nil} {
		out, err := m.command(t, append([]string{"token", "add", name}, flags...)...).Output()
		if err != nil {
			t.Fatalf("%s %v", out, err)
		}
		tokens[name] = strings.TrimSpace(string(out))
	}
	p = start(t, m.command(t, append([]string{"serve", "--http=:0", "--store=memory:", "--workspace=."}, flags...)...), nil)
	testwait.Until(t, "it serves", func() bool { return strings.Contains(p.stderr.String(), " tools, ") })
	_, at, _ := strings.Cut(p.stderr.String(), "serving MCP at ")
	at, _, _ = strings.Cut(at, "\n")
	base = strings.TrimSuffix(at, "/mcp")
	if !strings.HasPrefix(base, "http://127.0.0.1:") || !strings.Contains(p.stderr.String(), "log in to the page at "+base+"/\n") {
		t.Fatalf("it serves at %s: %s", at, p.stderr.String())
	}
	return p, base, tokens
}

// networkBrowser returns a browser that has not logged in.
func networkBrowser(t *testing.T, base string) *browser {
	b := &browser{t: t, base: base}
	b.Jar, _ = cookiejar.New(nil)
	b.Transport = asBrowser{}
	return b
}

// TestPageOverTheNetwork logs in to the page of a server over HTTP, and approves there what no client of the server
// can approve, with any token.
func TestPageOverTheNetwork(t *testing.T) {
	m := newSandbox(t)
	config := filepath.Join(m.home, "config", "toolfold", "config.json")
	m.write(t, config, `{"upstreams":{"small":{"command":"small-mcp","args":["one"]}}}`)
	m.learn(t)
	m.write(t, config, `{"upstreams":{"small":{"command":"small-mcp","args":["two"]}}}`)
	m.learn(t)
	p, base, tokens := m.network(t)
	at := base + "/mcp"
	held := func() bool {
		out, err := m.command(t, "upstream", "approve", "small", "--dry-run").CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v", out, err)
		}
		return strings.Contains(string(out), "get_item")
	}

	call := func(token, action, arguments string) string {
		t.Helper()
		answer, _ := mcptest.To(t, at).Post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool_call","arguments":{`+
			`"name":"`+action+`","arguments":`+arguments+`},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
			"Authorization", "Bearer "+token, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "tool_call")
		return answer
	}
	for name, token := range tokens {
		for _, action := range []string{"upstream.approve", "servers.approve", "approve", "page.approve", "small.approve"} {
			answer := call(token, action, `{"server":"small"}`)
			if !strings.Contains(answer, `"isError":true`) {
				t.Errorf("%s calls %s: %s", name, action, answer)
			}
		}
		r, err := http.NewRequest(http.MethodPost, base+"/servers/small/approve", strings.NewReader("tool=get_item"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s approves by the address of the form: %d", name, answer.StatusCode)
		}
	}
	if !held() {
		t.Fatal("a client approved the tool")
	}

	b := networkBrowser(t, base)
	page := b.get("/servers/small", http.StatusOK)
	b.shows(page, "Log in", "token of an admin", `value="/servers/small"`)
	b.shows(b.press(page, "log in", url.Values{"token": {tokens["agent"]}}, http.StatusForbidden), "No admin has this token")
	page = b.press(page, "log in", url.Values{"token": {tokens["me"]}}, http.StatusOK)
	b.shows(page, "Get an item of one.", "Get an item of two.", "log out")
	if page = b.press(page, "approve get_item", nil, http.StatusOK); strings.Contains(page, "approve get_item") || held() {
		t.Errorf("the approved tool is still held back: %s", page)
	}
	testwait.Until(t, "clients are served the approved definition", func() bool {
		return strings.Contains(call(tokens["agent"], "tools.describe", `{"names":["small.get_item"]}`), "Get an item of two.")
	})

	if answer := call(tokens["agent"], "memory.store", `{"key":"k","value":"of the agent"}`); strings.Contains(answer, `"isError":true`) {
		t.Fatal(answer)
	}
	note := b.get("/note?key=k&namespace=default", http.StatusOK)
	b.shows(note, "of the agent")
	note = b.press(note, "store", url.Values{"value": {"of the user"}}, http.StatusOK)
	note = b.press(note, "store", url.Values{"value": {"of the user again"}}, http.StatusOK)
	b.shows(note, "of the user again", "<td>agent t<", "<td>me the page<")
	var calls string
	testwait.Until(t, "the call of the agent is recorded", func() bool {
		calls = b.get("/calls", http.StatusOK)
		return strings.Contains(calls, "memory.store")
	})
	if strings.Contains(calls, "memory.get") || strings.Contains(calls, "the page") {
		t.Errorf("calls of the page are recorded: %s", calls)
	}
	b.shows(b.press(note, "log out", nil, http.StatusOK), "Log in")
	b.shows(b.get("/", http.StatusOK), "Log in")

	p.signal(t, syscall.SIGTERM)
	<-p.ended
	if p.ProcessState.ExitCode() != 0 {
		t.Errorf("the server ended with %v: %s", p.ProcessState, p.stderr)
	}
}

// TestQuestionsOverTheNetwork answers what the call of a client asks its user, on the page of the server that runs the
// call.
func TestQuestionsOverTheNetwork(t *testing.T) {
	m := newSandbox(t)
	m.write(t, filepath.Join(m.home, "config", "toolfold", "config.json"), `{"upstreams":{"desk":{"command":"ask-mcp"}}}`)
	m.learn(t)
	_, base, tokens := m.network(t)
	request := func(method, name, params string) (result struct{ ResultType, TaskID, Status string }, answer string) {
		t.Helper()
		answer, _ = mcptest.To(t, base+"/mcp").Post(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+`,"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},`+
			`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`,
			"Authorization", "Bearer "+tokens["agent"], "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name)
		message := struct{ Result any }{&result}
		if err := json.Unmarshal([]byte(answer), &message); err != nil {
			t.Fatalf("%s: %v", answer, err)
		}
		return result, answer
	}
	result, answer := request("tools/call", "tool_call", `"name":"tool_call","arguments":{"name":"desk.ask_item"}`)
	if result.ResultType != "task" {
		t.Fatalf("the call is no task: %s", answer)
	}

	b := networkBrowser(t, base)
	at := "/tasks/" + result.TaskID
	page := b.press(b.get("/", http.StatusOK), "log in", url.Values{"token": {tokens["me"]}}, http.StatusOK)
	b.shows(page, `<a href="`+at+`">`, "has 1 question for you")
	page = b.get(at, http.StatusOK)
	b.shows(page, "Which fruit?", "apple", "plum")
	page = b.press(page, "answer", url.Values{"action": {"accept"}, "field0": {""}}, http.StatusUnprocessableEntity)
	b.shows(page, `aria-invalid="true"`)
	page = b.press(page, "answer", url.Values{"action": {"accept"}, "field0": {`"plum"`}}, http.StatusOK)
	if strings.Contains(page, "Which fruit?") {
		t.Errorf("the answered question is asked: %s", page)
	}
	testwait.Until(t, "the task of the client ends", func() bool {
		result, answer = request("tasks/get", result.TaskID, `"taskId":"`+result.TaskID+`"`)
		return result.Status != "working" && result.Status != "input_required"
	})
	has(t, answer, `"status":"completed"`, `answered {\"action\":\"accept\",\"content\":{\"fruit\":\"plum\"}}`)
}

// asBrowser sends requests as browsers do.
type asBrowser struct{}

// RoundTrip implements [http.RoundTripper].
func (asBrowser) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if r.Method == http.MethodPost {
		r.Header.Set("Origin", r.URL.Scheme+"://"+r.URL.Host)
	}
	return http.DefaultTransport.RoundTrip(r)
}
