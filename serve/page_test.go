package serve_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/test/notetest"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/toolfoldtest"
)

// Browsers get a page at the addresses that people would try. Clients and programs get their usual
// answers.
func TestBrowsersGetAPage(t *testing.T) {
	t.Parallel()
	note := toolfoldtest.Mount(t, notetest.Family, &notetest.Service{})
	server, err := serve.New(serve.Options{Name: "<notes>", Version: "1.2.3", Families: []*toolfold.Family{note}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		token, path, accept string
		has, lacks          string
	}{
		{"", "/", "text/html,application/xhtml+xml", "&lt;notes&gt; 1.2.3", "<notes>"},
		{"", "/mcp", "text/html", "<td><code>", "bearer token"},
		{"secret", "/mcp", "text/html", "bearer token", "<td><code>"},
		{"secret", "/", "text/html", `"Authorization": "Bearer …"`, "secret"},
		{"", "/", "*/*", "serves MCP at /mcp", "<html"},
		{"", "/mcp", "text/event-stream, text/html", "", "<html"},
		{"", "/healthz", "text/html", `{"status":"ok"}`, "<html"},
	} {
		web := httptest.NewServer(server.Handler(tt.token))
		defer web.Close()
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+tt.path, nil)
		request.Header.Set("Accept", tt.accept)
		answer, err := web.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if text := string(body); !strings.Contains(text, tt.has) || strings.Contains(text, tt.lacks) {
			t.Errorf("%s as %s with token %q: %d %s", tt.path, tt.accept, tt.token, answer.StatusCode, text)
		}
	}
}
