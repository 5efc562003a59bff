//go:build unix

package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/internal/test/testwait"
)

// A person sees who called what, also a call that a killed server was running.
func TestAuditOfTokens(t *testing.T) {
	t.Parallel()
	m := newSandbox(t)
	calls := filepath.Join(t.TempDir(), "calls")
	m.write(t, filepath.Join(m.home, "config", "toolfold", "config.json"),
		fmt.Sprintf(`{"upstreams":{"up":{"command":"slow-mcp","args":[%q]},"one":{"command":"small-mcp","args":["one"]}}}`, calls))
	m.learn(t)
	tokens := map[string]string{}
	for name, flags := range map[string][]string{"ada": nil, "bob": {"--read-only"}} {
		out, err := m.command(t, append([]string{"token", "add", name}, flags...)...).Output()
		if err != nil {
			t.Fatalf("%s %v", out, err)
		}
		tokens[name] = strings.TrimSpace(string(out))
	}
	p := start(t, m.command(t, "serve", "--http=127.0.0.1:0", "--workspace=."), nil)
	testwait.Until(t, "it serves", func() bool { return strings.Contains(p.stderr.String(), " tools, ") })
	_, at, _ := strings.Cut(p.stderr.String(), "serving MCP at ")
	at, _, _ = strings.Cut(at, "\n")
	ada, bob := requester(t, at, tokens["ada"]), requester(t, at, tokens["bob"])
	ada("tools/call", callOf("memory", `{"action":"store","key":"secret-key","value":"secret-value"}`))
	bob("tools/call", callOf("memory", `{"action":"delete","key":"secret-key"}`))
	bob("tools/call", callOf("tool_call", `{"name":"memory.get","arguments":{"key":"secret-key"}}`))
	ada("tools/call", callOf("tool_call", `{"name":"memory.get","arguments":{"key":"secret-key"},"saveTo":"result.json"}`))
	ada("resources/read", `"uri":"toolfold://upstream/one/x:1"`)
	ada("prompts/get", `"name":"one-hello"`)
	ada("tools/call", callOf("script", `{"action":"run","code":"await memory.store({key: 'by-script', value: 1}); await memory.list({})"}`))
	scrape, err := http.NewRequest(http.MethodGet, strings.TrimSuffix(at, "/mcp")+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	scrape.Header.Set("Authorization", "Bearer "+tokens["ada"])
	figures, err := http.DefaultClient.Do(scrape)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(figures.Body)
	figures.Body.Close()
	if !strings.Contains(string(text), "\ntoolfold_caller_calls_total{caller=\"bob\",code=\"PERMISSION_DENIED\"} 1\n") {
		t.Errorf("%s", text)
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up.pay","arguments":{"until":"/never"},` +
		strings.Replace(mcptest.ModernMeta, `"t"`, `"t\n2026-01-31"`, 1) + `}}`
	cut, err := http.NewRequest(http.MethodPost, at, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + tokens["ada"], "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "up.pay",
	} {
		cut.Header.Set(name, value)
	}
	go func() {
		if answer, err := http.DefaultClient.Do(cut); err == nil { // the server is killed meanwhile
			answer.Body.Close()
		}
	}()
	testwait.Until(t, "the upstream is called", func() bool { text, _ := os.ReadFile(calls); return strings.Contains(string(text), "pay") })

	shown := func(args ...string) string {
		t.Helper()
		out, err := m.command(t, append([]string{"audit"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return regexp.MustCompile(`  +`).ReplaceAllString(string(out), "  ")
	}
	testwait.Until(t, "the reading calls are recorded", func() bool { return strings.Contains(shown(), "one.prompts.hello") })
	p.signal(t, os.Kill)
	<-p.ended
	all := shown()
	for _, want := range []string{
		"bob  memory.delete  PERMISSION_DENIED", "bob  memory.get  done", "ada  one.resources.read  done",
		"ada  one.prompts.hello  done", "ada  up.pay  no end  –  t 2026-01-31\n", "ada  tools.call  done", "ada  memory.get  done",
		"ada  script.run  done", "ada  memory.list  done",
	} {
		if strings.Count(all, want) != 1 {
			t.Errorf("want %q once in\n%s", want, all)
		}
	}
	if strings.Contains(all+shown("--json"), "secret-") {
		t.Error(all, shown("--json"))
	}
	for args, want := range map[string]int{
		"--caller=ada": 9, "--action=memory.*": 6, "--action=memory.store": 2, "--failed": 2, "--until=-1h": 0, "--since=-1m --json": 11,
	} {
		got := shown(strings.Fields(args)...)
		if n := strings.Count(got, "\n"); n != max(want, 1) || want == 0 && !strings.Contains(got, "no such call") {
			t.Errorf("%s: %s", args, got)
		}
	}
}

// A call that became a task ends in the audit when its task does, cancelling it is recorded, and so is who changed
// servers on the page.
func TestAuditBeyondCalls(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, store string) {
		m := newSandbox(t)
		m.store = store
		config := filepath.Join(m.home, "config", "toolfold", "config.json")
		servers := `{"upstreams":{"up":{"command":"slow-mcp","args":[%q]},"one":{"command":"small-mcp","args":[%q]}}}`
		for _, text := range []string{"one", "two"} { // changed definitions are held back
			m.write(t, config, fmt.Sprintf(servers, filepath.Join(m.home, "calls"), text))
			m.learn(t)
		}
		p, base, tokens := m.network(t, "--store="+store)
		shown := func(caller string) string {
			t.Helper()
			out, err := m.command(t, "audit", "--caller="+caller).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			return regexp.MustCompile(`  +`).ReplaceAllString(string(out), "  ")
		}
		h := mcptest.To(t, base+"/mcp")
		ask := func(method, name, params string) string {
			meta := strings.Replace(mcptest.ModernMeta, `Capabilities":{}`, `Capabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, 1)
			answer, _ := h.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,%s}}`, method, params, meta),
				"Authorization", "Bearer "+tokens["agent"], "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name)
			return answer
		}
		call := func(tool, until string) (task string) {
			answer := ask("tools/call", "up."+tool, callOf("up."+tool, fmt.Sprintf(`{"until":%q}`, until)))
			found := regexp.MustCompile(`"taskId":"([^"]+)"`).FindStringSubmatch(answer)
			if found == nil {
				t.Fatalf("the call is no task: %s", answer)
			}
			return found[1]
		}
		release := filepath.Join(m.home, "release")
		done, cancelled := call("fail", release), call("send", "/never")
		testwait.Until(t, "the calls are recorded", func() bool { return strings.Count(shown("agent"), "no end") == 2 })
		m.write(t, release, "")
		testwait.Until(t, "a task ends", func() bool {
			return strings.Contains(ask("tasks/get", done, fmt.Sprintf(`"taskId":%q`, done)), `"completed"`)
		})
		ask("tasks/cancel", cancelled, fmt.Sprintf(`"taskId":%q`, cancelled))
		testwait.Until(t, "both ends are recorded", func() bool { return !strings.Contains(shown("agent"), "no end") })
		for _, want := range []string{"agent  up.fail  UPSTREAM_ERROR", "agent  up.send  CANCELLED", "agent  task.cancel  done"} {
			if strings.Count(shown("agent"), want) != 1 {
				t.Errorf("want %q once in\n%s", want, shown("agent"))
			}
		}

		b := networkBrowser(t, base)
		page := b.press(b.get("/servers/one", http.StatusOK), "log in", url.Values{"token": {tokens["me"]}}, http.StatusOK)
		page = b.press(page, "approve get_item", nil, http.StatusOK)
		page = b.press(page, "restart", nil, http.StatusOK)
		b.press(page, "disable", nil, http.StatusOK)
		for _, want := range []string{"me  upstream.approve  done", "me  upstream.restart  done", "me  upstream.disable  done"} {
			if strings.Count(shown("me"), want) != 1 {
				t.Errorf("want %q once in\n%s", want, shown("me"))
			}
		}
		p.signal(t, os.Interrupt)
		<-p.ended
	})
}
