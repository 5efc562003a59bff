package telemetry_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools"
)

// BenchmarkEcho prints what tracing costs a tools/call of an echo: the rate with
// it over the rate without, in turns in one run, storing included. The floor
// is 0.9.
func BenchmarkEcho(b *testing.B) {
	traced := newBench(b, nil, nil)
	if _, err := traced.store.Open(b.Context()); err != nil {
		b.Fatal(err)
	}
	plain := surface.New(surface.Options{Log: slog.New(slog.DiscardHandler)})
	echo, err := tools.External{
		Name: "echo", Description: "Says what it is told.", Category: "tests", InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`),
		Run: func(_ context.Context, args json.RawMessage) (json.RawMessage, error) { return args, nil },
	}.Family()
	if err != nil {
		b.Fatal(err)
	}
	if err := plain.Put(traced.Families()...); err != nil { // the same catalogue
		b.Fatal(err)
	}
	var took [2]time.Duration
	var posts [2]func()
	for i, s := range []*surface.Surface{plain, traced.Surface} {
		if err := s.Put(echo); err != nil {
			b.Fatal(err)
		}
		posts[i] = poster(b, serve.New(serve.Options{Surface: s, Log: slog.New(slog.DiscardHandler)}))
	}
	const calls = 200 // a turn
	for b.Loop() {
		for i, post := range posts {
			start := time.Now()
			for range calls {
				post()
			}
			took[i] += time.Since(start)
		}
	}
	if n := traced.tracing.Dropped(); n > 0 {
		b.Errorf("%d spans were dropped", n)
	}
	b.ReportMetric(float64(b.N*calls)/took[0].Seconds(), "plain/s")
	b.ReportMetric(float64(b.N*calls)/took[1].Seconds(), "traced/s")
	b.ReportMetric(took[0].Seconds()/took[1].Seconds(), "ratio")
}

// poster calls the echo over loopback.
func poster(b *testing.B, s *serve.Server) func() {
	server := httptest.NewServer(s.Handler(""))
	b.Cleanup(server.Close)
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	return func() {
		request := httptest.NewRequest("POST", server.URL+"/mcp", strings.NewReader(body))
		request.RequestURI = ""
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28",
			"Mcp-Method": "tools/call", "Mcp-Name": "echo",
		} {
			request.Header.Set(name, value)
		}
		response, err := server.Client().Do(request)
		if err != nil {
			b.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || !strings.Contains(string(text), "hello") {
			b.Fatalf("%s %v", text, err)
		}
	}
}
