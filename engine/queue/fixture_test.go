package queue_test

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold/engine/queue"
	"github.com/toolfold/toolfold/storage"
	"github.com/toolfold/toolfold/storage/storagetest"
	"github.com/toolfold/toolfold/tools"
	family "github.com/toolfold/toolfold/tools/queue"
	"github.com/toolfold/toolfold/tools/task"
)

// loadQueue is the queue that tests submit to.
const loadQueue = "00000000-0000-4000-8000-000000000001"

func testQueue(name string, most int) family.Queue {
	return family.Queue{
		ID: loadQueue, Name: name, MaxConcurrency: most, DefaultPriority: queue.Medium,
		CreatedAt: time.Now().UTC().Truncate(time.Microsecond),
	}
}

// patient is how long a test waits for what has to happen.
const patient = time.Minute

// calls is a caller that does what the test says, by the name that is called.
// It knows every name.
type calls struct {
	mu    sync.Mutex
	do    map[string]func(context.Context, json.RawMessage) tools.Answer
	began []string
}

func (c *calls) on(name string, do func(context.Context, json.RawMessage) tools.Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.do == nil {
		c.do = map[string]func(context.Context, json.RawMessage) tools.Answer{}
	}
	c.do[name] = do
}

func (c *calls) Call(ctx context.Context, name string, args json.RawMessage) tools.Answer {
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
	return append([]string(nil), c.began...)
}

func (*calls) Lookup(name string) []*tools.Entry { return []*tools.Entry{{Tool: name}} }

func (*calls) Nearest(string) string { return "" }

func answer(content string) tools.Answer { return tools.Answer{Content: json.RawMessage(content)} }

// untilStopped is a call that ends only when it is told to.
func untilStopped(ctx context.Context, _ json.RawMessage) tools.Answer {
	<-ctx.Done()
	return tools.Fail(tools.Errorf("STOPPED", "stopped"))
}

// yard is a store, the families on it, and the calls that its tasks make.
type yard struct {
	*testing.T
	*calls
	store  *storage.LazyDB
	db     *storage.DB
	tasks  *task.Service
	queues *family.Service

	entered *atomic.Value // the worker that entered last, a string
}

// eachYard runs a test on every database.
func eachYard(t *testing.T, test func(y yard)) {
	t.Parallel()
	for name, fresh := range map[string]func(testing.TB) string{
		"memory":   func(testing.TB) string { return "memory:" },
		"sqlite":   sqliteURL,
		"postgres": storagetest.Postgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newYard(t, fresh(t), &calls{}))
		})
	}
}

func newYard(t *testing.T, address string, c *calls) yard {
	t.Helper()
	store := storage.Lazy(address)
	t.Cleanup(func() { store.Close() })
	db, err := store.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tasks := task.New(task.Options{Store: db.Task(), Caller: c, Names: c, Now: time.Now, NewID: uuid.NewString, CancelWait: patient})
	return yard{t, c, store, db, tasks, family.New(db.Queue(), time.Now, uuid.NewString), &atomic.Value{}}
}

// work has a worker run until the test ends, or until stop is called, which
// waits for it.
func (y yard) work(o queue.Options) (stop func()) {
	y.Helper()
	if o.Tick == 0 {
		o.Tick = 20 * time.Millisecond
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- queue.New(y.openLedger, y.calls, o).Work(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			y.Error(err)
		}
	})
	y.Cleanup(stop)
	return stop
}

// submit submits a task that calls name, as the caller of the tool would.
func (y yard) submit(name string, in task.SubmitIn) (id string) {
	y.Helper()
	in.Name = name
	if in.Type == "" {
		in.Type = task.Sequential
	}
	if in.Input == nil && in.AgentID == "" && in.Type != task.Wait {
		in.Input = json.RawMessage(`{"tool":"` + name + `","arguments":{}}`)
	}
	out, err := y.tasks.Submit(y.Context(), in)
	if err != nil {
		y.Fatalf("submitting %s: %v", name, err)
	}
	return out.TaskID
}

func (y yard) status(id string) task.Record {
	y.Helper()
	record, err := y.tasks.Status(y.Context(), task.StatusIn{TaskID: id})
	if err != nil {
		y.Fatal(err)
	}
	return record
}

// await waits until a task is in a state.
func (y yard) await(id, state string) task.Record {
	y.Helper()
	var record task.Record
	y.until(func() bool {
		record = y.status(id)
		return record.Status == state
	}, func() string { return record.Name + " is " + record.Status + ", want " + state })
	return record
}

func (y yard) until(done func() bool, missing func() string) {
	y.Helper()
	for deadline := time.Now().Add(patient); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			y.Fatal(missing())
		}
	}
}

// noting is a ledger that notes who entered.
type noting struct {
	queue.Ledger
	entered *atomic.Value // string
}

func (n noting) Enter(ctx context.Context, worker string, lease time.Duration) error {
	n.entered.Store(worker)
	return n.Ledger.Enter(ctx, worker, lease)
}

func (y yard) openLedger(ctx context.Context) (queue.Ledger, error) {
	ledger, err := ledgerOf(y.store)(ctx)
	return noting{ledger, y.entered}, err
}
