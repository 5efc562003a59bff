package serve_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/lazy"
)

// A cached admission applies only to requests that look the same to mcp-go. Similar invalid
// requests are still rejected.
func TestOrderIsCheckedForEveryKindOfRequest(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, lazy.Lazy)
	old, now := mcptest.Connect(t, s), mcptest.Connect(t, s)
	old.Post(mcptest.Initialize)
	call := func(name, meta string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":{"text":"x"}` + meta + `}}`
	}
	modern := func(name, header string) (*mcptest.HTTP, string, []string) {
		return now, call(name, ","+mcptest.ModernMeta), []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call",
			"Mcp-Name", header}
	}
	good := func() {
		t.Helper()
		for _, name := range []string{"echo", "nope"} {
			if answer, status := old.Post(call(name, "")); status != http.StatusOK || !strings.Contains(answer, `"content"`) {
				t.Errorf("in a session %s is answered %d %s", name, status, answer)
			}
			h, body, headers := modern(name, name)
			if answer, status := h.Post(body, headers...); status != http.StatusOK || !strings.Contains(answer, `"resultType":"complete"`) {
				t.Errorf("2026-07-28: %s is answered %d %s", name, status, answer)
			}
		}
	}
	for range 2 {
		good()
		h, body, headers := modern("echo", "nope")
		if answer, status := h.Post(body, headers...); status != http.StatusBadRequest ||
			!strings.Contains(answer, `"id":1,"error":{"code":-32020`) {
			t.Errorf("the header of another tool is answered %d %s", status, answer)
		}
		if answer, status := now.Post(body, headers[:4]...); status != http.StatusBadRequest {
			t.Errorf("no header of the tool is answered %d %s", status, answer)
		}
		if answer, status := now.Post(body, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list", "Mcp-Name",
			"echo"); status != http.StatusBadRequest {
			t.Errorf("the header of another method is answered %d %s", status, answer)
		}
		if answer, status := now.Post(body, "Mcp-Protocol-Version", "2025-11-25"); status != http.StatusBadRequest &&
			status != http.StatusNotFound {
			t.Errorf("two versions are answered %d %s", status, answer)
		}
		if answer, status := now.Post(strings.Replace(body, `"clientCapabilities":{}`, `"clientCapabilities":[]`, 1),
			headers...); status == http.StatusOK && strings.Contains(answer, "content") {
			t.Errorf("capabilities that are a list are answered %d %s", status, answer)
		}
		if answer, status := now.Post(call("echo", "")); status != http.StatusBadRequest {
			t.Errorf("no session is answered %d %s", status, answer)
		}
		if answer, _ := old.Post(strings.Replace(call("echo", ""), `"2.0"`, `"1.0"`, 1)); !strings.Contains(answer, "-32600") {
			t.Errorf("another JSON-RPC is answered %s", answer)
		}
		if answer, status := old.Post(call("echo", ""), "Mcp-Protocol-Version", "1999-01-01"); status != http.StatusBadRequest {
			t.Errorf("an unknown version is answered %d %s", status, answer)
		}
		if answer, status := old.Post(call("echo", ""), "Content-Type", "text/plain"); status != http.StatusBadRequest {
			t.Errorf("plain text is answered %d %s", status, answer)
		}
	}
}

// Protocol errors have the HTTP status that 2026-07-28 requires. Before it, every answer to a
// message has status 200.
func TestStatusOfErrors(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, lazy.Lazy)
	old, now := mcptest.Connect(t, s), mcptest.Connect(t, s)
	old.Post(mcptest.Initialize)
	for method, params := range map[string]string{
		"tools/list": `"lazy":1`, "tools/describe": `"tool_name":"nope"`, "tools/describe_batch": `"tool_names":7`,
	} {
		if answer, status := now.Modern("3", method, params+","); status != http.StatusBadRequest ||
			!strings.Contains(answer, `"id":3,"error":{"code":-32602`) {
			t.Errorf("%s is answered %d %s", method, status, answer)
		}
		body := `{"jsonrpc":"2.0","id":3,"method":"` + method + `","params":{` + params + `}}`
		if answer, status := old.Post(body); status != http.StatusOK || !strings.Contains(answer, `"id":3,"error":{"code":-32602`) {
			t.Errorf("in a session %s is answered %d %s", method, status, answer)
		}
	}
	if answer, status := now.Modern("4", "tools/nope", ""); status != http.StatusNotFound || !strings.Contains(answer, `-32601`) {
		t.Errorf("an unknown method is answered %d %s", status, answer)
	}
}

// From 2026-07-28 on, a listed tool that declares an argument for a header can be called only with
// that header. Calls by way of another tool, or of tools listed without it, need no header.
func TestArgumentsInHeaders(t *testing.T) {
	t.Parallel()
	deploy, err := toolfold.External{
		Name: "deploy", Description: "Deploy.", Category: "elsewhere", Effect: toolfold.Reads,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`),
		Run:         func(_ context.Context, args json.RawMessage) (json.RawMessage, error) { return args, nil },
	}.Family()
	if err != nil {
		t.Fatal(err)
	}
	asItCame := *deploy
	asItCame.Apiece = true
	for _, test := range []struct {
		why       string
		family    *toolfold.Family
		level     lazy.Level
		arguments string
		headers   []string
		refused   string
	}{
		{"as the argument", &asItCame, lazy.Full, `{"region":"Zürich"}`, []string{"Mcp-Param-Region", "=?base64?WsO8cmljaA==?="}, ""},
		{"missing", &asItCame, lazy.Full, `{"region":"here"}`, nil, "missing header"},
		{"another", &asItCame, lazy.Full, `{"region":"here"}`, []string{"Mcp-Param-Region", "there"}, "does not match"},
		{"of no argument", &asItCame, lazy.Full, `{}`, []string{"Mcp-Param-Region", "there"}, "unexpected header"},
		{"of neither", &asItCame, lazy.Full, `{}`, nil, ""},
		{"not listed", deploy, lazy.Lazy, `{"region":"here"}`, nil, ""},
	} {
		s, surface := newServer(t, test.level)
		if err := surface.Put(test.family); err != nil {
			t.Fatal(err)
		}
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"deploy","arguments":` + test.arguments + `,` +
			mcptest.ModernMeta + `}}`
		headers := append([]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "deploy"}, test.headers...)
		answer, status := mcptest.Connect(t, s).Post(body, headers...)
		switch wrong := strings.Contains(answer, `"code":-32020`) && status == http.StatusBadRequest; {
		case wrong != (test.refused != ""), !strings.Contains(answer, test.refused):
			t.Errorf("%s: %d %s", test.why, status, answer)
		}
		old := mcptest.Connect(t, s)
		old.Post(mcptest.Initialize)
		if answer, _ := old.Post(strings.Replace(body, ","+mcptest.ModernMeta, "", 1)); !strings.Contains(answer, `"content"`) {
			t.Errorf("%s, before 2026-07-28: %s", test.why, answer)
		}
	}
}
