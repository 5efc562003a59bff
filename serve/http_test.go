package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/serve"
)

const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`

// Unknown or ended session ids are rejected in requests, streams and deletions.
func TestUnknownSessions(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, lazy.Lazy)
	h := mcptest.Connect(t, s)
	h.Post(mcptest.Initialize)
	deleted := h.Session
	if got := h.Send(http.MethodDelete, "/mcp", "Mcp-Session-Id", deleted).StatusCode; got != http.StatusOK {
		t.Fatalf("deleting is answered %d", got)
	}
	for _, id := range []string{deleted, "mcp-session-00000000-0000-4000-8000-000000000000", "made up", strings.Repeat("x", 50_000)} {
		h.Session = id
		for range 2 { // the first request must not register the id
			if _, status := h.Post(ping); status != http.StatusNotFound {
				t.Errorf("POST with %.50q is answered %d", id, status)
			}
			for _, method := range []string{http.MethodGet, http.MethodDelete} {
				if got := h.Send(method, "/mcp", "Mcp-Session-Id", id).StatusCode; got != http.StatusNotFound {
					t.Errorf("%s with %.50q is answered %d", method, id, got)
				}
			}
		}
	}
	h.Session = ""
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		if got := h.Send(method, "/mcp").StatusCode; got != http.StatusBadRequest {
			t.Errorf("%s that names no session is answered %d", method, got)
		}
	}
	for _, body := range []string{
		ping, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	} {
		if answer, status := h.Post(body); status != http.StatusBadRequest || !strings.Contains(answer, "Mcp-Session-Id is missing") {
			t.Errorf("%s that names no session is answered %d %s", body, status, answer)
		}
	}
}

// The streams of a session end with it, also if another session replaces it.
func TestStreamsEndWithTheirSession(t *testing.T) {
	t.Parallel()
	s, _ := newLimited(t, lazy.Lazy, serve.Limits{Sessions: 1}, quiet)
	h := mcptest.Connect(t, s)
	for why, end := range map[string]func(id string){
		"deleted": func(id string) { h.Send(http.MethodDelete, "/mcp", "Mcp-Session-Id", id) },
		"pushed out": func(string) {
			h.Session = ""
			h.Post(mcptest.Initialize)
		},
	} {
		h.Session = ""
		h.Post(mcptest.Initialize)
		id := h.Session
		stream := h.Send(http.MethodGet, "/mcp", "Mcp-Session-Id", id)
		if stream.StatusCode != http.StatusOK {
			t.Fatalf("a stream is answered %d", stream.StatusCode)
		}
		end(id)
		if _, err := io.ReadAll(stream.Body); err != nil {
			t.Errorf("%s: the stream ended with %v", why, err)
		}
		h.Session = id
		if _, status := h.Post(ping); status != http.StatusNotFound {
			t.Errorf("%s: the session is answered %d", why, status)
		}
	}
}

// Bodies are limited in size and time.
func TestBodies(t *testing.T) {
	t.Parallel()
	s, _ := newLimited(t, lazy.Lazy, serve.Limits{Body: 10_000}, quiet)
	server := httptest.NewServer(s.Handler(""))
	defer server.Close()
	post := func(body io.Reader) (int, string) {
		response, err := http.Post(server.URL+"/mcp", "application/json", body)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(text)
	}
	large := mcptest.Initialize + strings.Repeat(" ", 10_000)
	for why, body := range map[string]io.Reader{"with a length": strings.NewReader(large),
		"in chunks": io.MultiReader(strings.NewReader(large))} {
		if status, text := post(body); status != http.StatusRequestEntityTooLarge || !strings.Contains(text, "10000 bytes") {
			t.Errorf("a large body %s is answered %d %s", why, status, text)
		}
	}
	if status, text := post(strings.NewReader(mcptest.Initialize + strings.Repeat(" ", 9_000))); status != http.StatusOK {
		t.Errorf("a body below the limit is answered %d %s", status, text)
	}
	s.BodyWithin(200 * time.Millisecond)
	server.Config.Handler = s.Handler("")
	slow, half := io.Pipe()
	go io.WriteString(half, mcptest.Initialize[:20])
	if status, text := post(slow); status != http.StatusRequestTimeout {
		t.Errorf("half a body is answered %d %s", status, text)
	}
}

// A client that does not read its answer loses its connection. Other clients are not affected.
func TestClientsThatDoNotRead(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, lazy.Lazy)
	s.ReadWithin(time.Second)
	server, closed := httptest.NewUnstartedServer(s.Handler("")), make(chan string, 100)
	server.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- c.RemoteAddr().String()
		}
	}
	server.Start()
	defer server.Close()
	h := mcptest.Started(t, server)
	h.Post(mcptest.Initialize)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.(*net.TCPConn).SetReadBuffer(4096)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",` +
		`"_meta":{"toolfold/structured":true},"arguments":{"text":"` +
		strings.Repeat("x", 4_000_000) + `"}}}` // the answer has it twice, more than any socket buffer holds
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nMcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n%s",
		server.Listener.Addr(), h.Session, len(body), body)
	for testwait.Receive(t, "the connection is closed", closed) != conn.LocalAddr().String() {
	}
	if _, status := h.Post(ping); status != http.StatusOK {
		t.Errorf("another client is answered %d", status)
	}
}

// Connections beyond the limit wait until one closes.
func TestConnections(t *testing.T) {
	t.Parallel()
	s, _ := newLimited(t, lazy.Lazy, serve.Limits{Connections: 2}, quiet)
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan net.Addr, 1), make(chan error, 1)
	go func() { ended <- s.HTTP(ctx, serve.HTTP{Addr: "127.0.0.1:0", Ready: func(a net.Addr) { ready <- a }}) }()
	addr := (<-ready).String()
	ask := func() net.Conn {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n", addr)
		return conn
	}
	answered := func(conn net.Conn, within time.Duration) bool {
		conn.SetReadDeadline(time.Now().Add(within))
		n, _ := conn.Read(make([]byte, 100))
		return n > 0
	}
	first, second, third := ask(), ask(), ask()
	defer second.Close()
	defer third.Close()
	if !answered(first, testwait.Limit) || !answered(second, testwait.Limit) {
		t.Error("connections within the limit are not answered")
	}
	if answered(third, 300*time.Millisecond) {
		t.Error("one beyond the limit is answered")
	}
	first.Close()
	if !answered(third, testwait.Limit) {
		t.Error("it is not answered when another closed")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Calls beyond the limit wait for a while and are then rejected with a hint.
func TestCalls(t *testing.T) {
	t.Parallel()
	started, release := make(chan bool), make(chan bool)
	s, _ := newLimited(t, lazy.Lazy, serve.Limits{Calls: 1}, quiet, toolfold.External{
		Name: "hold", Description: "Hold on.", Category: "elsewhere", Effect: toolfold.Reads,
		Run: func(context.Context, json.RawMessage) (json.RawMessage, error) {
			started <- true
			<-release
			return json.RawMessage(`{"held":true}`), nil
		},
	})
	s.TurnWithin(300 * time.Millisecond)
	h := mcptest.Connect(t, s)
	h.Post(mcptest.Initialize)
	hold := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hold"}}`
	echo := `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`
	var held sync.WaitGroup
	held.Go(func() {
		if answer, _ := h.Post(hold); !strings.Contains(answer, `\"held\":true`) {
			t.Errorf("the first call is answered %s", answer)
		}
	})
	<-started
	if answer, _ := h.Post(echo); !strings.Contains(answer, "SERVER_BUSY") || !strings.Contains(answer, "1 calls are running") ||
		!strings.Contains(answer, "call again") {
		t.Errorf("a call beyond the limit is answered %s", answer)
	}
	if answer, _ := h.Post(ping); !strings.Contains(answer, `"result":{}`) {
		t.Errorf("what is no call is answered %s", answer)
	}
	s.TurnWithin(testwait.Limit)
	time.AfterFunc(50*time.Millisecond, func() { close(release) }) // usually while the call waits
	if answer, _ := h.Post(echo); !strings.Contains(answer, `\"text\":\"x\"`) {
		t.Errorf("a call that could wait is answered %s", answer)
	}
	held.Wait()
}

// Messages take time in proportion to their size, whatever they contain. Each of these once took
// hours.
func TestManyMembers(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, lazy.Lazy)
	h := mcptest.Connect(t, s)
	h.Post(mcptest.Initialize)
	var members strings.Builder
	for i := 0; members.Len() < 1_500_000; i++ {
		fmt.Fprintf(&members, `,"m%d":1`, i)
	}
	ctx := testwait.Context(t)
	for why, body := range map[string]string{
		"no method":             `{"jsonrpc":"2.0","id":1` + members.String() + `}`,
		"a long id":             `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"` + members.String() + `}`,
		"many parameters":       `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping","params":{"a":1` + members.String() + `}}`,
		"a lazy list":           `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"lazy":true` + members.String() + `}}`,
		"much to describe":      `{"jsonrpc":"2.0","id":1,"method":"tools/describe","params":{"tool_name":"echo"` + members.String() + `}}`,
		"many members of _meta": `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"lazy":true,"_meta":{"a":1` + members.String() + `}}}`,
	} {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Mcp-Session-Id", h.Session)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatalf("%s: %v", why, err)
		}
		response.Body.Close()
	}
}

// Requests with invalid members are answered in plain words and with their id.
func TestOddRequests(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, lazy.Lazy)
	h := mcptest.Connect(t, s)
	h.Post(mcptest.Initialize)
	for why, test := range map[string]struct{ body, want string }{
		"an empty method":    {`{"jsonrpc":"2.0","id":5,"method":""}`, `"id":5,"error":{"code":-32600`},
		"null as method":     {`{"jsonrpc":"2.0","id":5,"method":null}`, `"id":5,"error":{"code":-32600`},
		"a number as method": {`{"jsonrpc":"2.0","id":5,"method":7}`, `"id":5,"error":{"code":-32600`},
		"a list as params":   {`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":[1]}`, `params must be an object`},
		"a number as name":   {`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":7}}`, `name must not be of type number`},
		"a list as client": {`{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"clientInfo":[]}}`,
			`params.clientInfo must not be of type array`},
		"a made-up cursor":       {`{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"cursor":"%%%"}}`, `ask again without cursor`},
		"a number as cursor":     {`{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"cursor":7}}`, `ask again without cursor`},
		"an id that is too long": {`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 2000) + `","method":"ping"}`, `id is longer`},
		"an escaped id":          {`{"jsonrpc":"2.0","id":"a\u0062<","method":"ping"}`, `"id":"a\u0062<"`},
		"an id with a fraction":  {`{"jsonrpc":"2.0","id":1.0,"method":"ping"}`, `"id":1.0,`},
		"an id beyond floats":    {`{"jsonrpc":"2.0","id":1e400,"method":"ping"}`, `"id":1e400,`},
		"an escaped name":        {`{"jsonrpc":"2.0","\u0069d":8,"method":"ping"}`, `"id":8,`},
		"an escaped method":      {`{"jsonrpc":"2.0","id":8,"method":"pin\u0067"}`, `"id":8,"result":{}`},
		"null as params":         {`{"jsonrpc":"2.0","id":8,"method":"ping","params":null}`, `"id":8,"result":{}`},
		"arguments before name": {`{"jsonrpc":"2.0","params":{"arguments":{"text":"x"},"name":"echo"},"method":"tools/call","id":1.5}`,
			`"text":"{\"text\":\"x\"}"`},
		"arguments named twice": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"n":1},` +
			`"arguments":{"n":2}}}`, `"text":"{\"n\":2}"`},
	} {
		answer, _ := h.Post(test.body)
		if !strings.Contains(answer, test.want) || strings.Contains(answer, "Go ") {
			t.Errorf("%s: answered %.300s, want %s", why, answer, test.want)
		}
	}
}

// Every id gets the same list, and lists follow the catalogue.
func TestListsAreKept(t *testing.T) {
	t.Parallel()
	s, surface := newServer(t, lazy.Full)
	h := mcptest.Connect(t, s)
	h.Post(mcptest.Initialize)
	list := func(id string) string {
		answer, _ := h.Post(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/list","params":{}}`)
		_, rest, ok := strings.Cut(answer, `{"jsonrpc":"2.0","id":`+id+`,`)
		if !ok {
			t.Fatalf("id %s is answered %.100s", id, answer)
		}
		return rest
	}
	first := list("1")
	for _, id := range []string{"1", "2", `"x"`, `"\u0061"`, "1.0"} {
		if got := list(id); got != first {
			t.Errorf("id %s is listed %.200s, not %.200s", id, got, first)
		}
	}
	if err := surface.Remove("echo"); err != nil {
		t.Fatal(err)
	}
	if got := list("1"); strings.Contains(got, `"echo"`) {
		t.Errorf("a tool that is gone is listed: %s", got)
	}
	h.Session = ""
	if answer, status := h.Post(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`); status != http.StatusBadRequest {
		t.Errorf("without a session the list is %d %.100s", status, answer)
	}
	h.Post(mcptest.Initialize)
	if answer, status := h.Post(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, "Content-Type",
		"text/plain"); status != http.StatusBadRequest {
		t.Errorf("as plain text the list is %d %.100s", status, answer)
	}
}

// Requests of clients are not logged above debug level, and session ids never.
func TestLogIsDiscreet(t *testing.T) {
	t.Parallel()
	for level, quietly := range map[slog.Level]bool{slog.LevelDebug: false, slog.LevelInfo: true} {
		var log syncBuffer
		s, _ := newLimited(t, lazy.Lazy, serve.Limits{}, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level})))
		h := mcptest.Connect(t, s)
		h.Post(mcptest.Initialize)
		id := h.Session
		for range 3 {
			if _, status := h.Post(`{"jsonrpc":"2.0","id":77,"result":{"answer":"to nothing"}}`); status < http.StatusBadRequest {
				t.Errorf("an answer to nothing is answered %d", status)
			}
		}
		h.Send(http.MethodDelete, "/mcp", "Mcp-Session-Id", id)
		if text := log.String(); strings.Contains(text, id) || (text == "") != quietly {
			t.Errorf("logged at %s: %s", level, text)
		}
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
