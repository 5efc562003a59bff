package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/lazy"
)

// The server ends on request, also while it writes to a client that does not read.
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
	mcptest.Ends(t, "stopped while writing", done)
}

// Ids with an unusual spelling are answered as they were written. No call is left at the end of the
// input.
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
	mcptest.Ends(t, "odd ids", done)
	for _, id := range ids {
		want := `"id":` + strings.Replace(id, "<", `\u003c`, 1) + `,"result"`
		if !strings.Contains(out.String(), want) && !strings.Contains(out.String(), `"id":`+id+`,"result"`) {
			t.Errorf("no answer to %s in %s", id, out.String())
		}
	}
}

// Calls that are sent together with mcptest.Initialize are answered after it. Progress of a call
// comes before its answer.
func TestStdioOrder(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, lazy.Search)
	load := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"tools","arguments":{"action":"load","names":["echo"]}}}`
	var out strings.Builder
	if err := s.Stdio(t.Context(), strings.NewReader(mcptest.Initialize+"\n"+load+"\n"), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], "serverInfo") || !strings.Contains(lines[1], "list_changed") ||
		!strings.Contains(lines[2], `"id":2`) {
		t.Errorf("answered %q", lines)
	}
}

// Loaded tools are in the list of their session, also if the common list is cached.
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
	}{{mcptest.Initialize, false}, {list, false}, {list, false}, {load, true}, {list, true}} {
		fmt.Fprintln(write, test.line)
		for answers.Scan() && !strings.Contains(answers.Text(), `"id":`) {
		}
		if listed := strings.Contains(answers.Text(), "echo"); listed != test.listed {
			t.Errorf("answer %d is %s", i, answers.Text())
		}
	}
}

// A cancelled call ends without an answer, whatever its id looks like.
func TestStdioCancelled(t *testing.T) {
	t.Parallel()
	started := make(chan bool)
	s, _ := newServer(t, lazy.Lazy, toolfold.External{
		Name: "hold", Description: "Hold on.", Category: "elsewhere", Effect: toolfold.Reads,
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
	mcptest.Ends(t, "cancelled calls", done)
	if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); len(lines) != 1 || !strings.Contains(lines[0], `"id":8`) {
		t.Errorf("answered %s", out.String())
	}
}

// Over HTTP a cancelled call gets status 202 and no answer.
func TestHTTPCancelled(t *testing.T) {
	t.Parallel()
	started := make(chan bool)
	s, _ := newServer(t, lazy.Lazy, toolfold.External{
		Name: "hold", Description: "Hold on.", Category: "elsewhere", Effect: toolfold.Reads,
		Run: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			started <- true
			<-ctx.Done()
			return nil, ctx.Err()
		},
	})
	h := mcptest.Connect(t, s)
	h.Post(mcptest.Initialize)
	done := make(chan string, 1)
	go func() {
		answer, status := h.Post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hold"}}`)
		done <- fmt.Sprint(status, answer)
	}()
	<-started
	h.Post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	if got := <-done; got != "202" {
		t.Errorf("answered %s", got)
	}
}

// Calls run concurrently: even 100 calls that wait for each other are all answered, repeatedly.
func TestStdioCallsMeet(t *testing.T) {
	t.Parallel()
	const together = 100
	var arrived atomic.Int64
	all := make(chan bool)
	s, _ := newServer(t, lazy.Lazy, toolfold.External{
		Name: "meet", Description: "Wait for the others.", Category: "elsewhere", Effect: toolfold.Reads,
		Run: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			if arrived.Add(1)%together == 0 {
				for range together - 1 {
					all <- true
				}
				return json.RawMessage(`{}`), nil
			}
			<-all
			return json.RawMessage(`{}`), nil
		},
	})
	in, write := io.Pipe()
	read, out := io.Pipe()
	go s.Stdio(t.Context(), in, out)
	defer write.Close()
	answers := bufio.NewScanner(read)
	for range 3 {
		go func() {
			for id := range together {
				fmt.Fprintf(write, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"meet"}}`+"\n", id)
			}
		}()
		answered := map[string]bool{}
		for range together {
			if !answers.Scan() || strings.Contains(answers.Text(), "isError") {
				t.Fatalf("answered %q after %d others", answers.Text(), len(answered))
			}
			answered[answers.Text()] = true
		}
		if len(answered) != together {
			t.Errorf("%d calls were answered, want %d", len(answered), together)
		}
	}
}
