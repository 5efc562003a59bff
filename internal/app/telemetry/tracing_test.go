package telemetry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/app/telemetry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/audit"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/config"
	"github.com/toolfold/toolfold/tools/trace"
)

// TestMain unsets the machine's settings for exporting spans.
func TestMain(m *testing.M) {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "OTEL_") {
			_ = os.Unsetenv(name)
		}
	}
	os.Exit(m.Run())
}

// bench is a whole workbench with traced calls.
type bench struct {
	*surface.Surface
	tracing *telemetry.Tracing
	store   *storage.LazyDB
	each    time.Duration // minimum duration of a call
}

// lasting is middleware that makes each call take some time in a synctest bubble, because spans
// that begin at the same time have no order.
func (b *bench) lasting(next call.Func) call.Func {
	return func(ctx context.Context, c *call.Call) toolfold.Answer {
		time.Sleep(b.each)
		return next(ctx, c)
	}
}

func newBench(t testing.TB, files map[string]string, change func(*telemetry.Options)) *bench {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	b := &bench{store: storage.Lazy("sqlite://" + filepath.Join(dir, "test.db"))}
	o := telemetry.Options{
		Open: func(ctx context.Context) (trace.Store, error) {
			db, err := b.store.Open(ctx)
			if err != nil {
				return nil, err
			}
			return db.Trace(), nil
		},
		Opened: b.store.Opened(), Days: 14, Megabytes: 100, Log: log, Now: time.Now,
	}
	if change != nil {
		change(&o)
	}
	var err error
	if b.tracing, err = telemetry.New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.tracing.Close(); b.store.Close() })
	b.Surface = surface.New(surface.Options{Log: log, Middleware: []call.Middleware{b.tracing.Calls, b.lasting}})
	families, err := app.Mount(app.Host{
		Open:  b.store.Open,
		Files: config.Files{Global: filepath.Join(dir, "config.json"), Workspace: dir}, Caller: b.Runner, Discovery: b.Discovery, Log: log,
		Tracer: b.tracing.Provider(), Recorded: b.tracing.Flush, Now: time.Now, NewID: uuid.NewString,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Put(families...); err != nil {
		t.Fatal(err)
	}
	return b
}

// do calls an action that must succeed.
func do[Out any](t testing.TB, b *bench, name, args string) Out {
	t.Helper()
	out, err := toolfold.Do[Out](t.Context(), b.Runner, name, json.RawMessage(args))
	if err != nil {
		t.Fatalf("%s %s: %v", name, args, err)
	}
	return out
}

const slowWorkflow = `
name: Release
version: 1.0.0
steps:
  - {stepId: note, name: Note, type: tool, config: {tool: memory.store, arguments: {key: a, value: {secret: word}}}}
  - {stepId: slow, name: Slow, type: tool, config: {tool: slow}}
  - {stepId: read, name: Read, type: tool, config: {tool: memory.get, arguments: {key: a}}}
`

const failingAgent = `{"agentId": "reviewer", "description": "Reviews.", "workflow": [
	{"stepId": "list", "type": "tool", "config": {"tool": "memory.list"}},
	{"stepId": "look", "type": "tool", "retry": {"maxAttempts": 3, "backoffMs": 1}, "config": {"tool": "broken"}}]}`

// addTools adds a slow tool and one that fails.
func addTools(t testing.TB, b *bench) {
	for name, run := range map[string]func(context.Context, json.RawMessage) (json.RawMessage, error){
		"slow": func(context.Context, json.RawMessage) (json.RawMessage, error) {
			time.Sleep(300 * time.Millisecond)
			return json.RawMessage(`{}`), nil
		},
		"broken": func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return nil, toolfold.Errorf("DISK_FULL", "there is no room")
		},
	} {
		f, err := toolfold.External{Name: name, Description: "A tool that tests.", Category: "tests",
			InputSchema: json.RawMessage(`{"type":"object","properties":{}}`), Run: run}.Family()
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Put(f); err != nil {
			t.Fatal(err)
		}
	}
}

func labels(spans []trace.SpanItem) (list []string) {
	for _, s := range spans {
		list = append(list, strings.Repeat("  ", s.Depth)+s.Label+" "+s.Status)
	}
	return list
}

// A recorded workflow run has the right tree, the right slowest step, and the answer that its
// caller may have missed.
func TestWorkflowRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, checkWorkflowRun) // in the bubble the slow step takes 300 ms, and the others 1 ms
}

func checkWorkflowRun(t *testing.T) {
	b := newBench(t, map[string]string{".toolfold/workflows/release.yaml": slowWorkflow}, nil)
	b.each = time.Millisecond
	addTools(t, b)
	ran := do[json.RawMessage](t, b, "workflow.run", `{"workflowId": "release"}`)
	list := do[trace.ListOut](t, b, "trace.list", `{}`)
	if len(list.Traces) != 1 || list.Traces[0].Label != "workflow.run release" || list.Traces[0].Status != trace.Success ||
		list.Traces[0].SpanCount != 8 {
		t.Fatalf("listed %+v", list.Traces)
	}
	id := list.Traces[0].TraceID
	got := do[trace.GetOut](t, b, "trace.get", `{"traceId": "`+id+`", "include_fields": ["spans", "spans.answer", "durationMs"]}`)
	want := []string{
		"workflow.run release success", "  invoke_workflow release success",
		"    step note success", "      memory.store success", "    step slow success", "      slow success",
		"    step read success", "      memory.get success",
	}
	if diff := cmp.Diff(want, labels(got.Spans)); diff != "" {
		t.Fatal(diff)
	}
	var paged []trace.SpanItem
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		page := do[trace.GetOut](t, b, "trace.get", `{"traceId": "`+id+`", "limit": 3, "cursor": "`+cursor+`"}`)
		if paged = append(paged, page.Spans...); page.SpanCount != 8 || len(page.Spans) > 3 || page.HasMore != (page.NextCursor != "") {
			t.Fatalf("a page of %d spans of %d: %v", len(page.Spans), page.SpanCount, page.Paged)
		}
		cursor = page.NextCursor
	}
	if diff := cmp.Diff(want, labels(paged)); diff != "" || paged[0].Answer != nil {
		t.Errorf("in pages, with answer %s: %s", paged[0].Answer, diff)
	}
	if answer := b.Runner.Call(t.Context(), "trace.get", json.RawMessage(`{"traceId": "`+id+`", "cursor": "bm9uZQ"}`)); answer.Err == nil ||
		answer.Err.Code != toolfold.InvalidInput {
		t.Errorf("another trace's cursor: %s", answer.Content)
	}
	if string(got.Spans[0].Answer) != string(ran) || got.Spans[0].AnswerBytes != len(ran) {
		t.Errorf("the run answered %s, %d bytes of %s are kept", ran, got.Spans[0].AnswerBytes, got.Spans[0].Answer)
	}
	for _, part := range []string{"spans[0:1].answer", "spans.answer.workflowId"} {
		of := do[trace.GetOut](t, b, "trace.get", `{"traceId": "`+id+`", "include_fields": ["`+part+`"]}`)
		if len(of.Spans) == 0 || !strings.Contains(string(of.Spans[0].Answer), "release") {
			t.Errorf("%s is %+v", part, of.Spans)
		}
	}
	steps := 0.0
	for _, s := range got.Spans {
		if s.Kind == trace.Step {
			steps += s.DurationMs
		}
		if s.Kind == trace.Call && (s.Arguments.Bytes == 0 && s.Label != "slow" || s.Result.Bytes == 0 || s.Result.Tokens == 0) {
			t.Errorf("%s has arguments %v and result %v", s.Label, s.Arguments, s.Result)
		}
		if text := fmt.Sprint(s.Attributes); strings.Contains(text, "word") {
			t.Errorf("%s shows values: %s", s.Label, text)
		}
		if s.OffsetMs < 0 || s.OffsetMs+s.DurationMs > got.DurationMs+0.01 {
			t.Errorf("%s is from %v for %v ms, outside of %v ms", s.Label, s.OffsetMs, s.DurationMs, got.DurationMs)
		}
	}
	if steps > got.Spans[1].DurationMs {
		t.Errorf("steps took %v of %v ms", steps, got.Spans[1].DurationMs)
	}
	a := do[trace.AnalyzeOut](t, b, "trace.analyze", `{"traceId": "`+id+`"}`)
	if a.StepCount != 3 || a.SlowestSteps[0].Label != "step slow" || a.SlowestSteps[0].OwnMs != 301 || a.SlowestSteps[0].Share < 0.9 ||
		a.ErrorCount != 0 {
		t.Errorf("analysed as %+v", a)
	}
	sum, longest := 0.0, trace.PathPart{}
	for _, p := range a.CriticalPath {
		sum += p.Ms
		if p.Ms > longest.Ms {
			longest = p
		}
	}
	if longest.Label != "slow" || sum < a.DurationMs-0.1 || sum > a.DurationMs+0.1 {
		t.Errorf("the critical path of %v ms: %+v", a.DurationMs, a.CriticalPath)
	}

	for range 3 {
		do[json.RawMessage](t, b, "workflow.run", `{"workflowId": "release"}`)
	}
	list = do[trace.ListOut](t, b, "trace.list", `{"limit": 1}`)
	newest := list.Traces[0].TraceID
	a = do[trace.AnalyzeOut](t, b, "trace.analyze", `{"traceId": "`+newest+`","compareTo":"`+id+`"}`)
	if a.Usual == nil || a.Usual.Traces != 3 || a.Usual.Ratio <= 0 {
		t.Errorf("compared with %+v", a.Usual)
	}
	if a.Compared == nil || a.Compared.TraceID != id || len(a.Compared.Steps)+a.Compared.Alike != 3 {
		t.Errorf("compared with %+v", a.Compared)
	}
	if !list.HasMore || list.Total != 4 {
		t.Errorf("one of four: %+v", list)
	}
	for _, wrong := range []string{newest, "nowhere"} {
		if _, err := toolfold.Do[trace.AnalyzeOut](t.Context(), b.Runner, "trace.analyze",
			json.RawMessage(`{"traceId":"`+newest+`","compareTo":"`+wrong+`"}`)); err == nil {
			t.Errorf("is compared to %s", wrong)
		}
	}
}

// The failure that ended a run is listed before one after which the run continued, which is marked.
func TestFailureThatEndedTheRun(t *testing.T) {
	b := newBench(t, map[string]string{".toolfold/workflows/odd.yaml": `
name: Odd
version: 1.0.0
steps:
  - {stepId: b, name: B, type: tool, config: {tool: session.status, arguments: {sessionId: 00000000-0000-4000-8000-000000000001}},
     continueOnError: true, retry: {maxAttempts: 3, backoffMs: 1}}
  - {stepId: c, name: C, type: tool, dependsOn: [b], config: {tool: memory.store, arguments: {key: a, value: {v: 1}}}}
  - {stepId: e, name: E, type: tool, dependsOn: [c], config: {tool: memory.get, arguments: {key: "{{ steps.c.nothing.at.all }}"}}}
`}, nil)
	if answer := b.Runner.Call(t.Context(), "workflow.run", json.RawMessage(`{"workflowId": "odd"}`)); answer.Err != nil {
		t.Fatal(answer.Err)
	}
	list := do[trace.ListOut](t, b, "trace.list", `{"label": "odd", "status": "failure"}`)
	if len(list.Traces) != 1 {
		t.Fatalf("listed %+v", list.Traces)
	}
	a := do[trace.AnalyzeOut](t, b, "trace.analyze", `{"traceId": "`+list.Traces[0].TraceID+`"}`)
	if len(a.Errors) != 2 || a.Errors[0].Step != "step e" || a.Errors[0].Tolerated ||
		a.Errors[1].Step != "step b" || !a.Errors[1].Tolerated || a.Errors[1].Count != 3 {
		t.Errorf("errors %+v", a.Errors)
	}
	if len(a.Recommendations) < 2 || !strings.Contains(a.Recommendations[0], "step e") ||
		!strings.HasPrefix(a.Recommendations[1], "the run went on after step b failed 3 times") {
		t.Errorf("recommended %q", a.Recommendations)
	}
}

// One run is found among many calls: by its target, caller, workspace, session, task, error and
// time.
func TestRunsAreFound(t *testing.T) {
	workflow := strings.Replace(slowWorkflow, "tool: slow", "tool: memory.list", 1)
	b := newBench(t, map[string]string{".toolfold/workflows/nightly.yaml": workflow}, func(o *telemetry.Options) {
		o.Workspace = "github.com/acme/shop"
	})
	for range 30 {
		do[json.RawMessage](t, b, "memory.list", `{}`)
	}
	from := func(client string) context.Context { return callctx.With(t.Context(), toolfold.Origin{Client: client}) }
	if answer := b.Runner.Call(from("claude-code"), "workflow.run", json.RawMessage(`{"workflowId": "nightly"}`)); answer.Err != nil {
		t.Fatal(answer.Err)
	}
	const id = "00000000-0000-4000-8000-00000000ABCD"
	b.Runner.Call(from("codex"), "session.status", json.RawMessage(`{"sessionId": "`+id+`"}`))
	of := work.InSessions(t.Context(), strings.ToLower(id))
	_, span := b.tracing.Provider().Tracer("a run").Start(of, "task nightly",
		oteltrace.WithAttributes(engine.TaskKey.String(strings.ToLower(id))))
	span.End()
	for filter, want := range map[string][]string{
		`"label": "nightly"`:                                  {"task nightly", "workflow.run nightly"},
		`"label": "workflow."`:                                {"workflow.run nightly"},
		`"caller": "claude-code"`:                             {"workflow.run nightly"},
		`"sessionId": "` + id + `"`:                           {"task nightly", "session.status"},
		`"taskId": "` + id + `"`:                              {"task nightly"},
		`"error": "session_not"`:                              {"session.status"},
		`"workspace": "github.com/acme/shop", "label": "ses"`: {"session.status"},
		`"workspace": "github.com/acme/else"`:                 nil,
		`"until": "2026-01-01T00:00:00Z"`:                     nil,
		`"since": "2026-01-01T00:00:00Z", "label": "session"`: {"session.status"},
		`"minDurationMs": 80000000`:                           nil,
	} {
		list := do[trace.ListOut](t, b, "trace.list", `{`+filter+`}`)
		var got []string
		for _, found := range list.Traces {
			got = append(got, found.Label)
		}
		if diff := cmp.Diff(want, got); diff != "" || list.Total != len(want) {
			t.Errorf("%s: %s, total %d", filter, diff, list.Total)
		}
	}
	_, err := toolfold.Do[trace.ListOut](t.Context(), b.Runner, "trace.list",
		json.RawMessage(`{"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}`))
	if err == nil || !strings.Contains(err.Error(), "until is not after since") {
		t.Errorf("until before since: %v", err)
	}
}

// Each span of a caller with a token has its name and session: also in steps, and in the calls of a task that it made.
func TestSpansOfCallers(t *testing.T) {
	workflow := strings.Replace(slowWorkflow, "tool: slow", "tool: memory.list", 1)
	b := newBench(t, map[string]string{".toolfold/workflows/nightly.yaml": workflow}, nil)
	spans := func(caller string) (labels []string) {
		for _, found := range do[trace.ListOut](t, b, "trace.list", `{"caller": "`+caller+`"}`).Traces {
			for _, s := range do[trace.GetOut](t, b, "trace.get", `{"traceId": "`+found.TraceID+`"}`).Spans {
				label := s.Label
				if s.Attributes[trace.CallerAttribute] != caller || s.Attributes["service.instance.id"] != audit.Server() {
					label += " without a caller"
				}
				labels = append(labels, strings.TrimSpace(label+" "+s.Attributes["session.id"]))
			}
		}
		return labels
	}
	ada := toolfold.Origin{Caller: "ada", Token: "adaadaada", Client: "ada a desk", Session: "s1"}
	b.Runner.Call(callctx.With(t.Context(), ada), "workflow.run", json.RawMessage(`{"workflowId": "nightly"}`))
	if got := spans("ada"); len(got) < 7 || strings.Count(strings.Join(got, "\n"), " s1") != len(got) ||
		strings.Contains(strings.Join(got, "\n"), "without") {
		t.Errorf("%q", got)
	}
	of := callctx.With(callctx.With(t.Context(), toolfold.Origin{Client: "a task"}), callctx.By{Caller: "bob", Recorded: true})
	b.Runner.Call(of, "memory.list", json.RawMessage(`{}`))
	b.Runner.Call(callctx.With(t.Context(), toolfold.Origin{Client: "bob"}), "memory.get", json.RawMessage(`{"key": "k"}`))
	if diff := cmp.Diff([]string{"memory.get without a caller", "memory.list"}, spans("bob")); diff != "" {
		t.Error(diff)
	}
}

// A failing agent run shows the failure at its place, and the trace has failed although the call
// has an answer.
func TestFailingAgent(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, nil)
	addTools(t, b)
	do[json.RawMessage](t, b, "agent.register", failingAgent)
	do[json.RawMessage](t, b, "agent.run", `{"agentId": "reviewer"}`)
	list := do[trace.ListOut](t, b, "trace.list", `{"status": "failure"}`)
	if len(list.Traces) != 1 || list.Traces[0].Label != "agent.run reviewer" {
		t.Fatalf("listed %+v", list.Traces)
	}
	a := do[trace.AnalyzeOut](t, b, "trace.analyze", `{"traceId": "`+list.Traces[0].TraceID+`"}`)
	if a.ErrorCount != 3 || len(a.Errors) != 1 || a.Errors[0].Label != "broken" || a.Errors[0].Code != "DISK_FULL" || a.Errors[0].Count != 3 ||
		a.Errors[0].Path != "agent.run reviewer > invoke_agent reviewer > step look > broken" {
		t.Errorf("errors %+v", a.Errors)
	}
	if len(a.Retries) != 1 || a.Retries[0].Label != "step look" || a.Retries[0].Attempts != 3 || a.Retries[0].Status != trace.Failure {
		t.Errorf("retries %+v", a.Retries)
	}
	want := []string{
		"look at step look: broken failed there 3 times with DISK_FULL",
		"step look needed 3 attempts: look why the first ones failed",
	}
	if diff := cmp.Diff(want, a.Recommendations); diff != "" {
		t.Error(diff)
	}
}

// A running span is listed and shown as running, and as interrupted once its process is gone.
func TestRunning(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, nil)
	_, span := b.tracing.Provider().Tracer("a run").Start(t.Context(), "task nightly")
	_, child := b.tracing.Provider().Tracer("a run").Start(oteltrace.ContextWithSpan(t.Context(), span), "part")
	child.End()
	id := span.SpanContext().TraceID().String()
	list := do[trace.ListOut](t, b, "trace.list", `{"status": "running"}`)
	if len(list.Traces) != 1 || list.Traces[0].TraceID != id || list.Traces[0].SpanCount != 2 {
		t.Fatalf("running are %+v", list)
	}
	db, err := b.store.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	later := trace.New(db.Trace(), nil, func() time.Time { return time.Now().Add(trace.Silence + time.Second) })
	got, err := later.Get(t.Context(), trace.GetIn{TraceID: id, Page: toolfold.Page{Limit: 9}})
	if err != nil || got.Status != trace.Failure || got.Spans[0].Error == nil || got.Spans[0].Error.Code != trace.Interrupted ||
		got.Spans[1].Status != trace.Success {
		t.Errorf("later it is %+v, %v", got, err)
	}
	if list, err := later.List(t.Context(), trace.ListIn{Status: trace.Failure, Page: toolfold.Page{Limit: 9}}); err != nil ||
		list.Total != 1 {
		t.Errorf("later %d have failed, %v", list.Total, err)
	}
	span.End()
	list = do[trace.ListOut](t, b, "trace.list", `{"status": "success"}`)
	if len(list.Traces) != 1 || list.Traces[0].SpanCount != 2 {
		t.Errorf("at the end: %+v", list)
	}
}

// Calls alone do not open the store; their spans wait for it. If calls are not traced, runs and the
// calls that they make still are.
func TestRunsOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, func(o *telemetry.Options) { o.RunsOnly = true })
	do[any](t, b, "memory.store", `{"key":"a","value":{"n":1}}`)
	do[any](t, b, "agent.register", `{"agentId":"a","description":"Reads.","workflow":[{"stepId":"get","type":"tool",`+
		`"config":{"tool":"memory.get","arguments":{"key":"a"}}}]}`)
	do[any](t, b, "agent.run", `{"agentId":"a"}`)
	b.Runner.Call(t.Context(), "nope", nil)
	if err := b.tracing.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := b.store.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	page, err := db.Trace().List(t.Context(), trace.Query{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Traces) != 1 || page.Traces[0].Label != "agent.run a" || page.Traces[0].Spans < 3 {
		t.Errorf("recorded %+v, want one run with its step and what that called", page.Traces)
	}
}

func TestStoreStaysClosed(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, nil)
	for range 3 {
		do[json.RawMessage](t, b, "config.show", `{}`)
		if err := b.tracing.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-b.store.Opened():
		t.Fatal("a call that needs no store has opened it")
	default:
	}
	if list := do[trace.ListOut](t, b, "trace.list", `{}`); list.Total != 3 {
		t.Errorf("of 3 calls %d are kept", list.Total)
	}
}

// Spans beyond the limit are dropped and counted, and a failing store only loses spans.
func TestBounds(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, func(o *telemetry.Options) {
		o.Open = func(context.Context) (trace.Store, error) { return nil, errors.New("the store is away") }
	})
	for range 20_000 {
		_, span := b.tracing.Provider().Tracer("a run").Start(t.Context(), "x")
		span.End()
	}
	_ = b.tracing.Flush(t.Context()) // the ones that a flush in the background has left
	if n := b.tracing.Dropped(); n != 20_000 {
		t.Errorf("%d were dropped", n)
	}
}

// pacedStore records when batches were stored, and their sizes.
type pacedStore struct {
	trace.Store
	at    []time.Time
	sizes []int
}

func (s *pacedStore) Put(ctx context.Context, spans []trace.Span, now time.Time) error {
	s.at, s.sizes = append(s.at, time.Now()), append(s.sizes, len(spans))
	return s.Store.Put(ctx, spans, now)
}

// A full batch is stored every quarter of a second. If calls come faster, successful ones are
// dropped first, and counted. In a bubble, calls take no time.
func TestTooManyCalls(t *testing.T) {
	t.Parallel()
	const batch, most = 1024, 4096 // batch size, and limit of waiting successful calls
	synctest.Test(t, func(t *testing.T) {
		paced := &pacedStore{}
		b := newBench(t, nil, func(o *telemetry.Options) {
			open := o.Open
			o.Open = func(ctx context.Context) (trace.Store, error) {
				store, err := open(ctx)
				paced.Store = store
				return paced, err
			}
		})
		call := func(n int, args string) {
			for range n {
				b.Runner.Call(t.Context(), "memory.get", json.RawMessage(args))
			}
		}
		do[any](t, b, "memory.store", `{"key":"a","value":{"n":1}}`)
		call(5999, `{"key":"a"}`)
		if n := b.tracing.Dropped(); n != 6000-most {
			t.Errorf("of 6,000 calls %d were dropped, want all but %d", n, most)
		}
		call(1000, `{"key":7}`)
		if n := b.tracing.Dropped(); n != 6000-most {
			t.Errorf("%d calls that failed were dropped", n-(6000-most))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for i, size := range paced.sizes {
			if size > batch || i > 0 && paced.at[i].Sub(paced.at[i-1]) < 250*time.Millisecond {
				t.Errorf("batches of %v spans were stored at %v", paced.sizes, paced.at)
			}
		}
		for range 40 { // ten seconds at the rate of storing
			call(batch, `{"key":"a"}`)
			time.Sleep(250 * time.Millisecond)
		}
		if n := b.tracing.Dropped(); n != 6000-most {
			t.Errorf("%d calls were dropped at the rate at which they are stored", n-(6000-most))
		}
		for status, want := range map[string]int{"failure": 1000, "success": most + 40*batch} {
			if list := do[trace.ListOut](t, b, "trace.list", `{"status":"`+status+`","limit":1}`); list.Total != want {
				t.Errorf("%d calls with %s are kept, want %d", list.Total, status, want)
			}
		}
	})
}

// Captured arguments and results are shortened and hide secrets: by member names, by texts that
// look like credentials, and in parameters sent as text. Keys of entries are shown.
func TestCapture(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, func(o *telemetry.Options) { o.Arguments = true })
	const token = "ghp_" + "R4nd0mXy7QkLm2Np8Wv5Tz1Bc6Df3Gh9Jk0S"
	lastCall := func() (arguments, result string) {
		list := do[trace.ListOut](t, b, "trace.list", `{"limit":1}`)
		got := do[trace.GetOut](t, b, "trace.get", `{"traceId": "`+list.Traces[0].TraceID+`"}`)
		return got.Spans[0].Attributes["toolfold.arguments"], got.Spans[0].Attributes["toolfold.result"]
	}
	for _, args := range []string{
		`{"key":"team/rules","value":{"password":"hunter2","deep":[{"api_key":"hunter2"}],"text":"use ` + token + ` for it"}}`,
		`{"params":{"key":"team/rules","value":{"password":"hunter2","text":"` + token + `"}}}`,
		`{"params":"{\"key\":\"team/rules\",\"value\":{\"password\":\"hunter2\",\"text\":\"` + token + `\"}}"}`,
	} {
		do[json.RawMessage](t, b, "memory.store", args)
		if arguments, result := lastCall(); !strings.Contains(arguments, "team/rules") || !strings.Contains(result, "team/rules") ||
			strings.Contains(arguments+result, "hunter2") || strings.Contains(arguments+result, token) {
			t.Errorf("kept of %s: %s, %s", args, arguments, result)
		}
		do[json.RawMessage](t, b, "memory.get", `{"keys":["team/rules"]}`)
		if _, result := lastCall(); !strings.Contains(result, `"key":"team/rules"`) ||
			strings.Contains(result, "hunter2") || strings.Contains(result, token) {
			t.Errorf("kept of the entry: %s", result)
		}
	}
	do[json.RawMessage](t, b, "memory.store", `{"key": "k", "value": {"text": "`+strings.Repeat("x", 20_000)+`"}}`)
	if arguments, _ := lastCall(); !strings.Contains(arguments, `{"key":`) || len(arguments) > 9000 {
		t.Errorf("kept %d bytes: %.200s", len(arguments), arguments)
	}
}

// A call with an unknown name has that name as label, shortened and without secrets, also if spans
// are exported.
func TestUnknownCalls(t *testing.T) {
	const token = "ghp_" + "R4nd0mXy7QkLm2Np8Wv5Tz1Bc6Df3Gh9Jk0S"
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	for _, endpoint := range []string{"", receiver.URL} {
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
		b := newBench(t, nil, nil)
		b.Runner.Call(t.Context(), "memory", json.RawMessage(`{"action":"forget"}`))
		b.Runner.Call(t.Context(), "memory.erase", nil)
		b.Runner.Call(t.Context(), "nope", json.RawMessage(`{"action":7}`))
		b.Runner.Call(t.Context(), "memory", json.RawMessage(`{"action":"`+token+`"}`))
		b.Runner.Call(t.Context(), strings.Repeat("x", 100), nil)
		var got []string
		for _, item := range do[trace.ListOut](t, b, "trace.list", `{"limit":5}`).Traces {
			got = append(got, item.Label)
		}
		slices.Sort(got)
		want := []string{"memory.erase", "memory.forget", "memory.xxxxx", "nope", strings.Repeat("x", 40) + "…"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sent to %q: %s", endpoint, diff)
		}
	}
}

// A failed call records the names of its arguments that its action declares, however it was called.
// A successful call records none.
func TestNamesOfArguments(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, nil)
	call := func(args string) trace.GetOut {
		_, _ = toolfold.Do[json.RawMessage](t.Context(), b.Runner, "memory.store", json.RawMessage(args))
		list := do[trace.ListOut](t, b, "trace.list", `{"limit":1}`)
		return do[trace.GetOut](t, b, "trace.get", `{"traceId": "`+list.Traces[0].TraceID+`"}`)
	}
	for args, want := range map[string]string{
		`{"key":"","value":"hunter2","hunter2":1}`:    `["key","value"]`,
		`{"params":{"key":"","namespace":"hunter2"}}`: `["key","namespace"]`,
		`{"key":"a","value":1}`:                       ``,
	} {
		got := call(args)
		if names := got.Spans[0].Attributes["toolfold.arguments.names"]; names != want {
			t.Errorf("of %s it keeps %q, want %q", args, names, want)
		}
		if want == "" {
			continue
		}
		a := do[trace.AnalyzeOut](t, b, "trace.analyze", `{"traceId": "`+got.TraceID+`"}`)
		if a.Errors[0].Input != want || strings.Contains(fmt.Sprint(got.Spans[0].Attributes), "hunter2") {
			t.Errorf("of %s: %+v, %v", args, a.Errors, got.Spans[0].Attributes)
		}
	}
}

// An OTLP collector receives the same spans, within the caller's trace.
func TestOTLP(t *testing.T) {
	var mu sync.Mutex
	arrived := map[string][]string{} // names by trace
	parents := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request tracepb.TracesData
		if err == nil {
			err = proto.Unmarshal(body, &request)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL, err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, s := range scope.Spans {
					id := fmt.Sprintf("%x", s.TraceId)
					arrived[id] = append(arrived[id], s.Name)
					parents[fmt.Sprintf("%x", s.ParentSpanId)] = true
					if strings.Contains(s.String(), "word") {
						t.Errorf("%s carries values: %s", s.Name, s)
					}
				}
			}
		}
	}))
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	b := newBench(t, map[string]string{".toolfold/workflows/release.yaml": slowWorkflow}, nil)
	addTools(t, b)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	traced, err := serve.New(serve.Options{Surface: b.Surface})
	if err != nil {
		t.Fatal(err)
	}
	served := httptest.NewServer(traced.Handler(""))
	defer served.Close()
	for _, by := range []string{"header", "meta"} {
		header, meta := parent, ""
		if by == "meta" { // takes precedence over the header
			header, meta = "00-11111111111111111111111111111111-2222222222222222-01", `"traceparent":"`+parent+`",`
		}
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"workflow","arguments":{"action":"run",` +
			`"workflowId":"release"},"_meta":{` + meta +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},` +
			`"io.modelcontextprotocol/clientCapabilities":{}}}}`
		request, err := http.NewRequest("POST", served.URL+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28",
			"Mcp-Method": "tools/call", "Mcp-Name": "workflow", "Traceparent": header,
		} {
			request.Header.Set(name, value)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(response.Body); err != nil || !strings.Contains(string(text), `\"success\":true`) {
			t.Fatalf("%s: %s %v", by, text, err)
		}
		response.Body.Close()
	}
	got := do[trace.GetOut](t, b, "trace.get", `{"traceId": "0af7651916cd43dd8448eb211c80319c"}`)
	b.tracing.Close()
	mu.Lock()
	defer mu.Unlock()
	if len(got.Spans) != 16 || got.Spans[0].Parent != "b7ad6b7169203331" || !parents["b7ad6b7169203331"] {
		t.Errorf("%d spans are kept, the first within %s", len(got.Spans), got.Spans[0].Parent)
	}
	names := arrived["0af7651916cd43dd8448eb211c80319c"]
	slices.Sort(names)
	want := []string{"call memory.get", "call memory.store", "call slow", "call workflow.run", "execute_tool memory.get",
		"execute_tool memory.store", "execute_tool slow", "invoke_workflow release"}
	if diff := cmp.Diff(slices.Sorted(slices.Values(slices.Concat(want, want))), names); diff != "" {
		t.Error(diff)
	}
}

// An unusable endpoint is reported at the start.
func TestOTLPProtocol(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:4317")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	if _, err := telemetry.New(telemetry.Options{Now: time.Now}); err == nil || !strings.Contains(err.Error(), "http/protobuf") {
		t.Errorf("told %v", err)
	}
	t.Setenv("OTEL_SDK_DISABLED", "true")
	if _, err := telemetry.New(telemetry.Options{Now: time.Now}); err != nil {
		t.Errorf("turned off, told %v", err)
	}
}

// The records stay within the limit, however much is recorded.
func TestTrim(t *testing.T) {
	t.Parallel()
	var passed atomic.Int64 // atomic, because the exporter reads the clock in the background
	start := time.Now()
	b := newBench(t, nil, func(o *telemetry.Options) {
		o.Megabytes = 1
		o.Now = func() time.Time { return start.Add(time.Duration(passed.Load())) }
	})
	if _, err := b.store.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	total := 0
	for range 5 {
		for range 2000 {
			_, span := b.tracing.Provider().Tracer("a run").Start(t.Context(), "x")
			span.End()
		}
		passed.Add(int64(2 * time.Minute))
		if err := b.tracing.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		total = do[trace.ListOut](t, b, "trace.list", `{"limit": 1}`).Total
	}
	if total < 2000 || total > 8000 {
		t.Errorf("of 10,000 traces %d are kept in a megabyte", total)
	}
}

// The times of a call come from the clock of the options.
func TestTimesOfCalls(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	b := newBench(t, nil, func(o *telemetry.Options) { o.Now = func() time.Time { return at } })
	do[json.RawMessage](t, b, "memory.list", `{}`)
	list := do[trace.ListOut](t, b, "trace.list", `{}`)
	if len(list.Traces) != 1 || !list.Traces[0].StartedAt.Equal(at) || list.Traces[0].DurationMs != 0 {
		t.Errorf("at %s a call is recorded as %+v", at, list.Traces)
	}
}

// A span that could not be stored as running still counts once. Of spans that could not be stored,
// only ended ones are lost.
func TestStoreComesBack(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	b := newBench(t, nil, func(o *telemetry.Options) {
		open := o.Open
		o.Open = func(ctx context.Context) (trace.Store, error) {
			if away.Load() {
				return nil, errors.New("the store is away")
			}
			return open(ctx)
		}
	})
	ctx, span := b.tracing.Provider().Tracer("a run").Start(t.Context(), "task nightly")
	for _, is := range []bool{true, false} {
		away.Store(is)
		_, child := b.tracing.Provider().Tracer("a run").Start(ctx, "part")
		child.End()
		_ = b.tracing.Flush(t.Context()) // unless a flush in the background was first
	}
	span.End()
	list := do[trace.ListOut](t, b, "trace.list", `{"status": "success"}`)
	if len(list.Traces) != 1 || list.Traces[0].SpanCount != 2 || b.tracing.Dropped() != 1 {
		t.Errorf("kept %+v, %d dropped", list.Traces, b.tracing.Dropped())
	}
}
