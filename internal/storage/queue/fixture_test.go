package queue_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/storage/queue"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/internal/test/testwait"
	family "github.com/toolfold/toolfold/tools/queue"
	"github.com/toolfold/toolfold/tools/task"
)

// place is the workspace of the tests.
const place = "vm:/shop"

// loadQueue is the queue that tests submit to.
const loadQueue = "00000000-0000-4000-8000-000000000001"

func testQueue(name string, most int) family.Queue {
	return family.Queue{
		ID: loadQueue, Name: name, MaxConcurrency: most, DefaultPriority: task.Medium,
		CreatedAt: time.Now().UTC().Truncate(time.Microsecond),
	}
}

// calls is a caller that runs the test's function for the called name. Every name exists.
type calls struct {
	mu    sync.Mutex
	do    map[string]func(context.Context, json.RawMessage) toolfold.Answer
	began []string
}

func (c *calls) on(name string, do func(context.Context, json.RawMessage) toolfold.Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.do == nil {
		c.do = map[string]func(context.Context, json.RawMessage) toolfold.Answer{}
	}
	c.do[name] = do
}

func (c *calls) Call(ctx context.Context, name string, args json.RawMessage) toolfold.Answer {
	c.mu.Lock()
	c.began = append(c.began, name)
	do := c.do[name]
	c.mu.Unlock()
	if do == nil {
		return answer(`{}`)
	}
	return do(ctx, args)
}

func (c *calls) names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.began)
}

// Lookup returns an action for every name. agent.run, workflow.run and the name once may not run
// twice; all other actions may.
func (*calls) Lookup(name string) []*entry.Entry {
	family, action, _ := strings.Cut(name, ".")
	a := &toolfold.Action{Name: action, Effect: toolfold.Sets, Family: &toolfold.Family{Name: family}}
	if action == "run" || name == "once" {
		a.Effect = toolfold.Runs
	}
	return []*entry.Entry{{Tool: name, Action: a}}
}

func (*calls) Refusal(context.Context, string, json.RawMessage, string, func(string) bool) *toolfold.Error {
	return nil
}

func (*calls) Nearest(string) string { return "" }

func answer(content string) toolfold.Answer {
	return toolfold.Answer{Content: json.RawMessage(content)}
}

// untilStopped is a call that ends only when its context does.
func untilStopped(ctx context.Context, _ json.RawMessage) toolfold.Answer {
	<-ctx.Done()
	return toolfold.Errorf("STOPPED", "stopped").Answer()
}

// env is a store with its families and the calls of its tasks.
type env struct {
	*testing.T
	*calls
	store  *storage.LazyDB
	db     *storage.DB
	tasks  *task.Service
	queues *family.Service

	entered *atomic.Value // the last worker that entered
}

// eachStore runs a test on every database.
func eachStore(t *testing.T, test func(e env)) {
	t.Parallel()
	for name, fresh := range map[string]func(testing.TB) string{
		"memory":   func(testing.TB) string { return "memory:" },
		"sqlite":   storagetest.SQLite,
		"postgres": storagetest.Postgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newEnv(t, fresh(t), &calls{}))
		})
	}
}

func newEnv(t *testing.T, address string, c *calls) env {
	t.Helper()
	store := storage.Lazy(address)
	t.Cleanup(func() { store.Close() })
	db, err := store.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tasks := task.New(task.Options{
		Store: db.Task(), Caller: c, Names: c, Now: time.Now, NewID: uuid.NewString,
		CancelWait: testwait.Limit, Workspace: place, MaxInterruptions: 5,
	})
	return env{t, c, store, db, tasks, family.New(db.Queue(), time.Now, uuid.NewString), &atomic.Value{}}
}

// work runs a worker until the test ends or stop is called. stop waits for it.
func (e env) work(o queue.Options) (stop func()) {
	e.Helper()
	if o.Tick == 0 {
		o.Tick = 20 * time.Millisecond
	}
	if o.Workspace == "" {
		o.Workspace = place
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- queue.New(e.openLedger, e.calls, o).Work(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			e.Error(err)
		}
	})
	e.Cleanup(stop)
	return stop
}

// submit submits a task that calls name, like a client of the tool.
func (e env) submit(name string, in task.SubmitIn) (id string) {
	e.Helper()
	in.Name = name
	if in.Type == "" {
		in.Type = task.Sequential
	}
	if in.Input == nil && in.AgentID == "" && in.WorkflowID == "" && in.Type != task.Wait {
		in.Input = json.RawMessage(`{"tool":"` + name + `","arguments":{}}`)
	}
	out, err := e.tasks.Submit(e.Context(), in)
	if err != nil {
		e.Fatalf("submitting %s: %v", name, err)
	}
	return out.TaskID
}

func (e env) status(id string) task.Record {
	e.Helper()
	record, err := e.tasks.Status(callctx.WithFields(e.Context(), []string{"input"}), task.StatusIn{TaskID: id})
	if err != nil {
		e.Fatal(err)
	}
	return record
}

// await waits until a task is in a state.
func (e env) await(id, state string) task.Record {
	e.Helper()
	var record task.Record
	defer func() {
		if record.Status != state {
			e.Logf("%s is %s", record.Name, record.Status)
		}
	}()
	testwait.Until(e, "task "+id+" is "+state, func() bool {
		record = e.status(id)
		return record.Status == state
	})
	return record
}

// recordingLedger is a ledger that records the worker that entered.
type recordingLedger struct {
	queue.Ledger
	entered *atomic.Value // string
}

func (n recordingLedger) Enter(ctx context.Context, worker, workspace string, lease time.Duration) error {
	n.entered.Store(worker)
	return n.Ledger.Enter(ctx, worker, workspace, lease)
}

func (e env) openLedger(ctx context.Context) (queue.Ledger, *queue.Jobs, error) {
	ledger, jobs, err := openerOf(e.store)(ctx)
	return recordingLedger{ledger, e.entered}, jobs, err
}
