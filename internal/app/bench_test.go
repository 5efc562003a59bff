package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/config"
	"github.com/toolfold/toolfold/tools/session"
	"github.com/toolfold/toolfold/tools/task"
	"github.com/toolfold/toolfold/tools/trace"
)

// bench is a workbench of its own, with a clock that stands and counted ids. Declared
// examples use the first id: in declared order they make sense together.
type bench struct {
	*surface.Surface
	workspace string
	settings  string // the user's file
	store     *storage.LazyDB
	jumped    atomic.Int64 // nanoseconds by which the clock was set forward
}

func newBench(t testing.TB) *bench { return benchOf(t, surface.Options{}) }

func benchOf(t testing.TB, o surface.Options) *bench {
	t.Helper()
	store := storage.Lazy("memory:")
	t.Cleanup(func() { store.Close() })
	var ids atomic.Int64
	o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	dir := workspace(t)
	opened := sync.OnceValue(func() error { return openExample(store) })
	open := func(ctx context.Context) (*storage.DB, error) {
		if err := opened(); err != nil {
			return nil, err
		}
		return store.Open(ctx)
	}
	o.Middleware = append(o.Middleware, app.Policies(dir, open))
	b := &bench{Surface: surface.New(o), workspace: dir, settings: t.TempDir() + "/config.json", store: store}
	recorded := sync.OnceValue(func() error { return recordExample(store) })
	families, err := app.Mount(app.Host{
		Open: open,

		WorkspaceName: exampleWorkspace,
		Files:         config.Files{Global: b.settings, Workspace: b.workspace},
		Recorded:      func(context.Context) error { return recorded() },
		Caller:        b.Runner,
		Discovery:     b.Discovery,
		Log:           o.Log,
		Now: func() time.Time {
			return time.Date(2026, 7, 28, 9, 0, 0, 0, time.UTC).Add(time.Duration(b.jumped.Load()))
		},
		NewID: func() string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", ids.Add(1)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Put(families...); err != nil {
		t.Fatal(err)
	}
	return b
}

// exampleSession is the session that examples of other families refer to.
const exampleSession = "11111111-1111-4111-8111-111111111111"

// exampleWorkspace is the workspace that tasks belong to.
const exampleWorkspace = "example"

// exampleSchedule is the schedule that examples of tasks refer to.
const exampleSchedule = "22222222-2222-4222-8222-222222222222"

// openExample makes both.
func openExample(store *storage.LazyDB) error {
	db, err := store.Open(context.Background())
	if err != nil {
		return err
	}
	at := time.Date(2026, 7, 28, 8, 0, 0, 0, time.UTC)
	_, err = db.Task().Submit(context.Background(), task.Task{
		ID: exampleSchedule, Workspace: exampleWorkspace, QueueID: task.DefaultQueue, Name: "Example",
		Input: json.RawMessage(`{"tool":"memory.stats"}`), Priority: task.Medium,
		Type: task.Sequential, Attempt: 1, MaxAttempts: 1, Schedule: "0 8 * * *", NextAt: at.AddDate(0, 0, 1), CreatedAt: at,
	}, at, 2)
	if err != nil {
		return err
	}
	return db.Session().Create(context.Background(), session.Session{
		ID: exampleSession, Initiator: "planner", Task: "Example", Status: work.SessionActive, CreatedAt: at, UpdatedAt: at,
		Participants: []session.Participant{{AgentID: "planner", Role: session.Initiator, JoinedAt: at}},
	})
}

// recordExample stores the trace that declared examples refer to.
func recordExample(store *storage.LazyDB) error {
	db, err := store.Open(context.Background())
	if err != nil {
		return err
	}
	at := time.Date(2026, 7, 28, 8, 59, 0, 0, time.UTC)
	root := trace.Span{
		TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", ID: "00f067aa0ba902b7", Root: true, Kind: trace.Call, Label: "workflow.run release",
		Status: trace.Failure, Code: "STEP_FAILED", Message: "the host is away", Start: at, End: at.Add(3 * time.Second),
		Answer: json.RawMessage(`{"success":false}`),
	}
	step := trace.Span{
		TraceID: root.TraceID, ID: "00f067aa0ba902b8", Parent: root.ID, Kind: trace.Step, Label: "step deploy", Attempts: 2,
		Status: trace.Failure, Code: "STEP_FAILED", Message: "the host is away", Start: at.Add(time.Second), End: at.Add(3 * time.Second),
		Attributes: map[string]string{"toolfold.step.type": "tool"},
	}
	return db.Trace().Put(context.Background(), []trace.Span{root, step}, at)
}

// workspace is a copy of the workspace that declared examples refer to.
func workspace(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../tools/workflow/testdata/workspace")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// entries are all ways to call all actions: consolidated, legacy, full name.
func (b *bench) entries() []*entry.Entry {
	var list []*entry.Entry
	for _, s := range b.Families() {
		for _, a := range s.Actions {
			list = append(list, entry.Select(a), entry.New(a, a.FullName()))
			for _, old := range a.Legacy {
				list = append(list, entry.Spell(a, old))
			}
		}
	}
	return list
}

// call answers within the process.
func (b *bench) call(e *entry.Entry, args json.RawMessage) toolfold.Answer {
	return b.Runner.Call(context.Background(), e.Tool, args)
}

// served is a workbench behind HTTP in one tool mode.
type served struct {
	*bench
	server *httptest.Server
}

func serveBench(t *testing.T, mode surface.Mode) *served {
	t.Helper()
	b := benchOf(t, surface.Options{Mode: mode})
	s, err := serve.New(serve.Options{Version: "test", Surface: b.Surface, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler(""))
	t.Cleanup(server.Close)
	return &served{b, server}
}

// modern is a request of protocol 2026-07-28, which needs no session.
const modern = `{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{` +
	`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{}}}}`

// toolResult is a tools/call result as a client sees it.
type toolResult struct {
	Content           []struct{ Type, Text string } `json:"content"`
	StructuredContent json.RawMessage               `json:"structuredContent"`
	IsError           bool                          `json:"isError"`
	Meta              map[string]json.RawMessage    `json:"_meta"`
}

// content is the JSON of the one text block.
func (r toolResult) content(t *testing.T) json.RawMessage {
	t.Helper()
	if len(r.Content) != 1 || r.Content[0].Type != "text" || !json.Valid([]byte(r.Content[0].Text)) {
		t.Fatalf("not one text block of JSON: %v", r.Content)
	}
	return json.RawMessage(r.Content[0].Text)
}

func (s *served) callTool(t *testing.T, name string, args json.RawMessage) toolResult {
	t.Helper()
	body := fmt.Sprintf(modern, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s,`, name, args))
	var result toolResult
	s.post(t, "tools/call", name, body, &result)
	return result
}

func (s *served) post(t *testing.T, method, name, body string, result any) {
	t.Helper()
	request := httptest.NewRequest("POST", s.server.URL+"/mcp", strings.NewReader(body))
	request.RequestURI = ""
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	request.Header.Set("Mcp-Method", method)
	if name != "" {
		request.Header.Set("Mcp-Name", name)
	}
	response, err := s.server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var message struct {
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.NewDecoder(response.Body).Decode(&message); err != nil {
		t.Fatalf("%s: %v (status %d)", method, err, response.StatusCode)
	}
	if message.Error != nil {
		t.Fatalf("%s %s: %s", method, name, message.Error)
	}
	if err := json.Unmarshal(message.Result, result); err != nil {
		t.Fatal(err)
	}
}

func quoted(s string) string { return string(ordered.MustJSON(s)) }
