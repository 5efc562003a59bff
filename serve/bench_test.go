package serve_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold/lazy"
)

// BenchmarkAgainstPlain prints how many requests a second we answer for each
// that a plain mcp-go server with one echo tool answers, in turns in one run.
func BenchmarkAgainstPlain(b *testing.B) {
	ours, _ := newServer(b, lazy.Full)
	us, plain := newPeer(b, ours.Handler("")), newPeer(b, plainServer())
	for method, params := range map[string]string{
		"tools/call": `{"name":"echo","arguments":{"text":"hello"}}`,
		"tools/list": `{}`,
	} {
		b.Run(method, func(b *testing.B) {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
			var our, their time.Duration
			for b.Loop() {
				our += us.post(b, body)
				their += plain.post(b, body)
			}
			b.ReportMetric(float64(b.N)/our.Seconds(), "ours/s")
			b.ReportMetric(float64(b.N)/their.Seconds(), "plain/s")
			b.ReportMetric(their.Seconds()/our.Seconds(), "ratio")
		})
	}
}

func plainServer() http.Handler {
	s := server.NewMCPServer("plain", "1")
	s.AddTool(mcp.NewTool("echo", mcp.WithString("text")), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(r.GetString("text", "")), nil
	})
	return server.NewStreamableHTTPServer(s, server.WithStateful(true))
}

// peer is a handler with a session of 2025-11-25.
type peer struct {
	handler http.Handler
	session string
}

func newPeer(b *testing.B, handler http.Handler) *peer {
	p := &peer{handler: handler}
	response := p.answer(initialize)
	if p.session = response.Header().Get("Mcp-Session-Id"); p.session == "" {
		b.Fatal(response.Body.String())
	}
	return p
}

func (p *peer) answer(body string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("Mcp-Session-Id", p.session)
	response := httptest.NewRecorder()
	p.handler.ServeHTTP(response, request)
	return response
}

func (p *peer) post(b *testing.B, body string) time.Duration {
	start := time.Now()
	response := p.answer(body)
	took := time.Since(start)
	if !strings.Contains(response.Body.String(), `"result"`) {
		b.Fatal(response.Body.String())
	}
	return took
}
