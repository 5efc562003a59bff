package trace

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// at returns a span with start and end in seconds after noon.
func at(id, parent, kind string, from, to float64) Span {
	moment := func(s float64) time.Time { return noon.Add(time.Duration(s * float64(time.Second))) }
	return Span{TraceID: "t", ID: id, Parent: parent, Root: parent == "", Kind: kind, Label: id, Status: Success, Start: moment(from),
		End: moment(to)}
}

// Own times exclude nested steps, even overlapping ones. The critical path adds up to the total.
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
	got := newTree(spans, noon, noon.Add(time.Hour)).analyze([]Trace{took("a", 1), took("b", 5), took("c", 4), took("d", 1), took("e", 6)})
	got.Recommendations = got.recommend()
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
		Errors: []Cause{}, Retries: []Retry{}, Usual: &Usual{MedianMs: 4000, Ratio: 2.5, Traces: 5, TraceID: "c"},
		Recommendations: []string{
			"b took 50 % of the time (5000 ms): make it faster before anything else",
			"it took 2.5 times the usual 4000 ms: compareTo c shows which steps are slower",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// took returns an earlier trace.
func took(id string, seconds int) Trace {
	return Trace{ID: id, Start: noon, End: noon.Add(time.Duration(seconds) * time.Second)}
}

// A short run is compared with three earlier ones; fewer do not suffice.
func TestUsual(t *testing.T) {
	t.Parallel()
	spans := []Span{at("root", "", Call, 0, 0.8), at("slow", "root", Step, 0, 0.79)}
	earlier := []Trace{took("a", 0), took("b", 0), took("c", 0)}
	for i := range earlier {
		earlier[i].End = noon.Add(time.Duration(50+i) * time.Millisecond)
	}
	tree := newTree(spans, noon, noon.Add(time.Hour))
	if out := tree.analyze(earlier[:2]); out.Usual != nil || len(out.recommend()) != 0 {
		t.Errorf("two traces say what is usual: %+v, %q", out.Usual, out.recommend())
	}
	out := tree.analyze(earlier)
	if diff := cmp.Diff(&Usual{MedianMs: 51, Ratio: 15.686, Traces: 3, TraceID: "b"}, out.Usual); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"slow took 99 % of the time (790 ms): make it faster before anything else",
		"it took 15.7 times the usual 51 ms: compareTo b shows which steps are slower",
	}, out.recommend()); diff != "" {
		t.Error(diff)
	}
}

// A failure is listed with its step and its call's arguments.
func TestFailedStep(t *testing.T) {
	t.Parallel()
	spans := []Span{
		at("root", "", Call, 0, 1), at("fetch", "root", Step, 0, 1), at("session.status", "fetch", Call, 0, 1),
		at("retry", "root", Step, 0, 1), at("session.status", "retry", Call, 0, 1),
		at("broken", "root", Step, 0, 1),
	}
	for i, code := range []string{"STEP", "STEP", "NOT_FOUND", "STEP", "NOT_FOUND", "BAD"} {
		spans[i].Status, spans[i].Code, spans[i].Message = Failure, code, "why"
	}
	spans[2].ID, spans[4].ID = "1", "2"
	spans[2].Attributes = map[string]string{ArgumentNamesAttribute: `["sessionId"]`}
	out := newTree(spans, noon, noon.Add(time.Hour)).analyze(nil)
	if diff := cmp.Diff([]Cause{{
		SpanID: "1", Label: "session.status", Path: "root > fetch > session.status", Step: "fetch", Input: `["sessionId"]`,
		Fault: Fault{"NOT_FOUND", "why"}, Count: 2,
	}, {
		SpanID: "broken", Label: "broken", Path: "root > broken", Step: "broken", Fault: Fault{"BAD", "why"}, Count: 1,
	}}, out.Errors); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"look at fetch: session.status failed there 2 times with NOT_FOUND",
		"look at the input of broken: it failed with BAD",
	}, out.recommend()[:2]); diff != "" {
		t.Error(diff)
	}
	spans[2].Attributes[ArgumentsAttribute] = `{"sessionId":"s"}`
	if got := newTree(spans, noon, noon).analyze(nil).Errors[0].Input; got != `{"sessionId":"s"}` {
		t.Errorf("kept arguments are %s", got)
	}
}

// The failure that ended the run comes first, whatever failed before it: a step with
// continueOnError, a retried attempt, or a failure within a success.
func TestFatalFailureComesFirst(t *testing.T) {
	t.Parallel()
	spans := []Span{
		at("root", "", Call, 0, 9), at("run", "root", Workflow, 0, 9),
		at("b", "run", Step, 0, 3), at("session.status", "b", Call, 0, 1), at("again", "b", Call, 1, 3),
		at("c", "run", Step, 3, 5), at("within", "c", Call, 3, 4),
		at("e", "run", Step, 5, 9), at("memory.get", "e", Call, 5, 6), at("last", "e", Call, 7, 8),
	}
	for i := range spans {
		spans[i].Status, spans[i].Code, spans[i].Message = Failure, "BAD", "why"
	}
	spans[2].Tolerated = true
	spans[4].Label, spans[9].Label = "session.status", "memory.get"
	spans[8].Code = "BUSY"
	spans[5].Status = Success
	out := newTree(spans, noon, noon.Add(time.Hour)).analyze(nil)
	var got []string
	for _, c := range out.Errors {
		got = append(got, fmt.Sprint(c.SpanID, " ", c.Label, " ", c.Code, " ", c.Tolerated, " ", c.Count))
	}
	if diff := cmp.Diff([]string{
		"last memory.get BAD false 1", "session.status session.status BAD true 2", "within within BAD true 1",
	}, got[:min(len(got), 3)]); diff != "" {
		t.Error(diff, got)
	}
	if diff := cmp.Diff([]string{
		"look at e: memory.get failed there with BAD",
		"the run went on after b failed 2 times with BAD: look there if it should not",
		"the run went on after c failed with BAD: look there if it should not",
	}, out.recommend()[:3]); diff != "" {
		t.Error(diff)
	}
	// A tolerated failure does not explain a run that fails by itself.
	out = newTree(spans[:3], noon, noon.Add(time.Hour)).analyze(nil)
	if out.Errors[0].SpanID != "run" || out.Errors[0].Tolerated || !out.Errors[1].Tolerated {
		t.Errorf("causes are %+v", out.Errors)
	}
}

// Two traces are compared by steps: the own times of all steps with the same name are added.
func TestCompare(t *testing.T) {
	t.Parallel()
	tree := func(id string, spans ...Span) *tree {
		for i := range spans {
			spans[i].ID = id + spans[i].ID
			if spans[i].Parent != "" {
				spans[i].Parent = id + spans[i].Parent
			}
			spans[i].TraceID = id
		}
		return newTree(spans, noon, noon.Add(time.Hour))
	}
	named := func(s Span, label string) Span { s.Label = label; return s }
	before := tree("x",
		at("root", "", Call, 0, 5), at("loop", "root", Step, 0, 2), named(at("1", "loop", Step, 0, 1), "a"),
		named(at("2", "loop", Step, 1, 2), "a"), at("b", "root", Step, 2, 3), at("c", "root", Step, 3, 4), at("old", "root", Step, 4, 5))
	now := tree("y",
		at("root", "", Call, 0, 9), at("loop", "root", Step, 0, 5), named(at("1", "loop", Step, 0, 4), "a"),
		named(at("2", "loop", Step, 4, 5), "a"), at("b", "root", Step, 5, 6.05), at("c", "root", Step, 6, 6.5),
		named(at("c2", "root", Step, 6.5, 7), "c"), at("new", "root", Step, 8, 8.5))
	want := &Comparison{TraceID: "x", DifferenceMs: 4000, Alike: 2, Steps: []Difference{
		{"loop > a", "slower", 3000, 5000, 2, 2}, {"old", "gone", -1000, 0, 0, 1}, {"new", "new", 500, 500, 1, 0},
		{"c", "repeats", 0, 1000, 2, 1},
	}}
	if diff := cmp.Diff(want, now.compareTo(before)); diff != "" {
		t.Error(diff)
	}
	if got := before.compareTo(now).Steps[0]; got.Change != "faster" || got.DifferenceMs != -3000 {
		t.Errorf("the other way round: %+v", got)
	}
	out := now.analyze(nil)
	out.Compared = now.compareTo(before)
	if got := out.recommend(); !slices.Contains(got, "loop > a (slower) makes 3000 of the 4000 ms of difference: look there first") {
		t.Errorf("recommended %q", got)
	}
}

// Several calls in one trace of a caller, and spans whose parent was lost, still make one readable
// trace.
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
