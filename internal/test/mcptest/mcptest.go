// Package mcptest is a client for tests of servers: line by line over stdio or by POST over HTTP,
// in both eras of the protocol.
package mcptest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/test/testwait"
)

// Server is the server under test: a *serve.Server.
type Server interface {
	Stdio(ctx context.Context, in io.Reader, out io.Writer) error
	Handler(token string, hosts ...string) http.Handler
}

// ModernMeta is the metadata of every request of 2026-07-28.
const ModernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// Initialize is the first request of a client of 2025-11-25.
const Initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// Stdio sends lines over stdio one by one, each after the answer to the previous one, and returns
// the answers.
func Stdio(t *testing.T, s Server, lines ...string) []string {
	t.Helper()
	in, write := io.Pipe()
	read, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := s.Stdio(t.Context(), in, out)
		out.Close()
		done <- err
	}()
	scanner := bufio.NewScanner(read)
	scanner.Buffer(nil, 64<<20)
	var answers []string
	for _, line := range lines {
		if _, err := io.WriteString(write, line+"\n"); err != nil {
			t.Fatal(err)
		}
		if !scanner.Scan() {
			t.Fatalf("no answer to %.200s: %v", line, scanner.Err())
		}
		answers = append(answers, scanner.Text())
	}
	write.Close()
	if scanner.Scan() {
		t.Errorf("more than was asked for: %s", scanner.Text())
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return answers
}

// HTTP is a client over HTTP, where every line is a POST.
type HTTP struct {
	t       testing.TB
	URL     string
	Session string // Mcp-Session-Id of 2025-11-25
}

// Connect serves s over HTTP without a token, and returns a client of it.
func Connect(t *testing.T, s Server) *HTTP {
	t.Helper()
	return ConnectTo(t, s.Handler(""))
}

// ConnectTo serves a handler over HTTP and returns a client of it.
func ConnectTo(t *testing.T, handler http.Handler) *HTTP {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return Started(t, server)
}

// Started returns a client of a running server.
func Started(t *testing.T, server *httptest.Server) *HTTP {
	return To(t, server.URL+"/mcp")
}

// To returns a client of the server at a URL.
func To(t testing.TB, url string) *HTTP { return &HTTP{t: t, URL: url} }

// Send sends a request without a body to a path of the server.
func (h *HTTP) Send(method, path string, headers ...string) *http.Response {
	h.t.Helper()
	request, err := http.NewRequestWithContext(h.t.Context(), method, strings.TrimSuffix(h.URL, "/mcp")+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	request.Host = request.Header.Get("Host")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { response.Body.Close() })
	return response
}

// Post sends a message with extra headers, as alternating names and values, and joins the session
// that an answer starts.
func (h *HTTP) Post(body string, headers ...string) (answer string, status int) {
	h.t.Helper()
	request, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.URL, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if h.Session != "" {
		request.Header.Set("Mcp-Session-Id", h.Session)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		h.t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	if id := response.Header.Get("Mcp-Session-Id"); id != "" {
		h.Session = id
	}
	return strings.TrimSpace(string(raw)), response.StatusCode
}

// Modern posts a request of 2026-07-28, with the headers that repeat it.
func (h *HTTP) Modern(id, method, params string) (answer string, status int) {
	h.t.Helper()
	return h.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s%s}}`, id, method, params, ModernMeta),
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method)
}

// Ends waits for the end of a server, and fails the test if it ends with an error.
func Ends(t *testing.T, what string, done <-chan error) {
	t.Helper()
	if err := testwait.Receive(t, what+": the server ends", done); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}
