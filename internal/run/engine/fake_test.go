package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/suggest"
	"github.com/toolfold/toolfold/tools/memory"
)

// fakeCaller runs Go functions as tools and notes the calls.
type fakeCaller struct {
	mu    sync.Mutex
	calls []string
	tools map[string]func(ctx context.Context, args map[string]any) (any, error)
}

func (f *fakeCaller) Call(ctx context.Context, name string, raw json.RawMessage) toolfold.Answer {
	f.mu.Lock()
	f.calls = append(f.calls, name+" "+string(raw))
	f.mu.Unlock()
	tool, ok := f.tools[name]
	if !ok {
		return entry.Unknown(name).Answer()
	}
	var args map[string]any
	if err := json.Unmarshal(raw, &args); err != nil {
		return toolfold.Errorf(toolfold.InvalidInput, "%v", err).Answer()
	}
	result, err := tool(ctx, args)
	if known, ok := err.(*toolfold.Error); ok {
		return known.Answer()
	}
	if err != nil {
		return toolfold.Errorf("BROKEN", "%v", err).Answer()
	}
	return toolfold.Answer{Content: ordered.MustJSON(result)}
}

// echo answers with its arguments.
func echo(_ context.Context, args map[string]any) (any, error) { return args, nil }

func newCaller() *fakeCaller {
	return &fakeCaller{tools: map[string]func(context.Context, map[string]any) (any, error){"echo": echo}}
}

// fakeTools knows the tool of the memory family under all its names.
type fakeTools struct{}

func (fakeTools) Lookup(name string) []*entry.Entry {
	var list []*entry.Entry
	for _, a := range memory.Family.Declared().Actions {
		if e := entry.Select(a); name == e.Tool {
			list = append(list, e)
		}
		if name == a.FullName() {
			return []*entry.Entry{entry.New(a, name)}
		}
	}
	return list
}

func (fakeTools) Actions() []*toolfold.Action { return memory.Family.Declared().Actions }

func (fakeTools) Absence(string) *toolfold.Error { return nil }

func (fakeTools) Nearest(name string) string {
	return suggest.Nearest(name, []string{"memory", "memory.list", "memory.store"})
}

func steps(t testing.TB, text string) []Step {
	t.Helper()
	d, broken := workspace.Parse("test.yaml", []byte("steps:\n "+strings.ReplaceAll(text, "\n", "\n ")))
	if broken != nil {
		t.Fatal(broken)
	}
	list, faults := ParseSteps(ordered.MustJSON(d.Value["steps"]), "")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return list
}

func compiled(t testing.TB, text string) *Program {
	t.Helper()
	p, faults := Compile(Definition{Steps: steps(t, text)}, nil)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return p
}

// do runs steps as a workflow.
func do(t testing.TB, caller toolfold.Caller, text, input string) Result {
	t.Helper()
	values, err := Input(json.RawMessage(input))
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{Caller: caller, Log: slog.New(slog.DiscardHandler)}
	return r.Run(t.Context(), Job{Kind: WorkflowJob, ID: "test", Program: compiled(t, text), Input: values})
}

func succeed(t testing.TB, r Result) Result {
	t.Helper()
	if r.Failure != nil {
		t.Fatalf("the run failed: %+v", r.Failure)
	}
	return r
}

// expect compares the outputs of a run, as JSON.
func expect(t testing.TB, r Result, want string) {
	t.Helper()
	if got := string(ordered.MustJSON(succeed(t, r).Outputs)); got != want {
		t.Errorf("the outputs are\n%s, want\n%s", got, want)
	}
}

func expectFailure(t testing.TB, r Result, step, code, message string) {
	t.Helper()
	if r.Failure == nil || r.Failure.Code != code || r.Failure.StepID != step || !strings.Contains(r.Failure.Message, message) {
		t.Errorf("the failure is %+v, want %s of %s with %q", r.Failure, code, step, message)
	}
}

// engineGoroutines counts the goroutines that run code of this package,
// tests aside.
func engineGoroutines() int {
	buf := make([]byte, 4<<20)
	n := 0
	for _, stack := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, "engine.(*list).run") || strings.Contains(stack, "engine.(*node).execute") {
			n++
		}
	}
	return n
}
