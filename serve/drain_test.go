package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/ask"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/serve"
)

// drainServer is an HTTP server with a tool that waits, and one that asks its user.
type drainServer struct {
	*mcptest.HTTP
	addr    string
	running chan struct{} // receives a value for each running call of wait
	release chan struct{} // closed to end these calls
	asking  chan struct{} // receives a value for each call of ask before it asks
	stop    context.CancelFunc
	ended   chan error
	log     *logBuffer
}

// logBuffer collects a log.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func newDraining(t *testing.T, limit time.Duration) *drainServer {
	t.Helper()
	d := &drainServer{running: make(chan struct{}, 10), release: make(chan struct{}), asking: make(chan struct{}, 10),
		ended: make(chan error, 1), log: &logBuffer{}}
	tool := func(name string, run func(context.Context) error) toolfold.External {
		return toolfold.External{Name: name, Description: "It waits.", Category: "elsewhere", Effect: toolfold.Reads,
			InputSchema: json.RawMessage(`{"type":"object"}`),
			Run: func(ctx context.Context, args json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(`{"done":true}`), run(ctx)
			}}
	}
	server, _ := newLimited(t, lazy.Lazy, serve.Limits{}, slog.New(slog.NewTextHandler(d.log, nil)),
		tool("wait", func(ctx context.Context) error {
			d.running <- struct{}{}
			select {
			case <-d.release:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}),
		tool("ask", func(ctx context.Context) error {
			d.asking <- struct{}{}
			_, err := ask.User(ctx, ask.Form{Name: "q", Text: "Well?", Schema: json.RawMessage(`{"type":"object","properties":{}}`)})
			return err
		}))
	ctx, stop := context.WithCancel(t.Context())
	d.stop = stop
	ready := make(chan net.Addr, 1)
	go func() {
		d.ended <- server.HTTP(ctx, serve.HTTP{Addr: "127.0.0.1:0", Drain: limit, Ready: func(a net.Addr) { ready <- a }})
	}()
	d.addr = (<-ready).String()
	d.HTTP = mcptest.To(t, "http://"+d.addr+"/mcp")
	d.Post(strings.Replace(mcptest.Initialize, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1))
	return d
}

// begin makes a call in a goroutine and returns a channel for its answer.
func (d *drainServer) begin(tool string) <-chan string {
	answer := make(chan string, 1)
	go func() {
		text, _ := d.Post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + tool + `"}}`)
		answer <- text
	}()
	return answer
}

// A server is ready once it is prepared, also after failures, and answers requests meanwhile.
func TestReadyWhenPrepared(t *testing.T) {
	t.Parallel()
	server, _ := newLimited(t, lazy.Lazy, serve.Limits{}, slog.New(slog.DiscardHandler))
	attempts, ready, ended := make(chan error), make(chan net.Addr, 1), make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		ended <- server.HTTP(ctx, serve.HTTP{Addr: "127.0.0.1:0", Drain: -1, Ready: func(a net.Addr) { ready <- a },
			Prepare: func(context.Context) error { return <-attempts }})
	}()
	h := mcptest.To(t, "http://"+(<-ready).String()+"/mcp")
	h.Post(mcptest.Initialize)
	for _, err := range []error{errors.New("no store"), nil} {
		if got := h.Send(http.MethodGet, "/readyz").StatusCode; got != http.StatusServiceUnavailable {
			t.Errorf("/readyz answers %d before the server is prepared", got)
		}
		if text, _ := h.Post(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"early"}}}`); !strings.
			Contains(text, "early") {
			t.Errorf("a call is answered %s", text)
		}
		attempts <- err
	}
	testwait.Until(t, "it is ready", func() bool { return h.Send(http.MethodGet, "/readyz").StatusCode == http.StatusOK })
	stop()
	mcptest.Ends(t, "the server", ended)
}

// A server that stops takes requests until a balancer has learnt that from /readyz.
func TestStopsWhenBalancersKnow(t *testing.T) {
	t.Parallel()
	d := newDraining(t, testwait.Limit)
	probe := func(want int) {
		t.Helper()
		if got := d.Send(http.MethodGet, "/readyz").StatusCode; got != want {
			t.Errorf("/readyz answers %d, want %d", got, want)
		}
	}
	probe(http.StatusOK)
	probe(http.StatusOK)
	d.stop()
	testwait.Until(t, "it stops", func() bool { return strings.Contains(d.log.String(), "the server stops") })
	for range 3 {
		if text, _ := d.Post(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"late"}}}`); !strings.
			Contains(text, "late") {
			t.Errorf("a call is answered %s", text)
		}
		probe(http.StatusServiceUnavailable)
	}
	mcptest.Ends(t, "the server", d.ended)
}

// A stopping server reports it at /readyz. It answers running and new calls, also in sessions, and
// ends streams and questions, which would delay it.
func TestDrain(t *testing.T) {
	t.Parallel()
	d := newDraining(t, testwait.Limit)
	if got := d.Send(http.MethodGet, "/readyz").StatusCode; got != http.StatusOK {
		t.Errorf("/readyz answers %d", got)
	}
	stream := d.Send(http.MethodGet, "/mcp", "Mcp-Session-Id", d.Session, "Accept", "text/event-stream")
	if got := stream.Header.Get("X-Accel-Buffering"); got != "no" {
		t.Errorf("the stream lets proxies hold events back: %q", got)
	}
	waits, asks := d.begin("wait"), d.begin("ask")
	<-d.running
	<-d.asking
	d.stop()
	if _, err := io.ReadAll(stream.Body); err != nil {
		t.Errorf("the stream ended with %v", err)
	}
	if text := <-asks; !strings.Contains(text, "the server stops and waits for no answer") {
		t.Errorf("a call that asks is answered %s", text)
	}
	if got := d.Send(http.MethodGet, "/readyz").StatusCode; got != http.StatusServiceUnavailable {
		t.Errorf("/readyz answers %d while it drains", got)
	}
	if got := d.Send(http.MethodGet, "/healthz").StatusCode; got != http.StatusOK {
		t.Errorf("/healthz answers %d while it drains", got)
	}
	if text, _ := d.Post(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"late"}}}`); !strings.
		Contains(text, "late") {
		t.Errorf("a call while it drains is answered %s", text)
	}
	if text := <-d.begin("ask"); !strings.Contains(text, "the server stops") {
		t.Errorf("a call that asks while it drains is answered %s", text)
	}
	late := d.Send(http.MethodGet, "/mcp", "Mcp-Session-Id", d.Session, "Accept", "text/event-stream")
	if _, err := io.ReadAll(late.Body); err != nil {
		t.Errorf("a stream while it drains ended with %v", err)
	}
	close(d.release)
	if text := <-waits; !strings.Contains(text, "done") {
		t.Errorf("a call that ran is answered %s", text)
	}
	mcptest.Ends(t, "the server", d.ended)
	if _, err := net.Dial("tcp", d.addr); err == nil {
		t.Error("it still listens")
	}
	if text := d.log.String(); strings.Contains(text, "level=WARN") {
		t.Errorf("it logged %s", text)
	}
}

// Calls that are not answered in time are cancelled and logged.
func TestDrainEnds(t *testing.T) {
	t.Parallel()
	d := newDraining(t, 50*time.Millisecond)
	waits := d.begin("wait")
	<-d.running
	d.stop()
	if text := <-waits; !strings.Contains(text, toolfold.Cancelled) {
		t.Errorf("the call is answered %s", text)
	}
	mcptest.Ends(t, "the server", d.ended)
	if text := d.log.String(); !strings.Contains(text, "requests are cancelled") || !strings.Contains(text, `tools/call wait of t`) {
		t.Errorf("it logged %s", text)
	}
}
