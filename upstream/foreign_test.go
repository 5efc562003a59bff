package upstream_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolfold/toolfold/upstream"
)

// message is a message to a server that does not follow the protocol.
type message struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name   string
		Cursor string
	}
}

// ordinary returns the reply of a server of 2025-11-25; empty for a notification.
func ordinary(m message) string {
	switch m.Method {
	case "initialize":
		return reply(m.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}`)
	case "tools/list":
		return reply(m.ID, `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)
	case "tools/call":
		return reply(m.ID, `{"content":[{"type":"text","text":"well"}]}`)
	}
	if m.ID == nil {
		return ""
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
}

func reply(id json.RawMessage, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// odd maps odd programs to their special answers, by method; the empty method means all notifications.
// Otherwise they are servers of 2025-11-25. An answer is written unchanged, except that RPC is replaced
// by the members jsonrpc and id of its request, and ID by the id alone.
var odd = map[string]map[string]string{
	"replies to notifications": {"": `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}` + "\n" +
		`{"jsonrpc":"2.0","result":{}}` + "\n" + `{"jsonrpc":"2.0","id":null,"result":{}}` + "\n"},
	"indented":         {"tools/call": "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": ID,\n  \"result\": {\n    \"content\": []\n  }\n}\n"},
	"two on a line":    {"tools/call": `{"jsonrpc":"2.0","method":"notifications/message"}{RPC,"result":{"content":[]}}` + "\n"},
	"glued":            {"tools/call": `Working... {RPC,"result":{"content":[]}}` + "\n"},
	"id as text":       {"tools/call": `{"jsonrpc":"2.0","id":"ID","result":{"content":[]}}` + "\n"},
	"id with fraction": {"tools/call": `{RPC.0,"result":{"content":[]}}` + "\n"},
	"list":             {"tools/call": `[{RPC,"result":{"content":[]}}]` + "\n"},
	"older version":    {"tools/call": `{"jsonrpc":"1.0","id":ID,"result":{"content":[]},"error":null}` + "\n"},
	"stray replies": {"tools/call": `{"jsonrpc":"2.0","id":999,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":1.5,"result":{}}` + "\n" +
		`{"jsonrpc":"2.0","id":{"a":1},"error":{}}` + "\n" + `{"jsonrpc":"2.0","id":1e30,"result":NaN}` + "\n{\n" +
		`{RPC,"result":{"content":[]}}` + "\n"},

	"NaN":             {"tools/call": `{RPC,"result":{"content":[],"structuredContent":{"v":NaN}}}` + "\n"},
	"error as text":   {"tools/call": `{RPC,"error":"it burns"}` + "\n"},
	"code of ours":    {"tools/call": `{RPC,"error":{"code":-32096,"message":"it burns"}}` + "\n"},
	"code as text":    {"tools/call": `{RPC,"error":{"code":"ECONN","message":"it burns"}}` + "\n"},
	"no result":       {"tools/call": `{RPC}` + "\n"},
	"list for result": {"tools/call": `{RPC,"result":[1]}` + "\n"},
	"broken off":      {"tools/call": `{RPC,"result":{"content":[` + "\n" + `{"jsonrpc":"2.0","method":"notifications/message"}` + "\n"},
	"deep":            {"tools/call": `{RPC,"result":` + strings.Repeat(`{"a":`, 11_000) + "1" + strings.Repeat("}", 11_001) + "\n"},
	"large":           {"tools/call": `{"result":{"content":"` + strings.Repeat("x", 200_000) + `"},RPC}` + "\n"},

	"odd greeting": {"initialize": `{RPC,"result":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{"tools":true,"prompts":5,"x":[]},"serverInfo":"mine","instructions":7}}` + "\n"},
	"oldest version": {"initialize": `{RPC,"result":{"protocolVersion":"2024-10-07","capabilities":{"tools":{}},` +
		`"serverInfo":{"name":1,"version":1}}}` + "\n"},
	"odd tools": {"tools/list": `{RPC,"result":{"tools":[null,{"name":5},{"description":"x"},` +
		`{"name":"shy","annotations":{"readOnlyHint":"true"}},{"name":"echo","inputSchema":{"type":"object"}}],` +
		`"nextCursor":null,"ttlMs":"x"}}` + "\n"},
	"exits at the probe":   {"server/discover": "exit"}, // like servers whose first message must be initialize
	"silent at the probe":  {"server/discover": "\n"},
	"deaf after the probe": {"server/discover": "hang"},
}

// playOdd runs one of the odd programs on standard input and output.
func playOdd(name string, starts string) {
	if f, err := os.OpenFile(starts, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		fmt.Fprintln(f, "started")
		f.Close()
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m message
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.Method == "" {
			continue
		}
		method := m.Method
		if m.ID == nil {
			method = ""
		}
		switch answer := odd[name][method]; answer {
		case "":
			if text := ordinary(m); text != "" {
				fmt.Println(text)
			}
		case "exit":
			os.Exit(4)
		case "hang":
			time.Sleep(time.Hour)
		default:
			answer = strings.ReplaceAll(answer, "RPC", `"jsonrpc":"2.0","id":ID`)
			fmt.Print(strings.ReplaceAll(answer, "ID", string(m.ID)))
		}
	}
}

func oddServer(t *testing.T, name string) (s upstream.Server, starts func() int) {
	file := filepath.Join(t.TempDir(), "starts")
	s = play("odd", name, file)
	s.MessageLimit = 100_000
	return s, func() int {
		text, _ := os.ReadFile(file)
		return strings.Count(string(text), "started")
	}
}

// A readable reply is the answer of its call, in any form. An unreadable one is the error of its call.
// Other text has no effect, and the session goes on.
func TestOddReplies(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"replies to notifications": "", "indented": "", "two on a line": "", "glued": "", "id as text": "", "id with fraction": "", "list": "",
		"older version": "", "stray replies": "", "odd greeting": "", "oldest version": "",
		"NaN":             `its answer is not valid JSON: "NaN}}}" at byte`,
		"error as text":   "it burns",
		"code of ours":    "it burns",
		"code as text":    "it burns (ECONN)",
		"no result":       "its answer has no result",
		"list for result": "the result of its answer is no object",
		"broken off":      "its answer is not valid JSON: it broke off",
		"deep":            "its answer is not valid JSON",
		"large":           "it sent a message of 0.2 MB, and the limit is 0.1 MB: ask for less, or raise messageLimit in its settings",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, starts := oddServer(t, name)
			session, err := upstream.Connect(t.Context(), s, upstream.Client{Name: "test", Version: "1"})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			for range 2 {
				result, err := session.Call(t.Context(), upstream.Call{Tool: "echo", Arguments: json.RawMessage(`{}`)})
				switch {
				case want == "" && (err != nil || !strings.HasPrefix(string(result), `{"content":[`)):
					t.Errorf("%s, %v", result, err)
				case want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)):
					t.Errorf("%s, %v, want %s", result, err, want)
				}
				if answer, err := session.List(t.Context()); err != nil || len(answer.Tools) != 1 {
					t.Fatalf("the session is over: %v, %v", answer, err)
				}
			}
			if n := starts(); n != 1 {
				t.Errorf("it was started %d times", n)
			}
		})
	}
}

// A list entry that is not a tool is left out and named.
func TestOddTools(t *testing.T) {
	t.Parallel()
	s, _ := oddServer(t, "odd tools")
	answer, err := upstream.List(t.Context(), s, "1")
	if err != nil || len(answer.Tools) != 1 || !strings.Contains(string(answer.Tools[0]), `"echo"`) {
		t.Fatalf("%s, %v", answer.Tools, err)
	}
	want := []string{
		"tool 1 is left out: it is not an object",
		"tool 2 is left out: its name is a number and not a text", "tool 3 is left out: it has no name",
		"tool shy is left out: its readOnlyHint is a text and not a boolean",
	}
	if strings.Join(answer.LeftOut, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", answer.LeftOut)
	}
}

// A server without server/discover is sent initialize, by the same process if that accepts it. A known
// era saves the probe.
func TestEra(t *testing.T) {
	t.Parallel()
	for name, processes := range map[string]int{"exits at the probe": 2, "silent at the probe": 1, "deaf after the probe": 2, "NaN": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, starts := oddServer(t, name)
			s.ProbeTimeout = time.Millisecond
			if name == "deaf after the probe" {
				s.StartTimeout = time.Second // the test must wait for it
			}
			answer, err := upstream.List(t.Context(), s, "1")
			before := 0
			for s.StartTimeout > 0 && s.StartTimeout < time.Minute && (err != nil || starts()-before < processes) {
				s.StartTimeout *= 2 // this machine starts programs more slowly
				before = starts()
				answer, err = upstream.List(t.Context(), s, "1")
			}
			if err != nil || len(answer.Tools) != 1 || !answer.Legacy {
				t.Fatalf("%v, %v", answer, err)
			}
			if n := starts() - before; n != processes {
				t.Errorf("it was started %d times, want %d", n, processes)
			}
			s.Legacy, s.StartTimeout, before = true, 0, starts()
			if answer, err = upstream.List(t.Context(), s, "1"); err != nil || !answer.Legacy || starts() != before+1 {
				t.Errorf("%v, %v, started %d times", answer, err, starts()-before)
			}
		})
	}
}

// A server that is known to be of the older era but was upgraded is asked in the newer era.
func TestEraThatChanged(t *testing.T) {
	t.Parallel()
	s := play("newer")
	s.Legacy = true
	answer, err := upstream.List(t.Context(), s, "1")
	if err != nil || len(answer.Tools) != 1 || answer.Legacy {
		t.Errorf("%v, %v", answer, err)
	}
}

// playNewer is a server that supports only 2026-07-28.
func playNewer() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m message
		switch _ = json.Unmarshal(lines.Bytes(), &m); m.Method {
		case "server/discover":
			fmt.Println(reply(m.ID, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},`+
				`"_meta":{"io.modelcontextprotocol/serverInfo":"n"}}`))
		case "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"unsupported"}}`+"\n", m.ID)
		default:
			fmt.Println(ordinary(m))
		}
	}
}

// Watch returns once the server has agreed to notifications about a resource, or with the reason of its
// refusal. A refused resource can be requested again.
func TestWatch(t *testing.T) {
	t.Parallel()
	record := filepath.Join(t.TempDir(), "said")
	session, err := upstream.Connect(t.Context(), play("watched", record), upstream.Client{Name: "t"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if err := session.Watch(t.Context(), "x:slow", true); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(record); string(text) != "agreed" {
		t.Errorf("Watch does not wait for the server: %q, %v", text, err)
	}
	for range 2 {
		if err := session.Watch(t.Context(), "x:none", true); err == nil || !strings.Contains(err.Error(), "no such resource") {
			t.Errorf("a refused resource: %v", err)
		}
	}
}

// playWatched is a server of 2026-07-28 that agrees to subscriptions to all resources except x:none. It
// records its agreement in a file.
func playWatched(record string) {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m message
		_ = json.Unmarshal(lines.Bytes(), &m)
		switch {
		case m.Method == "server/discover":
			fmt.Println(reply(m.ID, `{"supportedVersions":["2026-07-28"],"capabilities":{"resources":{"subscribe":true}}}`))
		case m.Method == "subscriptions/listen" && strings.Contains(lines.Text(), "x:none"):
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such resource"}}`+"\n", m.ID)
		case m.Method == "subscriptions/listen":
			time.Sleep(50 * time.Millisecond) // a caller that does not wait would have returned
			_ = os.WriteFile(record, []byte("agreed"), 0o600)
			fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":`+
				`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{}}}`+"\n", m.ID)
		default:
			if text := ordinary(m); text != "" {
				fmt.Println(text)
			}
		}
	}
}

// An unanswered HTTP probe is followed by initialize, and its result is not remembered.
func TestSilentProbe(t *testing.T) {
	t.Parallel()
	at := web(t, func(w http.ResponseWriter, r *http.Request, m message) {
		if m.Method == "server/discover" {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, ordinary(m))
	})
	answer, err := upstream.List(t.Context(), upstream.Server{URL: at, ProbeTimeout: time.Millisecond}, "1")
	if err != nil || len(answer.Tools) != 1 || answer.Legacy {
		t.Errorf("%v, %v", answer, err)
	}
}

// A list that does not arrive in time is left out and reported. The tools are listed.
func TestSilentList(t *testing.T) {
	t.Parallel()
	at := web(t, func(w http.ResponseWriter, r *http.Request, m message) {
		switch m.Method {
		case "initialize":
			_, _ = io.WriteString(w, strings.Replace(ordinary(m), `"tools":{}`, `"tools":{},"prompts":{}`, 1))
		case "prompts/list":
			<-r.Context().Done()
		default:
			_, _ = io.WriteString(w, ordinary(m))
		}
	})
	answer, err := upstream.List(t.Context(), upstream.Server{URL: at, OfferTimeout: time.Millisecond}, "1")
	if err != nil || len(answer.Tools) != 1 || len(answer.Problems) != 1 || !strings.HasPrefix(answer.Problems[0], "prompts/list: ") {
		t.Errorf("%v, %v", answer, err)
	}
}

// web serves requests over HTTP as JSON, unless answer sets another type. It returns the URL.
func web(t *testing.T, answer func(http.ResponseWriter, *http.Request, message)) string {
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m message
		_ = json.NewDecoder(r.Body).Decode(&m) // the body is read to its end, so that the server notices when its client leaves
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answer(w, r, m)
	}))
	t.Cleanup(at.Close)
	return at.URL
}

// Messages outside of answers come from a separate stream, which is reopened when it ends. A server
// without such a stream is not asked twice.
func TestStreamOfTheSession(t *testing.T) {
	t.Parallel()
	last := make(chan string, 10)
	saw := func(r *http.Request, text string) {
		select {
		case last <- text:
		case <-r.Context().Done():
		}
	}
	lost := make(chan struct{})
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		var m message
		_ = json.Unmarshal(text, &m)
		switch {
		case r.Method == http.MethodGet && r.URL.Path == "/none":
			w.Header().Set("Retry-After", "3600") // for this stream, not for calls
			w.WriteHeader(http.StatusServiceUnavailable)
			close(lost)
		case r.Method == http.MethodGet:
			saw(r, r.Header.Get("Last-Event-ID")+" "+r.Header.Get("Mcp-Session-Id")+" "+r.Header.Get("Mcp-Protocol-Version"))
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "retry: 1\nid: e7\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"+
				"data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"roots/list\"}\n\n")
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "s1")
			fallthrough
		case m.ID != nil && m.Method != "":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, ordinary(m))
		default:
			if m.Method == "" {
				saw(r, string(text))
			}
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(at.Close)
	changed := make(chan bool, 100)
	client := upstream.Client{
		Name: "t", Changed: func() { changed <- true }, Asks: []string{upstream.Roots},
		Ask: func(context.Context, upstream.Question) (json.RawMessage, error) {
			return json.RawMessage(`{"roots":[]}`), nil
		},
	}
	session, err := upstream.Connect(t.Context(), upstream.Server{URL: at.URL, Legacy: true}, client)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	seen := map[string]bool{}
	for range 2 {
		<-changed
		seen[<-last], seen[<-last] = true, true
	}
	for _, want := range []string{" s1 2025-11-25", "e7 s1 2025-11-25", `{"jsonrpc":"2.0","id":"q","result":{"roots":[]}}`} {
		if !seen[want] {
			t.Errorf("the server saw %q, not %q", slices.Collect(maps.Keys(seen)), want)
		}
	}
	without, err := upstream.Connect(t.Context(), upstream.Server{URL: at.URL + "/none", Legacy: true}, client)
	if err != nil {
		t.Fatal(err)
	}
	defer without.Close()
	<-lost // would be closed twice if it were asked again
	if _, err := without.Call(t.Context(), upstream.Call{Tool: "echo"}); err != nil {
		t.Error(err)
	}
}

func indent(text string) string {
	var v any
	_ = json.Unmarshal([]byte(text), &v)
	out, _ := json.MarshalIndent(v, "", "  ")
	return string(out)
}

// Messages over HTTP are read in every form.
func TestOddBodies(t *testing.T) {
	t.Parallel()
	event := func(lines string) func(http.ResponseWriter, message) {
		return func(w http.ResponseWriter, m message) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, strings.ReplaceAll(lines, "MESSAGE", ordinary(m)))
		}
	}
	for name, write := range map[string]func(http.ResponseWriter, message){
		"indented":        func(w http.ResponseWriter, m message) { _, _ = io.WriteString(w, indent(ordinary(m))) },
		"byte order mark": func(w http.ResponseWriter, m message) { _, _ = io.WriteString(w, "\ufeff"+ordinary(m)) },
		"list":            func(w http.ResponseWriter, m message) { _, _ = io.WriteString(w, "["+ordinary(m)+"]") },
		"text type": func(w http.ResponseWriter, m message) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, "\n"+ordinary(m))
		},
		"event over lines": func(w http.ResponseWriter, m message) {
			event("event: message\ndata: "+strings.ReplaceAll(indent(ordinary(m)), "\n", "\ndata: ")+"\n\n")(w, m)
		},
		"event with CR":     event(": hi\r\n\r\nevent:message\r\ndata:MESSAGE\r\n\r\n"),
		"other events":      event("event: ping\ndata: {}\n\ndata: \n\nid\n:\n\ndata: no message\n\ndata: MESSAGE\n\n"),
		"event with mark":   event("\ufeffdata: MESSAGE\n\n"),
		"event without end": event("data: MESSAGE"),
		"list in an event":  event("data: [MESSAGE]\n\n"),
		"session that moves along": func(w http.ResponseWriter, m message) {
			w.Header().Set("Mcp-Session-Id", "s"+string(m.ID))
			_, _ = io.WriteString(w, ordinary(m))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := web(t, func(w http.ResponseWriter, _ *http.Request, m message) { write(w, m) })
			session, err := upstream.Connect(t.Context(), upstream.Server{URL: at}, upstream.Client{Name: "test", Version: "1"})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			for range 2 {
				result, err := session.Call(t.Context(), upstream.Call{Tool: "echo", Arguments: json.RawMessage(`{}`)})
				if err != nil || !strings.Contains(string(result), `"text":"well"`) || strings.Contains(string(result), "\n") {
					t.Fatalf("%s, %v", result, err)
				}
			}
		})
	}
}

// A stream that ends without an answer is resumed if the server gives its events ids.
func TestResumedStream(t *testing.T) {
	t.Parallel()
	var answer atomic.Value
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if r.Method == http.MethodGet {
			if r.Header.Get("Last-Event-ID") != "7" {
				t.Errorf("the last event is %q", r.Header.Get("Last-Event-ID"))
			}
			fmt.Fprintf(w, "id: 8\ndata: %s\n\n", answer.Load())
			return
		}
		var m message
		_ = json.NewDecoder(r.Body).Decode(&m)
		switch {
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case m.Method == "tools/call":
			answer.Store(ordinary(m))
			fmt.Fprint(w, "id: 7\nretry: 1\ndata:\n\n")
		default:
			fmt.Fprintf(w, "data: %s\n\n", ordinary(m))
		}
	}))
	defer at.Close()
	session, err := upstream.Connect(t.Context(), upstream.Server{URL: at.URL}, upstream.Client{Name: "test", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	result, err := session.Call(t.Context(), upstream.Call{Tool: "echo", Arguments: json.RawMessage(`{}`)})
	if err != nil || !strings.Contains(string(result), "well") {
		t.Errorf("%s, %v", result, err)
	}
}

// A server that refuses an unknown session has not run the call, so the call can be repeated. An answer
// of a tool is not such a refusal.
func TestLostSession(t *testing.T) {
	t.Parallel()
	failing := func(code int, why string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":ID,"error":{"code":%d,"message":%q}}`, code, why)
	}
	refusing := func(status int, body string) func(http.ResponseWriter, message) {
		return func(w http.ResponseWriter, m message) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, strings.ReplaceAll(body, "ID", string(m.ID)))
		}
	}
	for name, test := range map[string]struct {
		refuse func(http.ResponseWriter, message)
		gone   bool
	}{
		"404":         {refusing(404, "no"), true},
		"410":         {refusing(410, ""), true},
		"400":         {refusing(400, strings.Replace(failing(-32000, "Bad Request: No valid session ID provided"), "ID", "null", 1)), true},
		"not started": {refusing(400, failing(-32000, "Bad Request: Server not initialized")), true},
		"transport":   {refusing(400, `No transport found for sessionId`), true},
		"503":         {refusing(503, `{"error":"session expired"}`), true},
		"200":         {refusing(200, failing(-32001, "Session not found")), true},
		"event": {func(w http.ResponseWriter, _ message) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"error\":\"Session not found\"}\n\n")
		}, true},
		"other 400":       {refusing(400, failing(-32602, "bad argument")), false},
		"other 503":       {refusing(503, "busy"), false},
		"500":             {refusing(500, "session not found"), false},
		"error of a tool": {refusing(200, failing(-32602, "unknown session: give the id of a browser")), false},
		"result":          {refusing(200, `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"no session"}]}}`), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := web(t, func(w http.ResponseWriter, _ *http.Request, m message) {
				if m.Method == "initialize" {
					w.Header().Set("Mcp-Session-Id", "one")
				}
				if m.Method == "tools/call" {
					test.refuse(w, m)
					return
				}
				_, _ = io.WriteString(w, ordinary(m))
			})
			session, err := upstream.Connect(t.Context(), upstream.Server{URL: at}, upstream.Client{Name: "test", Version: "1"})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			_, err = session.Call(t.Context(), upstream.Call{Tool: "echo", Arguments: json.RawMessage(`{}`)})
			if errors.Is(err, upstream.ErrGone) != test.gone {
				t.Errorf("%v", err)
			}
		})
	}
}

// If a server asks for a pause, it is asked again after it. A pause longer than the call may take is
// reported.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	at := web(t, func(w http.ResponseWriter, _ *http.Request, m message) {
		if m.Method == "tools/call" && calls.Add(1) != 2 {
			w.Header().Set("Retry-After", map[bool]string{true: "0", false: "3000"}[calls.Load() == 1])
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(w, ordinary(m))
	})
	session, err := upstream.Connect(t.Context(), upstream.Server{URL: at}, upstream.Client{Name: "test", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	call := func() (json.RawMessage, error) {
		return session.Call(t.Context(), upstream.Call{Tool: "echo", Arguments: json.RawMessage(`{}`)})
	}
	if result, err := call(); err != nil {
		t.Errorf("%s, %v", result, err)
	}
	want := "it answered 429 Too Many Requests: it asks for a pause of 50m0s (Retry-After), call it again then"
	if _, err := call(); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	if _, err := call(); err == nil || !strings.HasPrefix(err.Error(), "it asked for a pause, which ends in ") || calls.Load() != 3 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
}

// A pause longer than the caller's patience is reported at once.
func TestRetryAfterPatience(t *testing.T) {
	t.Parallel()
	at := web(t, func(w http.ResponseWriter, _ *http.Request, m message) {
		if m.Method == "tools/call" {
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, ordinary(m))
	})
	session, err := upstream.Connect(t.Context(), upstream.Server{URL: at}, upstream.Client{Name: "test", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	began := time.Now()
	_, err = session.Call(t.Context(), upstream.Call{Tool: "echo", Arguments: json.RawMessage(`{}`), Patience: 20 * time.Second})
	if err == nil || !strings.Contains(err.Error(), "it asks for a pause of 30s") || time.Since(began) > 20*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}

// The older transport names the address for messages. It must not be at another server.
func TestForeignEndpoint(t *testing.T) {
	t.Parallel()
	requests := make(chan http.Header, 10)
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { requests <- r.Header }))
	defer thief.Close()
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: endpoint\ndata: %s/internal?x=1\n\n", thief.URL)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer at.CloseClientConnections()
	s := upstream.Server{URL: at.URL, SSE: true, Header: http.Header{"Authorization": {"Bearer secretsecret"}}}
	_, err := upstream.List(t.Context(), s, "1")
	if err == nil || !strings.Contains(err.Error(), "to which no headers are sent") {
		t.Error(err)
	}
	if len(requests) > 0 {
		t.Errorf("the other server was asked with %v", <-requests)
	}
}

// The reason of a program's end is the line that explains it, without secrets and other lines.
func TestExplanations(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ output, want string }{
		{
			"node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: Cannot find module '/opt/x.js'\n" +
				"    at Module._load (node:1)\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v20.20.2\n",
			"Error: Cannot find module '/opt/x.js'",
		},
		{
			"/x.js:1\nthrow new Error('Missing KEY');\n^\n\nError: Missing KEY\n    at x\n\nNode.js v20.20.2",
			"Error: Missing KEY",
		},
		{
			"npm error code E404\nnpm error 404 Not Found - GET https://r/@x\nnpm error 404\n" +
				"npm error A complete log of this run can be found in: /l",
			"npm error 404 Not Found - GET https://r/@x",
		},
		{
			"docker: Cannot connect to the Docker daemon.\n\nRun 'docker run --help' for more information",
			"docker: Cannot connect to the Docker daemon.",
		},
		{
			"starting\npanic: nil pointer dereference\n\ngoroutine 1 [running]:\nmain.main()\n\t/x.go:3\nexit status 2",
			"panic: nil pointer dereference",
		},
		{
			"Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\n    import y\n" +
				"ModuleNotFoundError: No module named 'y'",
			"ModuleNotFoundError: No module named 'y'",
		},
		{
			"usage: x.py --url URL\nx.py: error: the following arguments are required: --url",
			"x.py: error: the following arguments are required: --url",
		},
		{
			"ready\nlistening",
			"listening",
		},
		{
			"No module named acme_mcp_server",
			"No module named acme_mcp_server",
		},
		{
			"no access with topsecret and --key hush",
			"no access with xxxxx and --key hush",
		},
		{
			"denied: --token abcdefgh",
			"denied: --token xxxxx",
		},
		{
			"cannot log in to postgres://u:secretpw@h",
			"cannot log in to postgres://u:xxxxx@h",
		},
	} {
		s := play("says", test.output, "-m", "acme_mcp_server", "--token", "abcdefgh", "--databse-url", "postgres://u:secretpw@h/db")
		s.Env = []string{"KEY=topsecret"}
		_, err := upstream.List(t.Context(), s, "1")
		if err == nil || err.Error() != "it ended: exit status 3; it printed: "+test.want {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}

// Errors in a command or a folder are reported before anything starts.
func TestCheck(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]upstream.Server{
		"its folder /no/such/folder does not exist, correct cwd": {Argv: []string{os.Args[0]}, Dir: "/no/such/folder"},
		`there is no program "npx -y @x/memory": write "npx" as command, and each further word as one of args`: {
			Argv: []string{"npx -y @x/memory"},
		},
		`there is no program "~/bin/mcp", and no shell reads ~ or $NAME in it: write the whole path, or ${NAME} for a variable`: {
			Argv: []string{"~/bin/mcp"},
		},
		`there is no program "/my dir/mcp"`: {Argv: []string{"/my dir/mcp"}},
	} {
		if err := s.Check(); err == nil || err.Error() != "it does not start: "+want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := play("server").Check(); err != nil {
		t.Error(err)
	}
}

// A call ends with its context, even if the server reads nothing.
func TestServerThatReadsNothing(t *testing.T) {
	t.Parallel()
	s := play("reads little")
	session, err := upstream.Connect(t.Context(), s, upstream.Client{Name: "test", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	large := json.RawMessage(`{"x":"` + strings.Repeat("x", 1<<20) + `"}`)
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := session.Call(ctx, upstream.Call{Tool: "echo", Arguments: large}); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}

// playReadsLittle is a server that stops reading after its start.
func playReadsLittle() {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, _ := lines.ReadBytes('\n')
		var m message
		_ = json.Unmarshal(line, &m)
		if m.Method == "notifications/initialized" {
			time.Sleep(time.Hour)
		}
		if text := ordinary(m); text != "" {
			fmt.Println(text)
		}
	}
}
