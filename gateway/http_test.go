package gateway_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/upstream"
)

// A server over HTTP, of either era, is called like any other, also after it was restarted and forgot
// its sessions.
func TestHTTP(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]*mcp.StreamableHTTPOptions{"sessions": {}, "stateless": {Stateless: true, JSONResponse: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler := func() http.Handler {
				s := mcp.NewServer(&mcp.Implementation{Name: "srv", Version: "1"}, nil)
				s.AddTool(&mcp.Tool{Name: "echo", Description: "Echo.", InputSchema: json.RawMessage(`{"type":"object"}`)},
					func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
					})
				return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, options)
			}
			var now atomic.Value
			now.Store(handler())
			down := atomic.Bool{}
			at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case down.Load():
					http.Error(w, "down for a while", http.StatusServiceUnavailable)
				case r.Header.Get("X-Key") != "letmein":
					http.Error(w, "who are you", http.StatusUnauthorized)
				default:
					now.Load().(http.Handler).ServeHTTP(w, r)
				}
			}))
			defer at.Close()
			u := gateway.Upstream{Name: "srv", Server: upstream.Server{URL: at.URL, Header: http.Header{"X-Key": {"letmein"}}}}
			wrong := gateway.Upstream{Name: "wrong", Server: upstream.Server{URL: at.URL}}
			s, g := offering(t, t.TempDir(), surface.Options{}, u, wrong)
			defer g.Close() // before the server, which waits for its sessions
			if why := g.Trouble()["wrong"]; !strings.Contains(why, "Unauthorized") {
				t.Errorf("without a key: %q", why)
			}
			call := func() string {
				answer := s.Client.Call(t.Context(), "srv.echo", json.RawMessage(`{"a":[1.50,"b"]}`))
				return string(answer.Content) + string(answer.Reply)
			}
			const want = `{"type":"text","text":"{\"a\":[1.50,\"b\"]}"}`
			if got := call(); !strings.Contains(got, want) {
				t.Errorf("answered with %s", got)
			}
			now.Store(handler())
			if got := call(); !strings.Contains(got, want) {
				t.Errorf("after a new start: %s", got)
			}
			down.Store(true)
			if got := call(); !strings.Contains(got, "UPSTREAM_ERROR") || strings.Contains(got, "letmein") {
				t.Errorf("while it is down: %s", got)
			}
			down.Store(false)
			testwait.Until(t, "it is called again", func() bool { return strings.Contains(call(), want) })
		})
	}
}

// Arguments that a tool requires in headers are sent with the first call after a start, before any list
// is requested. They are also sent with a call after the required headers have changed.
func TestArgumentsInHeaders(t *testing.T) {
	t.Parallel()
	var wants atomic.Pointer[mcp.Server]
	var lists atomic.Int32
	want := func(header string) {
		s := mcp.NewServer(&mcp.Implementation{Name: "srv", Version: "1"}, nil)
		schema := `{"type":"object","properties":{"where":{"type":"string","x-mcp-header":"` + header + `"},"n":{"type":"integer"}}}`
		s.AddTool(&mcp.Tool{Name: "echo", Description: "Echo.", InputSchema: json.RawMessage(schema)},
			func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Extra.Header.Get("Mcp-Param-" + header)}}}, nil
			})
		s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
				if method == "tools/list" {
					lists.Add(1)
				}
				return next(ctx, method, r)
			}
		})
		wants.Store(s)
	}
	want("Region")
	at := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return wants.Load() },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	defer at.Close()
	u := gateway.Upstream{Name: "srv", Server: upstream.Server{URL: at.URL}, Changes: gateway.Accept}
	dir := t.TempDir()
	_, g := offering(t, dir, surface.Options{}, u)
	g.Close()
	s, g := offering(t, dir, surface.Options{}, u)
	defer g.Close()
	call := func() string {
		answer := s.Client.Call(t.Context(), "srv.echo", json.RawMessage(`{"where":"Zürich","n":1}`))
		return string(answer.Content) + string(answer.Reply)
	}
	const arrived = `"text":"=?base64?WsO8cmljaA==?="`
	if got := call(); !strings.Contains(got, arrived) {
		t.Errorf("the first call is answered with %s", got)
	}
	want("Zone")
	before := lists.Load()
	if got := call(); !strings.Contains(got, arrived) {
		t.Errorf("with another header it is answered with %s", got)
	}
	if n := lists.Load() - before; n != 1 {
		t.Errorf("it asked %d times for the list", n)
	}
}
