package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools"
	"github.com/toolfold/toolfold/tools/all"
	"github.com/toolfold/toolfold/tools/config"
	"github.com/toolfold/toolfold/tools/discovery"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// newServer serves discovery and one tool that answers with its arguments.
func newServer(t testing.TB, level lazy.Level, more ...tools.External) (*serve.Server, *surface.Surface) {
	t.Helper()
	return newLimited(t, level, serve.Limits{}, quiet, more...)
}

// newLimited is newServer with limits, a log, and more tools.
func newLimited(t testing.TB, level lazy.Level, limits serve.Limits, log *slog.Logger, more ...tools.External) (*serve.Server, *surface.Surface) {
	t.Helper()
	metrics := serve.NewMetrics()
	s := surface.New(surface.Options{Level: level, ResultLimit: -1, Log: quiet, Middleware: []call.Middleware{metrics.Calls}})
	families := []*tools.Family{discovery.Mount(s.Discovery)}
	for _, x := range append(more, tools.External{
		Name: "echo", Description: "Say it again.", Category: "elsewhere", Effect: tools.Reads,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"n":{}}}`),
		Run:         func(_ context.Context, args json.RawMessage) (json.RawMessage, error) { return args, nil },
	}) {
		family, err := x.Family()
		if err != nil {
			t.Fatal(err)
		}
		families = append(families, family)
	}
	if err := s.Put(families...); err != nil {
		t.Fatal(err)
	}
	return serve.New(serve.Options{Version: "test", Instructions: "Echo.", Surface: s, Metrics: metrics, Log: log, Limits: limits}), s
}

// newWorkbench serves all families on a store in memory.
func newWorkbench(t testing.TB, mode surface.Mode, limits serve.Limits) (*serve.Server, *surface.Surface) {
	t.Helper()
	s := surface.New(surface.Options{Mode: mode, Log: quiet})
	store := storage.Lazy("memory:")
	t.Cleanup(func() { store.Close() })
	families, err := all.Mount(all.Host{
		Open:  func(ctx context.Context) (any, error) { return store.Open(ctx) },
		Files: config.Files{Global: t.TempDir() + "/config.json", Workspace: t.TempDir()}, Caller: s.Runner,
		Discovery: s.Discovery, Log: quiet, Now: time.Now, NewID: uuid.NewString,
	})
	if err == nil {
		err = s.Put(families...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return serve.New(serve.Options{Version: "test", Surface: s, Log: quiet, Limits: limits}), s
}

// The metadata that every request of 2026-07-28 carries.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// talk sends lines over stdio one by one, each once the last one's answer is
// there, and returns the answers.
func talk(t *testing.T, s *serve.Server, lines ...string) []string {
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

// httpTalk does the same over HTTP: every line is a POST.
type httpTalk struct {
	t       *testing.T
	url     string
	session string // Mcp-Session-Id of 2025-11-25
}

func newHTTPTalk(t *testing.T, s *serve.Server) *httpTalk {
	t.Helper()
	return talkTo(t, s.Handler(""))
}

// talkTo talks to what another handler of a server serves.
func talkTo(t *testing.T, handler http.Handler) *httpTalk {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &httpTalk{t: t, url: server.URL + "/mcp"}
}

// send sends a request without a body to a path of the server.
func (h *httpTalk) send(method, path string, headers ...string) *http.Response {
	h.t.Helper()
	request, err := http.NewRequestWithContext(h.t.Context(), method, strings.TrimSuffix(h.url, "/mcp")+path, nil)
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

func (h *httpTalk) post(body string, headers ...string) (answer string, status int) {
	h.t.Helper()
	request, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if h.session != "" {
		request.Header.Set("Mcp-Session-Id", h.session)
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
		h.session = id
	}
	return strings.TrimSpace(string(raw)), response.StatusCode
}

// modern posts a request of 2026-07-28, with the headers that repeat it.
func (h *httpTalk) modern(id, method, params string) (answer string, status int) {
	h.t.Helper()
	return h.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s%s}}`, id, method, params, modernMeta),
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method)
}
