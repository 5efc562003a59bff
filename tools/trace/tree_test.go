package trace

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// at is a span from one second after noon to another.
func at(id, parent, kind string, from, to float64) Span {
	moment := func(s float64) time.Time { return noon.Add(time.Duration(s * float64(time.Second))) }
	return Span{TraceID: "t", ID: id, Parent: parent, Root: parent == "", Kind: kind, Label: id, Status: Success, Start: moment(from),
		End: moment(to)}
}

// Own times leave out the steps within, also where these overlap; the critical
// path adds up to the whole.
func TestTimes(t *testing.T) {
	t.Parallel()
	spans := []Span{
		at("root", "", Call, 0, 10),
		at("run", "root", Workflow, 0, 10),
		at("loop", "run", Step, 1, 9),
		at("a", "loop", Step, 1, 5),
		at("b", "loop", Step, 3, 8),
		at("call", "b", Call, 3, 7),
	}
	got := newTree(spans, noon, noon.Add(time.Hour)).analyze([]time.Duration{time.Second, 5 * time.Second, 4 * time.Second, time.Second,
		6 * time.Second})
	want := AnalyzeOut{
		TraceID: "t", Label: "root", Status: Success, DurationMs: 10_000, StepCount: 3,
		SlowestSteps: []StepTime{
			{SpanID: "b", Label: "b", DurationMs: 5000, OwnMs: 5000, Share: 0.5},
			{SpanID: "a", Label: "a", DurationMs: 4000, OwnMs: 4000, Share: 0.4},
			{SpanID: "loop", Label: "loop", DurationMs: 8000, OwnMs: 1000, Share: 0.1},
		},
		CriticalPath: []PathPart{
			{"run", "run", 2000}, {"loop", "loop", 1000}, {"a", "a", 2000}, {"b", "b", 1000}, {"call", "call", 4000},
		},
		Errors: []Cause{}, Retries: []Retry{}, Usual: &Usual{MedianMs: 4000, Ratio: 2.5, Traces: 5},
		Recommendations: []string{
			"b took 50 % of the time (5.0 s): make it faster before anything else",
			"it took 2.5 times the usual 4.0 s: compare with a faster one by trace.list and trace.get",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Several calls of one caller's trace, and spans whose parent was lost, are
// still one readable trace.
func TestSeveralRoots(t *testing.T) {
	t.Parallel()
	first, second, lost := at("first", "", Call, 0, 1), at("second", "", Call, 2, 3), at("lost", "elsewhere", Step, 4, 5)
	first.Status, first.Code = Failure, "X"
	first.Parent, first.Root = "caller", true
	lost.Status, lost.End = Running, time.Time{}
	for _, test := range []struct {
		now    time.Time
		status string
		end    float64
	}{{noon.Add(6 * time.Second), Running, 6}, {noon.Add(Silence + 7*time.Second), Failure, 5}} {
		tree := newTree([]Span{first, second, lost}, noon.Add(5*time.Second), test.now)
		if tree.label != "first" || tree.status != Failure || len(tree.roots) != 3 || tree.duration().Seconds() != test.end {
			t.Errorf("%s is %s with %d roots for %v", tree.label, tree.status, len(tree.roots), tree.duration())
		}
		if got := tree.spans[2].Status; got != test.status {
			t.Errorf("what was running is %s, want %s", got, test.status)
		}
	}
}
