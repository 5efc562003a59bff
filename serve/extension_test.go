package serve_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/lazy"
)

// Tests the methods of the extension and the lazy switch, with all kinds of ids.
var extensionCases = []struct {
	why, id, method, params string
	want, without           []string
}{
	{"one tool", `"a\"b"`, "tools/describe", `"tool_name":"echo"`,
		[]string{`"tool_name":"echo"`, `"schema":{"name":"echo"`, `"inputSchema":`}, []string{`"outputSchema":`}},
	{"a legacy name", `9007199254740993`, "tools/describe", `"tool_name":"tool_find"`,
		[]string{`"schema":{"name":"tool_find"`, `"query"`}, nil},
	{"one action", `-3`, "tools/describe", `"tool_name":"tools.find"`,
		[]string{`"schema":{"name":"tools"`, `"action":{"const":"find"}`}, nil},
	{"unknown name", `1`, "tools/describe", `"tool_name":"ecko"`, []string{`"code":-32602`, `did you mean echo?`}, nil},
	{"no name", `2`, "tools/describe", ``, []string{`"code":-32602`, `tool_name must be a text`}, nil},
	{"several, one bad", `12345678901234567890123`, "tools/describe_batch", `"tool_names":["echo","nope","tools.call"]`,
		[]string{`"tools":[{"tool_name":"echo"`, `"tool_name":"tools.call"`, `"errors":[{"tool_name":"nope"`}, nil},
	{"none", `3`, "tools/describe_batch", `"tool_names":[]`, []string{`"tools":[],"errors":[]`}, nil},
	{"not a list", `4`, "tools/describe_batch", `"tool_names":"echo"`, []string{`"code":-32602`}, nil},
	{"stubs", `9007199254740995`, "tools/list", `"lazy":true`,
		[]string{`"name":"echo"`, `"inputSchema":{"type":"object","properties":{}}`}, []string{`"query"`}},
	{"everything", `5`, "tools/list", `"lazy":false`, []string{`"enum":["find"`, `"text":{"type":"string"}`}, nil},
	{"as the server shows it", `6`, "tools/list", ``, []string{`find(query)`, `"_meta":{"anthropic/alwaysLoad":true}`},
		[]string{`"enum":["find"`}},
	{"neither true nor false", `7`, "tools/list", `"lazy":1`, []string{`"code":-32602`, `lazy must be true or false`}, nil},
}

func TestExtensionOverStdio(t *testing.T) {
	s, _ := newServer(t, lazy.Lazy)
	for _, test := range extensionCases {
		line := `{"jsonrpc":"2.0","id":` + test.id + `,"method":"` + test.method + `","params":{` + test.params + `}}`
		checkAnswer(t, test.why, mcptest.Stdio(t, s, line)[0], test.id, test.want, test.without)
	}
}

func TestExtensionOverHTTP(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, lazy.Lazy)
	old, now := mcptest.Connect(t, s), mcptest.Connect(t, s)
	old.Post(mcptest.Initialize)
	for _, test := range extensionCases {
		line := `{"method":"` + test.method + `","params":{` + test.params + `},"jsonrpc":"2.0","id":` + test.id + `}`
		answer, _ := old.Post(line)
		checkAnswer(t, test.why, answer, test.id, test.want, test.without)

		params := test.params
		if params != "" {
			params += ","
		}
		answer, _ = now.Modern(test.id, test.method, params)
		want := test.want
		if !strings.Contains(answer, `"error":{"code"`) {
			want = append([]string{`"resultType":"complete"`}, want...)
		}
		checkAnswer(t, test.why+", 2026-07-28", answer, test.id, want, test.without)
	}
}

func checkAnswer(t *testing.T, why, answer, id string, want, without []string) {
	t.Helper()
	for _, part := range append([]string{`"id":` + id}, want...) {
		if !strings.Contains(answer, part) {
			t.Errorf("%s: no %s in %s", why, part, answer)
		}
	}
	for _, part := range without {
		if strings.Contains(answer, part) {
			t.Errorf("%s: %s in %s", why, part, answer)
		}
	}
}

// The extension follows the rules of the protocol: a live session before 2026-07-28, headers and a
// known version from then on.
func TestExtensionKeepsTheRulesOfItsEra(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, lazy.Lazy)
	h := mcptest.Connect(t, s)
	describe := `{"jsonrpc":"2.0","id":1,"method":"tools/describe","params":{"tool_name":"echo"}}`
	h.Session = "mcp-session-00000000-0000-4000-8000-000000000000"
	if answer, status := h.Post(describe); status < http.StatusBadRequest || strings.Contains(answer, "schema") {
		t.Errorf("a made-up session was answered %d %s", status, answer)
	}
	h.Session = ""
	modern := `{"jsonrpc":"2.0","id":1,"method":"tools/describe","params":{"tool_name":"echo",` + mcptest.ModernMeta + `}}`
	if answer, status := h.Post(modern, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call"); status < http.StatusBadRequest {
		t.Errorf("a header for another method was answered %d %s", status, answer)
	}
	if answer, status := h.Post(strings.ReplaceAll(modern, "2026-07-28", "2099-01-01"),
		"Mcp-Protocol-Version", "2099-01-01", "Mcp-Method", "tools/describe"); status < http.StatusBadRequest {
		t.Errorf("an unknown version was answered %d %s", status, answer)
	}
	h.Session = ""
	h.Post(mcptest.Initialize)
	if answer, status := h.Post(describe); status != http.StatusOK || !strings.Contains(answer, "schema") {
		t.Errorf("a live session was answered %d %s", status, answer)
	}
}

// A session of an older protocol lists the tools that it loads, and is notified. From 2026-07-28 on
// the list stays the same, and the answer shows how to call the tool.
func TestLoading(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, lazy.Search)
	old, now := mcptest.Connect(t, s), mcptest.Connect(t, s)
	old.Post(mcptest.Initialize)
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	if answer, _ := old.Post(list); strings.Contains(answer, `"echo"`) {
		t.Fatalf("listed before it is loaded: %s", answer)
	}
	load := `"name":"tools","arguments":{"action":"load","names":["echo","nope"]}`
	answer, _ := old.Post(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{` + load + `}}`)
	for _, part := range []string{"notifications/tools/list_changed", `\"listed\":true`, `\"loaded\":[\"echo\"]`, `there is no tool`} {
		if !strings.Contains(answer, part) {
			t.Errorf("no %s in %s", part, answer)
		}
	}
	if answer, _ := old.Post(list); !strings.Contains(answer, `"name":"echo"`) {
		t.Errorf("not listed after it was loaded: %s", answer)
	}
	other := mcptest.Connect(t, s)
	other.Post(mcptest.Initialize)
	if answer, _ := other.Post(list); strings.Contains(answer, `"name":"echo"`) {
		t.Errorf("listed for another session: %s", answer)
	}

	before, _ := now.Modern("1", "tools/list", "")
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + load + `,` + mcptest.ModernMeta + `}}`
	answer, _ = now.Post(body, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "tools")
	if !strings.Contains(answer, `\"listed\":false`) || !strings.Contains(answer, `not listed: call tool_call {\\\"name\\\":\\\"echo\\\"`) ||
		strings.Contains(answer, "list_changed") {
		t.Errorf("2026-07-28 is answered %s", answer)
	}
	if after, _ := now.Modern("1", "tools/list", ""); after != before {
		t.Errorf("the list of 2026-07-28 changed from %s to %s", before, after)
	}
	if !strings.Contains(before, `"ttlMs":300000`) {
		t.Errorf("no ttlMs in %s", before)
	}
}
