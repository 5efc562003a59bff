package served_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/config"
)

var quiet = slog.New(slog.DiscardHandler)

// newWorkbench serves all families with a store in memory.
func newWorkbench(t testing.TB, mode surface.Mode, limits serve.Limits) (*serve.Server, *surface.Surface) {
	t.Helper()
	s := surface.New(surface.Options{Mode: mode, Log: quiet})
	store := storage.Lazy("memory:")
	t.Cleanup(func() { store.Close() })
	families, err := app.Mount(app.Host{
		Open:  store.Open,
		Files: config.Files{Global: t.TempDir() + "/config.json", Workspace: t.TempDir()}, Caller: s.Runner,
		Discovery: s.Discovery, Log: quiet, Now: time.Now, NewID: uuid.NewString,
	})
	if err == nil {
		err = s.Put(families...)
	}
	if err != nil {
		t.Fatal(err)
	}
	server, err := serve.New(serve.Options{Version: "test", Surface: s, Log: quiet, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return server, s
}

// A client up to 2025-11-25 is asked for its model on stdio, and answers without a question are
// dropped.
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
	say(strings.Replace(mcptest.Initialize, `"capabilities":{}`, `"capabilities":{"sampling":{}}`, 1))
	next()
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"agent","arguments":`
	say(call + `{"action":"register","agentId":"a","description":"Asks.","workflow":[` +
		`{"stepId":"x","name":"Ask","type":"prompt","config":{"prompt":"one"}}]}}}`)
	next()
	for _, answer := range []string{`"result":{"model":"m","role":"assistant","content":{"type":"text","text":"two"}}`,
		`"error":{"code":-1,"message":"no model today"}`} {
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
	mcptest.Ends(t, "the end", done)
}
