package serve_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/serve"
)

// Invalid input is answered, and the server goes on.
func TestBadInputOverStdio(t *testing.T) {
	s, _ := newServer(t, lazy.Lazy)
	good := `{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"echo","arguments":{"text":"still here"}}}`
	for why, test := range map[string]struct{ line, want string }{
		"no JSON":        {`garbage`, `-32700`},
		"an empty batch": {`[]`, `batches are not served`},
		"a batch":        {`[{"jsonrpc":"2.0","id":2,"method":"ping"}]`, `-32600,"message":"batches are not served`},
		"no version":     {`{"id":1,"method":"tools/list"}`, `-32600`},
		"unknown method": {`{"jsonrpc":"2.0","id":1,"method":"tools/nope"}`, `-32601`},
		"deep nesting": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + strings.Repeat(`{"a":`, 200_000) + `1` +
			strings.Repeat(`}`, 200_001), `-32700`},
		"nested arguments": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tools","arguments":{"action":"find",` +
			`"query":` + strings.Repeat(`[`, 5000) + strings.Repeat(`]`, 5000) + `}}}`, `arguments nest deeper than 200 levels`},
		"unknown tool":  {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope"}}`, `UNKNOWN_TOOL`},
		"nearly a tool": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ehco"}}`, `did you mean \\\"echo\\\"?`},
		"no tool":       {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, `UNKNOWN_TOOL`},
		"array arguments": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tools","arguments":[1]}}`,
			`must be a JSON object, got array`},
		"text arguments": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tools","arguments":"x"}}`,
			`must be a JSON object, got string`},
		"ten megabytes": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tools","arguments":{"action":"find",` +
			`"query":"` + strings.Repeat("x", 10<<20) + `"}}}`, `longer than 4194304 bytes`},
		"four million bytes": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tools","arguments":{"action":"find",` +
			`"query":"` + strings.Repeat("x", 4_000_000) + `"}}}`, `got 4000000`},
		"an id that is null":         {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, `id must be a string or a number`},
		"neither request nor answer": {`{"jsonrpc":"2.0","id":4}`, `"id":4,"error":{"code":-32600,"message":"a request needs a method"}`},
		"a number beyond floats": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"n":1e999}}}`,
			`beyond 64-bit floating point`},
		"a long name": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tools","arguments":{"action":"load","` +
			strings.Repeat("p", 100_000) + `":1}}}`, `is unknown`},
		"an id that is not UTF-8": {"{\"jsonrpc\":\"2.0\",\"id\":\"a\xff\",\"method\":\"ping\"}",
			`"id":null,"error":{"code":-32600,"message":"id is not UTF-8"}`},
		"a name that is not UTF-8": {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\xff\"}}",
			`"id":7,"error":{"code":-32600,"message":"the message is not UTF-8"}`},
		"a token that is not UTF-8": {
			"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"_meta\":{\"progressToken\":\"\xff\"}}}",
			`the message is not UTF-8`},
		"a text that is not UTF-8": {
			"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"a\xff\"}}}",
			`\"message\":\"text is not UTF-8 after byte 10\"`},
		"an id as an object": {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `id must be a string or a number`},
	} {
		answers := mcptest.Stdio(t, s, test.line, good)
		if !strings.Contains(answers[0], test.want) {
			t.Errorf("%s: answered %.300s, want %s", why, answers[0], test.want)
		}
		if !strings.Contains(answers[1], "still here") {
			t.Errorf("%s: afterwards a good call is answered %s", why, answers[1])
		}
	}
}

// Open requests are answered after the input has ended.
func TestEndOfInputWaitsForAnswers(t *testing.T) {
	s, _ := newServer(t, lazy.Lazy)
	var lines []string
	for range 50 {
		lines = append(lines, `{"jsonrpc":"2.0","id":`+strings.Repeat("1", len(lines)%9+1)+`,"method":"tools/call","params":{"name":"echo",`+
			`"arguments":{"text":"x"}}}`)
	}
	var out strings.Builder
	if err := s.Stdio(t.Context(), strings.NewReader(strings.Join(lines, "\n")), &out); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), `"content"`); got < 9 {
		t.Errorf("%d of 9 ids were answered", got)
	}
}

// Numbers that do not fit into a float come back digit by digit.
func TestNumbersComeBackAsSent(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, lazy.Lazy)
	h := mcptest.Connect(t, s)
	h.Post(mcptest.Initialize)
	answer, _ := h.Post(`{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"echo",` +
		`"arguments":{"n":9007199254740993}}}`)
	if strings.Count(answer, "9007199254740993") != 2 { // id, text
		t.Errorf("answered %s", answer)
	}
}

func TestHTTPSurroundings(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, lazy.Lazy)
	h := mcptest.Connect(t, s)
	h.Post(mcptest.Initialize)
	session := h.Session
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodDelete, h.URL, nil)
	request.Header.Set("Mcp-Session-Id", session)
	if response, err := http.DefaultClient.Do(request); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("deleting a session: %v %v", response.StatusCode, err)
	}
	if _, status := h.Post(`{"jsonrpc":"2.0","id":2,"method":"ping"}`); status != http.StatusNotFound {
		t.Errorf("a deleted session is answered %d", status)
	}
	h.Session = ""
	if _, status := h.Post(mcptest.Initialize, "Host", "evil.example"); status != http.StatusForbidden {
		t.Errorf("a foreign host is answered %d", status)
	}
	if err := s.HTTP(t.Context(), serveOn("0.0.0.0:0")); err == nil || !strings.Contains(err.Error(), "token") {
		t.Errorf("serving to everybody without a token: %v", err)
	}
}

func serveOn(addr string) serve.HTTP { return serve.HTTP{Addr: addr} }

// A token is required for the tools and the metrics, not for the health check.
func TestBearerToken(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, lazy.Lazy)
	h := mcptest.ConnectTo(t, s.Handler("secret"))
	for _, test := range []struct {
		path, authorization string
		want                int
	}{
		{"/metrics", "", http.StatusUnauthorized},
		{"/metrics", "Bearer wrong", http.StatusUnauthorized},
		{"/metrics", "Bearer", http.StatusUnauthorized},
		{"/metrics", "secret", http.StatusUnauthorized},
		{"/metrics", "Bearer secret", http.StatusOK},
		{"/metrics", "bearer  secret", http.StatusOK},
		{"/metrics", "BEARER secret", http.StatusOK},
		{"/mcp", "", http.StatusUnauthorized},
		{"/healthz", "", http.StatusOK},
	} {
		response := h.Send(http.MethodGet, test.path, "Authorization", test.authorization)
		io.Copy(io.Discard, response.Body) // so that the connection is reused
		response.Body.Close()
		if got := response.StatusCode; got != test.want {
			t.Errorf("%s with %q is answered %d, want %d", test.path, test.authorization, got, test.want)
		}
		// A rejection ends only its request.
		if answer, status := h.Post(mcptest.Initialize, "Authorization", "Bearer secret"); status != http.StatusOK ||
			!strings.Contains(answer, "serverInfo") {
			t.Errorf("after %s with %q a good request is answered %d %q", test.path, test.authorization, status, answer)
		}
	}
}

// Calls are counted by action and error, and legacy names by name.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, lazy.Lazy)
	h := mcptest.Connect(t, s)
	h.Post(mcptest.Initialize)
	for _, call := range []string{`"name":"tool_find","arguments":{"query":"echo"}`, `"name":"nope"`} {
		h.Post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{` + call + `}}`)
	}
	metrics, err := io.ReadAll(h.Send(http.MethodGet, "/metrics").Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`toolfold_calls_total{action="tools.find",code=""} 1`,
		`toolfold_calls_total{action="",code="UNKNOWN_TOOL"} 1`,
		`toolfold_legacy_calls_total{client="t",name="tool_find"} 1`,
	} {
		if !strings.Contains(string(metrics), line) {
			t.Errorf("no %s in the metrics", line)
		}
	}
}
