// Package workbench opens the whole application for tests: every family over a store in memory, in
// its own workspace, with a fixed clock and counted ids.
package workbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/storage/queue"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/config"
	"github.com/toolfold/toolfold/tools/memory"
	"github.com/toolfold/toolfold/tools/session"
	"github.com/toolfold/toolfold/tools/task"
	"github.com/toolfold/toolfold/tools/trace"
)

// Objects that declared examples of actions refer to. They exist from the start.
const (
	Session       = "11111111-1111-4111-8111-111111111111"
	Schedule      = "22222222-2222-4222-8222-222222222222"
	WorkspaceName = "example" // the workspace of tasks
)

// Bench is a workbench. Declared examples use its first id, so they fit together in declared order.
type Bench struct {
	*surface.Surface
	Workspace string // a copy of the workspace that declared examples refer to
	Settings  string // path of the user's settings file, which does not exist
	store     *storage.LazyDB
	jumped    atomic.Int64 // nanoseconds by which the clock is ahead of its start
}

// New returns a workbench with the surface of o. It does not log.
func New(t testing.TB, o surface.Options) *Bench {
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
	o.Middleware = append(o.Middleware, app.Policies(dir, open, nil))
	b := &Bench{Surface: surface.New(o), Workspace: dir, Settings: t.TempDir() + "/config.json", store: store}
	recorded := sync.OnceValue(func() error { return recordExample(store) })
	families, err := app.Mount(app.Host{
		Open: open,

		WorkspaceName: WorkspaceName,
		NoteHistory:   memory.History{Versions: 10, Age: 30 * 24 * time.Hour},
		Files:         config.Files{Global: b.Settings, Workspace: b.Workspace},
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

// openExample creates the session and the schedule.
func openExample(store *storage.LazyDB) error {
	db, err := store.Open(context.Background())
	if err != nil {
		return err
	}
	at := time.Date(2026, 7, 28, 8, 0, 0, 0, time.UTC)
	_, err = db.Task().Submit(context.Background(), task.Task{
		ID: Schedule, Workspace: WorkspaceName, QueueID: task.DefaultQueue, Name: "Example",
		Input: json.RawMessage(`{"tool":"memory.stats"}`), Priority: task.Medium,
		Type: task.Sequential, Attempt: 1, MaxAttempts: 1, Schedule: "0 8 * * *", NextAt: at.AddDate(0, 0, 1), CreatedAt: at,
	}, at, 2)
	if err != nil {
		return err
	}
	return db.Session().Create(context.Background(), session.Session{
		ID: Session, Initiator: "planner", Task: "Example", Status: work.SessionActive, CreatedAt: at, UpdatedAt: at,
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

// workspace copies the workspace that declared examples refer to.
func workspace(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(Root(t), "tools/workflow/testdata/workspace"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Root returns the folder of the module. Tests run in the folder of their package.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	t.Fatal("the working directory is not in the module", err)
	return ""
}

// Entries lists all ways to call all actions: consolidated, legacy, full name.
func (b *Bench) Entries() []*entry.Entry {
	var list []*entry.Entry
	for _, f := range b.Families() {
		for _, a := range f.Actions {
			list = append(list, entry.Select(a), entry.New(a, a.FullName()))
			for _, old := range a.Legacy {
				list = append(list, entry.Spell(a, old))
			}
		}
	}
	return list
}

// Arguments returns the example of an entry as an object that may be changed.
func Arguments(e *entry.Entry) map[string]any {
	var args map[string]any
	if err := json.Unmarshal(e.Example(), &args); err != nil {
		panic(err)
	}
	return args
}

// Call runs a call within the process and returns the whole answer.
func (b *Bench) Call(e *entry.Entry, args json.RawMessage) toolfold.Answer {
	return b.Runner.Call(context.Background(), e.Tool, args)
}

// Jump sets the clock to its start plus d.
func (b *Bench) Jump(d time.Duration) { b.jumped.Store(int64(d)) }

// Work runs queued tasks until the test ends.
func (b *Bench) Work(t *testing.T) {
	t.Helper()
	open := func(ctx context.Context) (queue.Ledger, *queue.Jobs, error) {
		db, err := b.store.Open(ctx)
		if err != nil {
			return nil, nil, err
		}
		return db.Work()
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- queue.New(open, b.Runner, queue.Options{Workspace: WorkspaceName, Tick: 20 * time.Millisecond, Grace: time.Second}).Work(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
