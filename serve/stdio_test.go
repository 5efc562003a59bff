package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools"
)

// soon fails the test when something that has to end does not.
func soon(t *testing.T, what string, done <-chan error) {
	t.Helper()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	case <-time.After(8 * time.Second):
		t.Errorf("%s: it goes on", what)
	}
}

// The server ends when it is told to, also while it writes to a client that
// does not read.
func TestStdioEndsWhileWriting(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, lazy.Lazy)
	ctx, stop := context.WithCancel(t.Context())
	in, write := io.Pipe()
	_, out := io.Pipe() // without a reader
	done := make(chan error, 1)
	go func() { done <- s.Stdio(ctx, in, out) }()
	fmt.Fprintln(write, ping)
	stop()
	soon(t, "stopped while writing", done)
}

// Ids that JSON numbers can spell in other ways are answered as they are, and
// nothing waits for them when the input ends.
func TestOddIDsDoNotDelayTheEnd(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, lazy.Lazy)
	ids := []string{"1e400", "1.0", "-0", "1E2", `"\u0061<"`, "123456789012345678901234567890"}
	var lines strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&lines, `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`+"\n", id)
	}
	var out strings.Builder
	done := make(chan error, 1)
	go func() { done <- s.Stdio(t.Context(), strings.NewReader(lines.String()), &out) }()
	soon(t, "odd ids", done)
	for _, id := range ids {
		want := `"id":` + strings.Replace(id, "<", `\u003c`, 1) + `,"result"`
		if !strings.Contains(out.String(), want) && !strings.Contains(out.String(), `"id":`+id+`,"result"`) {
			t.Errorf("no answer to %s in %s", id, out.String())
		}
	}
}

// Calls that were sent in one breath with initialize are answered after it, and
// a call's progress comes before its answer.
func TestStdioOrder(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, lazy.Search)
	load := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"tools","arguments":{"action":"load","names":["echo"]}}}`
	var out strings.Builder
	if err := s.Stdio(t.Context(), strings.NewReader(initialize+"\n"+load+"\n"), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], "serverInfo") || !strings.Contains(lines[1], "list_changed") || !strings.Contains(lines[2], `"id":2`) {
		t.Errorf("answered %q", lines)
	}
}

// What a session loaded is on its list, also where the list of others is kept.
func TestStdioLoading(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, lazy.Search)
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	load := `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"tools","arguments":{"action":"load","names":["echo"]}}}`
	in, write := io.Pipe()
	read, out := io.Pipe()
	go s.Stdio(t.Context(), in, out)
	defer write.Close()
	answers := bufio.NewScanner(read)
	for i, test := range []struct {
		line   string
		listed bool
	}{{initialize, false}, {list, false}, {list, false}, {load, true}, {list, true}} {
		fmt.Fprintln(write, test.line)
		for answers.Scan() && !strings.Contains(answers.Text(), `"id":`) {
		}
		if listed := strings.Contains(answers.Text(), "echo"); listed != test.listed {
			t.Errorf("answer %d is %s", i, answers.Text())
		}
	}
}

// The model of a client up to 2025-11-25 is asked on its own line, and answers
// to nothing are dropped.
func TestStdioSampling(t *testing.T) {
	t.Parallel()
	s, _ := newWorkbench(t, surface.Consolidated, serve.Limits{})
	in, write := io.Pipe()
	read, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.Stdio(t.Context(), in, out) }()
	answers := bufio.NewScanner(read)
	next := func() string {
		if !answers.Scan() {
			t.Fatal(answers.Err())
		}
		return answers.Text()
	}
	say := func(line string) { fmt.Fprintln(write, line) }
	say(strings.Replace(initialize, `"capabilities":{}`, `"capabilities":{"sampling":{}}`, 1))
	next()
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"agent","arguments":`
	say(call + `{"action":"register","agentId":"a","description":"Asks.","workflow":[` +
		`{"stepId":"x","name":"Ask","type":"prompt","config":{"prompt":"one"}}]}}}`)
	next()
	for _, answer := range []string{`"result":{"model":"m","role":"assistant","content":{"type":"text","text":"two"}}`, `"error":{"code":-1,"message":"no model today"}`} {
		say(call + `{"action":"run","agentId":"a"}}}`)
		var request struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal([]byte(next()), &request); err != nil || request.Method != "sampling/createMessage" {
			t.Fatalf("asked %s", answers.Text())
		}
		say(`{"jsonrpc":"2.0","id":12345,"result":{}}`)
		say(`{"jsonrpc":"2.0","id":` + string(request.ID) + `,` + answer + `}`)
		want := `two`
		if strings.Contains(answer, "error") {
			want = "no model today"
		}
		if got := next(); !strings.Contains(got, want) {
			t.Errorf("answered %s, want %s", got, want)
		}
	}
	write.Close()
	soon(t, "the end", done)
}

// A cancelled call ends without an answer, whatever its id looks like.
func TestStdioCancelled(t *testing.T) {
	t.Parallel()
	started := make(chan bool)
	s, _ := newServer(t, lazy.Lazy, tools.External{
		Name: "hold", Description: "Hold on.", Category: "elsewhere", Effect: tools.Reads,
		Run: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			started <- true
			<-ctx.Done()
			return nil, ctx.Err()
		},
	})
	in, write := io.Pipe()
	done := make(chan error, 1)
	var out strings.Builder
	go func() { done <- s.Stdio(t.Context(), in, &out) }()
	for _, id := range []string{"7", "1e400", `"\u0061"`} {
		fmt.Fprintf(write, `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"hold"}}`+"\n", id)
		<-started
		fmt.Fprintf(write, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`+"\n", id)
	}
	fmt.Fprintln(write, `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}`)
	write.Close()
	soon(t, "cancelled calls", done)
	if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); len(lines) != 1 || !strings.Contains(lines[0], `"id":8`) {
		t.Errorf("answered %s", out.String())
	}
}

// Over HTTP a cancelled call is acknowledged and not answered.
func TestHTTPCancelled(t *testing.T) {
	t.Parallel()
	started := make(chan bool)
	s, _ := newServer(t, lazy.Lazy, tools.External{
		Name: "hold", Description: "Hold on.", Category: "elsewhere", Effect: tools.Reads,
		Run: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			started <- true
			<-ctx.Done()
			return nil, ctx.Err()
		},
	})
	h := newHTTPTalk(t, s)
	h.post(initialize)
	done := make(chan string, 1)
	go func() {
		answer, status := h.post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hold"}}`)
		done <- fmt.Sprint(status, answer)
	}()
	<-started
	h.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	if got := <-done; got != "202" {
		t.Errorf("answered %s", got)
	}
}
