package task_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/storage/queue"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/internal/text/tokens"
	family "github.com/toolfold/toolfold/tools/queue"
	"github.com/toolfold/toolfold/tools/task"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

const place = "vm:/shop"

// catalogue is a caller that knows memory and one agent of each kind.
type catalogue struct{}

func (catalogue) Call(_ context.Context, name string, args json.RawMessage) toolfold.Answer {
	switch {
	case name != "agent.get":
		return entry.Unknown(name).Answer()
	case strings.Contains(string(args), `"planner"`):
		return toolfold.Answer{Content: json.RawMessage(`{"agentId":"planner","enabled":true}`)}
	case strings.Contains(string(args), `"theirs"`):
		return toolfold.Answer{Content: json.RawMessage(`{"agentId":"theirs","enabled":true,"trusted":false}`)}
	case strings.Contains(string(args), `"retired"`):
		return toolfold.Answer{Content: json.RawMessage(`{"agentId":"retired","enabled":false}`)}
	}
	return toolfold.Errorf("AGENT_NOT_FOUND", "there is no such agent").Answer()
}

func (catalogue) Lookup(name string) []*entry.Entry {
	switch name {
	case "memory.store":
		return []*entry.Entry{{Tool: name}}
	case "memory":
		return []*entry.Entry{{Tool: name, Selector: "store"}, {Tool: name, Selector: "get"}}
	}
	return nil
}

func (catalogue) Refusal(context.Context, string, json.RawMessage, string, func(string) bool) *toolfold.Error {
	return nil
}

func (catalogue) Nearest(string) string { return "memory.store" }

// bench is a service on a store in memory. Its clock advances by a second per reading.
type bench struct {
	*testing.T
	*task.Service
	db *storage.DB
}

func newBench(t *testing.T) bench {
	t.Parallel()
	db := storagetest.Open(t, "memory:")
	ids, now := 0, noon
	s := task.New(task.Options{
		Store: db.Task(), Caller: catalogue{}, Names: catalogue{}, CancelWait: time.Millisecond, Workspace: place, MaxOpen: 8,
		Now:   func() time.Time { now = now.Add(time.Second); return now },
		NewID: func() string { ids++; return id(ids) },
	})
	return bench{t, s, db}
}

// A task names the trace of its last run as soon as it has run.
func TestTraceOfTask(t *testing.T) {
	b := newBench(t)
	ids := ""
	b.TraceOf = func(_ context.Context, taskID string) (string, error) { ids += taskID; return "4bf9", nil }
	b.submit(storing())
	record, err := b.Status(t.Context(), task.StatusIn{TaskID: id(1)})
	if err != nil || record.TraceID != "" || ids != "" {
		t.Errorf("before a run: %q, asked for %q, %v", record.TraceID, ids, err)
	}
	b.finish(b.start(1), task.Completed)
	record, err = b.Status(t.Context(), task.StatusIn{TaskID: id(1)})
	if err != nil || record.TraceID != "4bf9" || ids != id(1) {
		t.Errorf("after it: %q, asked for %q, %v", record.TraceID, ids, err)
	}
	waited, err := b.Wait(t.Context(), task.WaitIn{TaskID: id(1), TimeoutMs: 1})
	if err != nil || waited.TraceID != "4bf9" {
		t.Errorf("waited for: %q, %v", waited.TraceID, err)
	}
}

// Progress is a sum of fractions, shown without rounding errors.
func TestProgressIsRounded(t *testing.T) {
	b := newBench(t)
	b.submit(storing())
	run := b.start(1)
	ledger, _, err := b.db.Work()
	if err != nil {
		t.Fatal(err)
	}
	if err := ledger.Report(t.Context(), run, task.Progress{Done: 3.0949999999999998, Total: 7}); err != nil {
		t.Fatal(err)
	}
	record, err := b.Status(t.Context(), task.StatusIn{TaskID: id(1)})
	if err != nil || *record.Progress != (task.Steps{Done: 3.095, Total: 7}) {
		t.Errorf("it is %+v, %v", record.Progress, err)
	}
}

func id(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// storing returns a task that can run.
func storing() task.SubmitIn {
	return task.SubmitIn{Name: "n", Type: task.Sequential, Input: json.RawMessage(`{"tool":"memory.store","arguments":{}}`)}
}

func (b bench) submit(in task.SubmitIn) task.SubmitOut {
	b.Helper()
	out, err := b.Submit(b.Context(), in)
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// start lets a worker claim a task, which must be the next one.
func (b bench) start(n int) queue.Run {
	b.Helper()
	ledger, _, err := b.db.Work()
	if err != nil {
		b.Fatal(err)
	}
	enter := ledger.Enter(b.Context(), "w", place, time.Hour)
	claimed, err := ledger.Claim(b.Context(), "w", place, 1, noon)
	if enter != nil || err != nil || len(claimed) != 1 || claimed[0].ID != id(n) {
		b.Fatal(enter, claimed, err)
	}
	return queue.Run{TaskID: id(n), Turn: claimed[0].Turn}
}

func (b bench) finish(r queue.Run, status string) {
	b.Helper()
	ledger, _, err := b.db.Work()
	if err != nil {
		b.Fatal(err)
	}
	if ok, err := ledger.Finish(b.Context(), queue.Ending{Run: r, Status: status, EndedAt: noon}); !ok || err != nil {
		b.Fatal(ok, err)
	}
}

// refused checks that a call failed with a code and words.
func refused(t *testing.T, err error, code, words string) {
	t.Helper()
	var failure *toolfold.Error
	if !errors.As(err, &failure) || failure.Code != code {
		t.Fatalf("%v, want %s", err, code)
	}
	if !strings.Contains(failure.Message+" "+failure.Hint, words) {
		t.Errorf("%s (%s) does not say %q", failure.Message, failure.Hint, words)
	}
}

func TestSubmitRefuses(t *testing.T) {
	b := newBench(t)
	b.submit(storing())
	b.finish(b.start(1), task.Failed)
	for name, test := range map[string]struct {
		change      func(*task.SubmitIn)
		code, words string
	}{
		"nothing to run":     {func(in *task.SubmitIn) { in.Input = nil }, toolfold.InvalidInput, "agentId"},
		"input without tool": {func(in *task.SubmitIn) { in.Input = json.RawMessage(`{"x":1}`) }, toolfold.InvalidInput, `"tool": NAME`},
		"unknown tool": {func(in *task.SubmitIn) { in.Input = json.RawMessage(`{"tool":"memory.stoer"}`) }, toolfold.UnknownTool,
			"memory.store"},
		"agent and tool":      {func(in *task.SubmitIn) { in.AgentID = "planner" }, toolfold.InvalidInput, "one of"},
		"unknown agent":       {func(in *task.SubmitIn) { in.AgentID, in.Input = "nobody", nil }, "AGENT_NOT_FOUND", "no such agent"},
		"disabled agent":      {func(in *task.SubmitIn) { in.AgentID, in.Input = "retired", nil }, "AGENT_PERMISSION_DENIED", "disabled"},
		"untrusted agent":     {func(in *task.SubmitIn) { in.AgentID, in.Input = "theirs", nil }, "WORKSPACE_UNTRUSTED", "toolfold trust"},
		"unknown queue":       {func(in *task.SubmitIn) { in.QueueID = "nowhere" }, task.QueueNotFound, "queue.list"},
		"unknown dependency":  {func(in *task.SubmitIn) { in.Dependencies = []string{id(77)} }, toolfold.InvalidInput, id(77)},
		"not even an id":      {func(in *task.SubmitIn) { in.Dependencies = []string{"the other"} }, toolfold.InvalidInput, "the other"},
		"failed dependency":   {func(in *task.SubmitIn) { in.Dependencies = []string{id(1)} }, task.InvalidState, "retry it first"},
		"timeout without one": {func(in *task.SubmitIn) { in.Type = task.Timeout }, toolfold.InvalidInput, "timeoutMs"},
		"wait with a tool":    {func(in *task.SubmitIn) { in.Type = task.Wait }, toolfold.InvalidInput, "only waits"},
		"large input": {func(in *task.SubmitIn) {
			in.Input = json.RawMessage(`{"tool":"memory.store","arguments":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`)
		}, toolfold.InvalidInput, "the limit is 1048576"},
		"wait for nothing": {func(in *task.SubmitIn) { in.Type, in.Input = task.Wait, nil }, toolfold.InvalidInput, "scheduledAt"},
	} {
		t.Run(name, func(t *testing.T) {
			in := storing()
			test.change(&in)
			_, err := b.Submit(t.Context(), in)
			refused(t, err, test.code, test.words)
		})
	}
	if out, err := b.List(t.Context(), task.ListIn{Page: toolfold.Page{Limit: 5}}); err != nil || out.Total != 1 {
		t.Errorf("%d tasks, %v: what is refused leaves nothing behind", out.Total, err)
	}
}

func TestSubmitKeepsEverything(t *testing.T) {
	b := newBench(t)
	b.submit(storing())
	full := task.SubmitIn{
		Name: "full", Description: "d", AgentID: "planner", Priority: task.Low, QueueID: "default",
		Dependencies: []string{strings.ToUpper(id(1)), id(1)}, Tags: []string{"a", "a", "b"}, Type: task.Other,
		ScheduledAt: noon.Add(time.Hour), TimeoutMs: 5, MaxAttempts: 2,
	}
	want := task.SubmitOut{TaskID: id(2), QueueID: task.DefaultQueue, Status: task.Pending, SubmittedAt: noon.Add(2 * time.Second)}
	if diff := cmp.Diff(want, b.submit(full)); diff != "" {
		t.Errorf("answer (-want +got)\n%s", diff)
	}
	got, err := b.Status(callctx.WithFields(t.Context(), []string{"input"}), task.StatusIn{TaskID: id(2)})
	if err != nil {
		t.Fatal(err)
	}
	record := task.Record{Item: task.Item{
		TaskID: id(2), QueueID: task.DefaultQueue, Name: "full", Description: "d", AgentID: "planner", Input: json.RawMessage(`{}`),
		InputBytes: 2,
		Priority:   task.Low, Type: task.Other, Status: task.Pending, Dependencies: []string{id(1)}, Tags: []string{"a", "b"},
		Attempt: 1, MaxAttempts: 2, TimeoutMs: 5, ScheduledAt: new(noon.Add(time.Hour)), NextAt: new(noon.Add(time.Hour)),
		CreatedAt: noon.Add(2 * time.Second),
	}, WaitsFor: "dependency " + id(1) + ", which is queued"}
	if diff := cmp.Diff(record, got); diff != "" {
		t.Errorf("record (-want +got)\n%s", diff)
	}
}

// A queue's priority applies if the task has no priority.
func TestDefaultPriority(t *testing.T) {
	b := newBench(t)
	queues := family.New(b.db.Queue(), time.Now, func() string { return id(50) })
	if _, err := queues.Create(t.Context(), family.CreateIn{Name: "calm", MaxConcurrency: 1, DefaultPriority: task.Background}); err != nil {
		t.Fatal(err)
	}
	in := storing()
	b.submit(in)
	in.QueueID = "calm"
	b.submit(in)
	in.Priority = task.Critical
	b.submit(in)
	for n, want := range []string{task.Medium, task.Background, task.Critical} {
		if got, err := b.Status(t.Context(), task.StatusIn{TaskID: id(n + 1)}); err != nil || got.Priority != want {
			t.Errorf("task %d has priority %s, want %s (%v)", n+1, got.Priority, want, err)
		}
	}
}

func TestListPages(t *testing.T) {
	b := newBench(t)
	for range 4 {
		b.submit(storing())
	}
	var got []string
	in := task.ListIn{Page: toolfold.Page{Limit: 2}}
	for page := 1; ; page++ {
		out, err := b.List(t.Context(), in)
		if err != nil || out.Total != 4 {
			t.Fatal(out.Total, err)
		}
		for _, r := range out.Tasks {
			got = append(got, r.TaskID)
		}
		if out.HasMore != (page < 2) || out.HasMore != (out.NextCursor != "") {
			t.Fatalf("page %d: hasMore %v, cursor %q", page, out.HasMore, out.NextCursor)
		}
		if in.Cursor = out.NextCursor; !out.HasMore {
			break
		}
	}
	if diff := cmp.Diff([]string{id(4), id(3), id(2), id(1)}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	_, err := b.List(t.Context(), task.ListIn{Page: toolfold.Page{Limit: 2, Cursor: "nonsense"}})
	var failure *toolfold.Error
	if !errors.As(err, &failure) || len(failure.Problems) != 1 || failure.Problems[0].Path != "/cursor" {
		t.Errorf("a wrong cursor: %v", err)
	}
	_, err = b.List(t.Context(), task.ListIn{QueueID: "nowhere", Page: toolfold.Page{Limit: 2}})
	refused(t, err, task.QueueNotFound, "nowhere")
}

func TestCancelAndRetryRefuse(t *testing.T) {
	b := newBench(t)
	for range 2 {
		b.submit(storing())
	}
	ctx := t.Context()
	_, err := b.Cancel(ctx, task.CancelIn{TaskID: id(9)})
	refused(t, err, task.NotFound, "task.list")
	_, err = b.Retry(ctx, task.RetryIn{TaskID: id(9)})
	refused(t, err, task.NotFound, "task.list")
	_, err = b.Status(ctx, task.StatusIn{TaskID: id(9)})
	refused(t, err, task.NotFound, "task.list")
	_, err = b.Retry(ctx, task.RetryIn{TaskID: id(1)})
	refused(t, err, task.InvalidState, "queued")

	ticket := b.start(1)
	_, err = b.Cancel(ctx, task.CancelIn{TaskID: id(1)}) // no worker could stop it
	refused(t, err, task.CancelFailed, "force")
	b.finish(ticket, task.Completed)
	_, err = b.Cancel(ctx, task.CancelIn{TaskID: id(1), Force: true})
	refused(t, err, task.InvalidState, "completed")
	_, err = b.Retry(ctx, task.RetryIn{TaskID: id(1)})
	refused(t, err, task.InvalidState, "completed")
	b.finish(b.start(2), task.TimedOut)
	_, err = b.Cancel(ctx, task.CancelIn{TaskID: id(2)})
	refused(t, err, task.InvalidState, "timeout")
}

func TestCancelAndRetry(t *testing.T) {
	b := newBench(t)
	b.submit(storing())
	out, err := b.Cancel(t.Context(), task.CancelIn{TaskID: strings.ToUpper(id(1))})
	if err != nil || out.Reason != "cancelled by request" || out.TaskID != id(1) {
		t.Fatal(out, err)
	}
	for _, test := range []struct {
		reset   bool
		attempt int
	}{{false, 2}, {false, 3}, {true, 1}} {
		got, err := b.Retry(t.Context(), task.RetryIn{TaskID: id(1), ResetAttempts: test.reset})
		if err != nil || got.Attempt != test.attempt || got.Status != task.Queued {
			t.Fatalf("%v, %v, want attempt %d", got, err, test.attempt)
		}
		if _, err := b.Cancel(t.Context(), task.CancelIn{TaskID: id(1)}); err != nil {
			t.Fatal(err)
		}
	}
}

// A storm of tasks is cancelled by a common tag. The counts before and after include tasks that
// ended meanwhile.
func TestCancelAll(t *testing.T) {
	b := newBench(t)
	storm := storing()
	storm.Tags = []string{"storm"}
	for range 4 {
		b.submit(storm)
	}
	b.submit(storing())
	b.finish(b.start(1), task.Completed)
	b.start(2)
	cancel := func(in task.CancelIn) task.CancelCounts {
		t.Helper()
		in.Reason = "enough"
		out, err := b.Cancel(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return *out.Tasks
	}
	for _, step := range []struct {
		in   task.CancelIn
		want task.CancelCounts
	}{
		{task.CancelIn{Tags: []string{"storm"}, DryRun: true}, task.CancelCounts{Matched: 3, Running: 1, Open: 2}},
		{task.CancelIn{Tags: []string{"calm"}}, task.CancelCounts{}},
		{task.CancelIn{Tags: []string{"storm"}, Status: []string{task.Running}, DryRun: true}, task.CancelCounts{Matched: 1, Running: 1}},
		{task.CancelIn{QueueID: "default", Tags: []string{"storm"}}, task.CancelCounts{Matched: 3, Running: 1, Cancelled: 2}},
		{task.CancelIn{Status: []string{task.Queued}}, task.CancelCounts{Matched: 1, Cancelled: 1}},
		{task.CancelIn{QueueID: "default", Force: true}, task.CancelCounts{Matched: 1, Cancelled: 1}},
		{task.CancelIn{QueueID: "default"}, task.CancelCounts{}},
	} {
		if diff := cmp.Diff(step.want, cancel(step.in)); diff != "" {
			t.Errorf("%+v: %s", step.in, diff)
		}
	}
	got, err := b.Status(t.Context(), task.StatusIn{TaskID: id(2)})
	if err != nil || got.Status != task.Cancelled || got.Error != "enough" {
		t.Errorf("the one that ran is %s: %s, %v", got.Status, got.Error, err)
	}
	for _, wrong := range []struct {
		in         task.CancelIn
		code, hint string
	}{
		{task.CancelIn{}, toolfold.InvalidInput, "queueId"},
		{task.CancelIn{TaskID: id(1), Tags: []string{"storm"}}, toolfold.InvalidInput, "leave out"},
		{task.CancelIn{TaskID: id(1), DryRun: true}, toolfold.InvalidInput, "task.status"},
		{task.CancelIn{Status: []string{task.Failed}}, task.InvalidState, "paused"},
		{task.CancelIn{QueueID: "nowhere"}, task.QueueNotFound, "queue"},
	} {
		_, err := b.Cancel(t.Context(), wrong.in)
		refused(t, err, wrong.code, wrong.hint)
	}
}

// failingStore is a store of which CancelAll fails from a call on.
type failingStore struct {
	task.Store
	calls, after int
}

func (f *failingStore) CancelAll(ctx context.Context, ids []string, c task.Cancellation) error {
	if f.calls++; f.calls > f.after {
		return errors.New("the disk is gone")
	}
	return f.Store.CancelAll(ctx, ids, c)
}

// A bulk cancel that is cut off says what it did.
func TestCancelAllInPart(t *testing.T) {
	b := newBench(t)
	b.MaxOpen = 1000
	for range 501 {
		b.submit(storing())
	}
	store := b.Store
	for after, words := range []string{"",
		"500 of the 501 tasks that match were cancelled or asked to stop before an error: 500 are cancelled, 0 still run"} {
		b.Store = &failingStore{store, 0, after}
		_, err := b.Cancel(t.Context(), task.CancelIn{QueueID: "default"})
		if words == "" {
			if refusal, is := errors.AsType[*toolfold.Error](err); is || err == nil {
				t.Errorf("nothing was done: %v, %v", refusal, err)
			}
			continue
		}
		refused(t, err, task.CancelFailed, words)
		if !strings.Contains(err.Error(), "the disk is gone") {
			t.Errorf("%v does not say why", err)
		}
	}
	b.Store = store
	out, err := b.Cancel(t.Context(), task.CancelIn{QueueID: "default"})
	if err != nil || *out.Tasks != (task.CancelCounts{Matched: 1, Cancelled: 1}) {
		t.Errorf("the others: %+v, %v", out.Tasks, err)
	}
}

// A task's status shows what it waits for if no worker serves its workspace.
func TestWaitsForWorker(t *testing.T) {
	b := newBench(t)
	b.submit(storing())
	for _, worked := range []bool{false, true} {
		if worked {
			b.submit(storing())
			b.start(1)
		}
		got, err := b.Status(t.Context(), task.StatusIn{TaskID: id(1 + map[bool]int{true: 1}[worked])})
		if err != nil || strings.Contains(got.WaitsFor, place) == worked || got.Workspace != "" {
			t.Errorf("waits for %q in %q (%v)", got.WaitsFor, got.Workspace, err)
		}
	}
	elsewhere := task.New(task.Options{Store: b.db.Task(), Workspace: "elsewhere", Now: time.Now})
	got, err := elsewhere.Status(t.Context(), task.StatusIn{TaskID: id(1)})
	if err != nil || got.Workspace != place {
		t.Errorf("seen from another workspace it is in %q (%v)", got.Workspace, err)
	}
}

// Open tasks of a workspace are limited, and so are tasks that submit tasks.
func TestSubmitIsBounded(t *testing.T) {
	b := newBench(t)
	for range 8 {
		b.submit(storing())
	}
	_, err := b.Submit(t.Context(), storing())
	refused(t, err, toolfold.LimitReached, "8 tasks")
	if _, err := b.Cancel(t.Context(), task.CancelIn{TaskID: id(1)}); err != nil {
		t.Fatal(err)
	}
	within := t.Context()
	for depth := range task.MaxDepth {
		within = task.WithDepth(t.Context(), depth)
	}
	if _, err := b.Submit(within, storing()); err != nil {
		t.Fatal(err)
	}
	_, err = b.Submit(task.WithDepth(t.Context(), task.MaxDepth), storing())
	refused(t, err, task.TooDeep, "5 times")
}

// A list has inputs and outputs only on request.
func TestListLeavesOut(t *testing.T) {
	b := newBench(t)
	b.submit(storing())
	for _, test := range []struct {
		fields []string
		want   bool
	}{{nil, false}, {[]string{"tasks.taskId", "total"}, false}, {[]string{"tasks.input"}, true}, {[]string{"tasks.input.tool"}, true}} {
		test.fields = append(test.fields, "tasks.inputBytes")
		out, err := b.List(callctx.WithFields(t.Context(), test.fields), task.ListIn{Page: toolfold.Page{Limit: 5}})
		if err != nil || (out.Tasks[0].Input != nil) != test.want || out.Tasks[0].InputBytes != len(storing().Input) {
			t.Errorf("%v: %v (%v)", test.fields, out, err)
		}
	}
}

// A task in a list shows only the fields that differ from defaults, in 60 tokens, and all of them
// on request. Its status shows all except the input.
func TestBriefly(t *testing.T) {
	b := newBench(t)
	b.submit(storing())
	if _, err := b.Cancel(t.Context(), task.CancelIn{TaskID: id(1), Reason: "no"}); err != nil {
		t.Fatal(err)
	}
	list := func(named ...string) (task.Item, string) {
		t.Helper()
		out, err := b.List(callctx.WithFields(t.Context(), named), task.ListIn{Page: toolfold.Page{Limit: 5}})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(out.Tasks[0])
		if err != nil {
			t.Fatal(err)
		}
		return out.Tasks[0], string(text)
	}
	_, text := list()
	sum := 0
	const times = 50 // token counts of random ids differ
	for range times {
		n, err := tokens.Count(strings.Replace(text, `"taskId":"`+id(1), `"taskId":"`+uuid.NewString(), 1))
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	t.Logf("a task in a list has %d tokens", sum/times)
	if sum > 60*times {
		t.Errorf("a task in a list has %d tokens, want 60 at most: %s", sum/times, text)
	}
	for _, member := range []string{"queueId", "type", "priority", "attempt", "maxAttempts", "dependencies", "tags", "inputBytes",
		"completedAt"} {
		if strings.Contains(text, `"`+member+`"`) {
			t.Errorf("%s is there by default: %s", member, text)
		}
		if _, text := list("tasks." + member); !strings.Contains(text, `"`+member+`"`) {
			t.Errorf("%s is not there when it is asked for: %s", member, text)
		}
	}
	item, _ := list()
	if item.Input != nil || item.Output != nil {
		t.Errorf("input or output is there without being asked for: %s", text)
	}
	for _, test := range []struct {
		fields []string
		want   bool
	}{{nil, false}, {[]string{"input"}, true}} {
		record, err := b.Status(callctx.WithFields(t.Context(), test.fields), task.StatusIn{TaskID: item.TaskID})
		if err != nil || (record.Input != nil) != test.want || record.InputBytes == 0 || record.Tags == nil || record.Priority == "" ||
			record.Attempt != 1 {
			t.Errorf("%v: %+v (%v)", test.fields, record, err)
		}
	}
}

// A definition contains all agents that a task names in plain text: in nested steps, as delegations
// and as calls. Missing agents, and agents named by an expression, are left out.
func TestDefine(t *testing.T) {
	t.Parallel()
	agents := agentDefinitions{
		"lead": `[{"stepId":"a","type":"delegate","config":{"agentId":"writer"}},
			{"stepId":"b","type":"parallel","config":{"steps":[
			{"stepId":"c","type":"tool","config":{"tool":"agent.run","arguments":{"agentId":"tester"}}}]}},
			{"stepId":"d","type":"conditional","config":{"condition":"true","then":[
			{"stepId":"e","type":"delegate","config":{"targetAgent":"lead"}}]}},
			{"stepId":"f","type":"loop","config":{"until":"true","steps":[{"stepId":"g","type":"delegate","config":{"agentId":"{{ input.who }}"}}]}},
			{"stepId":"h","type":"delegate","config":{"agentId":"nobody"}}]`,
		"writer": `[]`, "tester": `[{"stepId":"s","type":"delegate","config":{"agentId":"writer"}}]`, "other": `[]`,
	}
	for name, todo := range map[string]task.Task{
		"agent": {AgentID: "lead"},
		"call":  {Input: json.RawMessage(`{"tool":"agent.run","arguments":{"agentId":"lead"}}`)},
	} {
		definition, err := todo.Define(t.Context(), agents, agents)
		if err != nil {
			t.Fatal(err)
		}
		pins, err := task.Pins(definition)
		if got := strings.Join(slices.Sorted(maps.Keys(pins)), " "); err != nil || got != "agent lead agent tester agent writer" {
			t.Errorf("%s: it has %s, %v", name, got, err)
		}
	}
	if definition, err := (task.Task{Input: json.RawMessage(`{"tool":"agent.run","arguments":{"agentId":"{{ tasks.a.output }}"}}`)}).
		Define(t.Context(), agents, agents); definition != "" || err != nil {
		t.Errorf("an expression is defined as %s, %v", definition, err)
	}
	if _, err := (task.Task{AgentID: "nobody"}).Define(t.Context(), agents, agents); err == nil {
		t.Error("a task of an agent that is not there has a definition")
	}
}

// agentDefinitions holds the steps of agents, by id.
type agentDefinitions map[string]string

func (d agentDefinitions) Call(_ context.Context, _ string, args json.RawMessage) toolfold.Answer {
	var in struct{ AgentID string }
	if err := json.Unmarshal(args, &in); err != nil || d[in.AgentID] == "" {
		return toolfold.Errorf("AGENT_NOT_FOUND", "there is no such agent").Answer()
	}
	return toolfold.Answer{Content: json.RawMessage(`{"agentId":"` + in.AgentID + `","enabled":true,"workflow":` + d[in.AgentID] + `}`)}
}

func (agentDefinitions) Lookup(name string) []*entry.Entry {
	return []*entry.Entry{{Tool: name, Action: &toolfold.Action{Name: "run", Effect: toolfold.Runs,
		Family: &toolfold.Family{Name: "agent"}}}}
}

func (agentDefinitions) Nearest(string) string { return "" }

// A submit with the key of an open task fails, and the error shows how that task differs.
func TestKeyOfAnotherTask(t *testing.T) {
	b := newBench(t)
	in := storing()
	in.Key, in.Schedule = "nightly", "0 3 * * *"
	b.submit(in)
	if same := b.submit(in); !same.Existing || same.Message != "" {
		t.Errorf("the same again: %+v", same)
	}
	in.Name, in.Schedule, in.Input = "other", "0 4 * * *", json.RawMessage(`{"tool":"memory.store","arguments":{"key":"x"}}`)
	other := b.submit(in)
	if !other.Existing || !strings.HasPrefix(other.Message, "nothing was submitted") ||
		!strings.Contains(other.Message, "another name, input, schedule;") {
		t.Errorf("another one: %+v", other)
	}
}

// The status of a task that has not started shows what it waits for.
func TestWaitsFor(t *testing.T) {
	b := newBench(t)
	first := b.submit(storing())
	after, later, scheduled := storing(), storing(), storing()
	after.Dependencies = []string{first.TaskID}
	later.ScheduledAt = noon.Add(1000 * time.Hour)
	scheduled.Schedule = "0 3 * * *"
	check := func(in task.SubmitIn, want string, next bool) {
		t.Helper()
		got, err := b.Status(t.Context(), task.StatusIn{TaskID: b.submit(in).TaskID})
		if err != nil || got.WaitsFor != want || (got.NextAt != nil) != next {
			t.Errorf("it waits for %q, next at %v (%v), want %q", got.WaitsFor, got.NextAt, err, want)
		}
	}
	check(after, "dependency "+first.TaskID+", which is queued", false)
	check(later, "its time, nextAt", true)
	check(scheduled, "the next time of its schedule", true)
	if _, _, err := b.db.Queue().SetPaused(t.Context(), task.DefaultQueue, true); err != nil {
		t.Fatal(err)
	}
	check(storing(), "queue default is paused: queue.resume", false)
}
