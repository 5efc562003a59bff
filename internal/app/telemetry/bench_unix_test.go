//go:build unix

package telemetry_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
)

// BenchmarkEcho prints the rate of calls of an echo with tracing relative to the rate without, in
// alternating turns of one run, storing included. The floor is 0.9.
func BenchmarkEcho(b *testing.B) {
	traced := newBench(b, nil, nil)
	if _, err := traced.store.Open(b.Context()); err != nil {
		b.Fatal(err)
	}
	plain := surface.New(surface.Options{Log: slog.New(slog.DiscardHandler)})
	echo, err := toolfold.External{
		Name: "echo", Description: "Says what it is told.", Category: "tests",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`),
		Run:         func(_ context.Context, args json.RawMessage) (json.RawMessage, error) { return args, nil },
	}.Family()
	if err != nil {
		b.Fatal(err)
	}
	if err := plain.Put(traced.Families()...); err != nil { // the same catalogue
		b.Fatal(err)
	}
	var posts [2]func()
	for i, s := range []*surface.Surface{plain, traced.Surface} {
		if err := s.Put(echo); err != nil {
			b.Fatal(err)
		}
		server, err := serve.New(serve.Options{Surface: s, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.Fatal(err)
		}
		posts[i] = poster(b, server)
	}
	// A noisy neighbour spoils some of the many short rounds, so it reports medians, of wall time
	// and processor time. Storing is part of the traced side.
	const calls = 512 // about the size of a stored batch
	var took, worked [2][]float64
	for round := 0; b.Loop(); round++ {
		for turn := range 2 {
			side := (round + turn) % 2
			start, before := time.Now(), processorTime(b)
			for range calls {
				posts[side]()
			}
			if side == 1 {
				if err := traced.tracing.Flush(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			took[side] = append(took[side], time.Since(start).Seconds()/calls)
			worked[side] = append(worked[side], (processorTime(b)-before).Seconds()/calls)
		}
	}
	if n := traced.tracing.Dropped(); n > 0 {
		b.Errorf("%d spans were dropped", n)
	}
	median := func(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }
	b.ReportMetric(1/median(took[0]), "plain/s")
	b.ReportMetric(1/median(took[1]), "traced/s")
	b.ReportMetric(median(took[0])/median(took[1]), "ratio")
	b.ReportMetric(slices.Min(took[0])/slices.Min(took[1]), "best-ratio")
	b.ReportMetric(1e6*median(worked[0]), "plain-cpu-us")
	b.ReportMetric(1e6*median(worked[1]), "traced-cpu-us")
	b.ReportMetric(median(worked[0])/median(worked[1]), "cpu-ratio")
}

// processorTime returns the processor time of this process.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// poster calls the echo over loopback.
func poster(b *testing.B, s *serve.Server) func() {
	server := httptest.NewServer(s.Handler(""))
	b.Cleanup(server.Close)
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`
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
