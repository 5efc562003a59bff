//go:build unix

package served_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
)

// BenchmarkAgainstPlain prints our requests per second relative to a plain mcp-go server, in
// alternating turns of one run. It compares memory.get with an echo (floor 0.7), and our whole list
// in either mode with the same tools declared to mcp-go (floor 15). Handler excludes the network,
// loopback includes it.
func BenchmarkAgainstPlain(b *testing.B) {
	const get = `{"name":"memory","arguments":{"action":"get","key":"team/rules"}}`
	for _, mode := range []surface.Mode{surface.Consolidated, surface.Legacy} {
		server, shown := newWorkbench(b, mode, serve.Limits{})
		var list []mcp.Tool
		for _, l := range shown.Discovery.List(b.Context()) {
			list = append(list, mcp.NewToolWithRawSchema(l.Name, l.Description, l.InputSchema))
		}
		ours := server.Handler("", "example.com")
		for via, open := range map[string]func(*testing.B, http.Handler) *peer{"handler": newPeer, "loopback": newLoopbackPeer} {
			us, plain := open(b, ours), open(b, plainServer(list))
			us.post(b, callOf(`{"name":"memory","arguments":{"action":"store","key":"team/rules","value":{"freeze":"Friday"}}}`))
			if mode == surface.Consolidated {
				b.Run("memory.get/"+via, func(b *testing.B) {
					compare(b, us, plain, callOf(get), callOf(fmt.Sprintf(`{"name":%q,"arguments":{"text":"hello"}}`, list[0].Name)))
				})
			}
			b.Run(fmt.Sprintf("tools_list_of_%d/%s", len(list), via), func(b *testing.B) {
				request := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
				compare(b, us, plain, request, request)
			})
		}
	}
}

func callOf(params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
}

// compare sends requests to both in turns. It prints the rates, their ratio, and the ratio of the
// processor time, which other work on the machine affects less.
func compare(b *testing.B, us, plain *peer, ours, theirs string) {
	const requests = 50 // per turn
	var our, their, ourCPU, theirCPU time.Duration
	turn := func(p *peer, body string, took, cpu *time.Duration) {
		before := processorTime(b)
		for range requests {
			*took += p.post(b, body)
		}
		*cpu += processorTime(b) - before
	}
	for b.Loop() {
		turn(us, ours, &our, &ourCPU)
		turn(plain, theirs, &their, &theirCPU)
	}
	b.ReportMetric(float64(b.N*requests)/our.Seconds(), "ours/s")
	b.ReportMetric(float64(b.N*requests)/their.Seconds(), "plain/s")
	b.ReportMetric(their.Seconds()/our.Seconds(), "ratio")
	b.ReportMetric(theirCPU.Seconds()/ourCPU.Seconds(), "cpu-ratio")
}

// processorTime returns the processor time that this process has used.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// plainServer serves tools that all echo their argument.
func plainServer(list []mcp.Tool) http.Handler {
	s := server.NewMCPServer("plain", "1")
	for _, tool := range list {
		s.AddTool(tool, func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(r.GetString("text", "")), nil
		})
	}
	return server.NewStreamableHTTPServer(s, server.WithStateful(true))
}

// peer is a server with a session of 2025-11-25.
type peer struct {
	send    func(*http.Request) *sink
	url     string
	session string
}

// sink is a response that only keeps enough to detect a failure.
type sink struct {
	header http.Header
	status int
	head   []byte
}

func (s *sink) Header() http.Header    { return s.header }
func (s *sink) WriteHeader(status int) { s.status = status }
func (s *sink) Flush()                 {}
func (s *sink) Write(p []byte) (int, error) {
	s.head = append(s.head, p[:min(len(p), 400-len(s.head))]...)
	return len(p), nil
}

// newPeer calls a handler without a network.
func newPeer(b *testing.B, handler http.Handler) *peer {
	return (&peer{url: "http://example.com/mcp", send: func(r *http.Request) *sink {
		s := &sink{header: http.Header{}, status: http.StatusOK}
		handler.ServeHTTP(s, r)
		return s
	}}).initialize(b)
}

// newLoopbackPeer serves a handler on 127.0.0.1, and keeps one connection to it.
func newLoopbackPeer(b *testing.B, handler http.Handler) *peer {
	server := httptest.NewServer(handler)
	b.Cleanup(server.Close)
	return (&peer{url: server.URL + "/mcp", send: func(r *http.Request) *sink {
		r.RequestURI = ""
		response, err := server.Client().Do(r)
		if err != nil {
			b.Fatal(err)
		}
		defer response.Body.Close()
		s := &sink{header: response.Header, status: response.StatusCode}
		if _, err := io.Copy(s, response.Body); err != nil {
			b.Fatal(err)
		}
		return s
	}}).initialize(b)
}

func (p *peer) initialize(b *testing.B) *peer {
	answer := p.send(p.request(mcptest.Initialize))
	if p.session = answer.header.Get("Mcp-Session-Id"); p.session == "" {
		b.Fatal(string(answer.head))
	}
	return p
}

func (p *peer) request(body string) *http.Request {
	request := httptest.NewRequest(http.MethodPost, p.url, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("Mcp-Session-Id", p.session)
	return request
}

func (p *peer) post(b *testing.B, body string) time.Duration {
	request := p.request(body)
	start := time.Now()
	answer := p.send(request)
	took := time.Since(start)
	if head := string(answer.head); answer.status != http.StatusOK || !strings.Contains(head, `"result"`) ||
		strings.Contains(head, `"isError":true`) {
		b.Fatal(answer.status, head)
	}
	return took
}
