package storagetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/tools/trace"
)

// Trace returns the tests of the store of the trace family.
func Trace() Suite {
	return Suite{
		Name: "trace",
		Behaviours: map[string]func(*testing.T, *storage.DB){
			"spans":  putSpans,
			"list":   listTraces,
			"labels": listLabels,
			"find":   findTraces,
			"trim":   trimTraces,
		},
	}
}

// span returns the n-th span of a trace, which began n seconds after noon and took half a second.
func span(traceID string, n int) trace.Span {
	start := noon.Add(time.Duration(n) * time.Second)
	return trace.Span{
		TraceID: traceID, ID: fmt.Sprintf("%016x", n), Root: n == 0, Label: fmt.Sprint("müssen\x00 ", n), Kind: trace.Step,
		Status: trace.Success, Start: start, End: start.Add(time.Second / 2),
	}
}

func putSpans(t *testing.T, db *storage.DB) {
	s := db.Trace()
	root := span("t", 0)
	root.End, root.Status = time.Time{}, trace.Running
	child := span("t", 1)
	child.Parent, child.Status, child.Code, child.Message = root.ID, trace.Failure, "STEP_FAILED", "why"
	child.Arguments, child.Result, child.Attempts = trace.Size{Bytes: 1, Tokens: 2}, trace.Size{Bytes: 3, Tokens: 4}, 5
	child.Attributes = map[string]string{"a": "b"}
	noError(t, s.Put(t.Context(), []trace.Span{child, root}, noon))
	got, lastReport, err := s.Spans(t.Context(), "t")
	noError(t, err)
	equal(t, got, []trace.Span{root, child})
	equal(t, lastReport, noon)
	noError(t, s.Hear(t.Context(), []string{"t", "nowhere"}, noon.Add(time.Minute)))

	ended := span("t", 0)
	ended.End, ended.Begun, ended.Answer = noon.Add(time.Hour), true, json.RawMessage(`{"a":1}`)
	noError(t, s.Put(t.Context(), []trace.Span{ended}, noon.Add(time.Hour)))
	got, lastReport, err = s.Spans(t.Context(), "t")
	noError(t, err)
	equal(t, lastReport, noon.Add(time.Hour))
	want := ended
	want.Begun, want.Answer, want.AnswerBytes = false, nil, 7
	equal(t, got, []trace.Span{want, child})
	answers, err := s.Answers(t.Context(), "t", []string{ended.ID, child.ID, "nowhere"})
	noError(t, err)
	equal(t, answers, map[string]json.RawMessage{ended.ID: ended.Answer})
	none, _, err := s.Spans(t.Context(), "nowhere")
	noError(t, err)
	equal(t, len(none), 0)

	var many []trace.Span // too many for one statement
	for n := range 150 {
		many = append(many, span("many", n))
	}
	noError(t, s.Put(t.Context(), many, noon))
	got, _, err = s.Spans(t.Context(), "many")
	noError(t, err)
	equal(t, got, many)
}

// listLabels pages through the traces of few and of many labels. Traces of several labels begin at the same time.
func listLabels(t *testing.T, db *storage.DB) {
	s, labels := db.Trace(), 40
	var spans []trace.Span
	for n := range 120 {
		added := span(fmt.Sprintf("t%03d", n), 0)
		added.Label, added.Start = fmt.Sprintf("g.%d", n%labels), noon.Add(time.Duration(n/7)*time.Minute)
		spans = append(spans, added)
	}
	noError(t, s.Put(t.Context(), spans, noon))
	slices.Reverse(spans) // newest first
	for _, prefix := range []string{"g.7", "g.1", "g.", "h"} {
		var want, got []string
		for _, one := range spans {
			if strings.HasPrefix(one.Label, prefix) {
				want = append(want, one.TraceID)
			}
		}
		q := trace.Query{Label: prefix, HeardFrom: noon, Limit: 5}
		for {
			page, err := s.List(t.Context(), q)
			noError(t, err)
			equal(t, page.Total, len(want))
			if len(page.Traces) == 0 {
				break
			}
			for _, tr := range page.Traces {
				got = append(got, tr.ID)
			}
			last := page.Traces[len(page.Traces)-1]
			q.After = &toolfold.Position{CreatedAt: last.Start, ID: last.ID}
		}
		equal(t, got, want)
		page, err := s.List(t.Context(), trace.Query{Label: prefix, HeardFrom: noon, Limit: 5, Uncounted: true})
		noError(t, err)
		equal(t, []int{page.Total, len(page.Traces)}, []int{0, min(5, len(want))})
	}
}

func listTraces(t *testing.T, db *storage.DB) {
	s := db.Trace()
	put := func(id string, minute int, change func(*trace.Span)) {
		added := span(id, 0)
		added.Start = noon.Add(time.Duration(minute) * time.Minute)
		added.End = added.Start.Add(time.Duration(minute) * time.Second)
		if change != nil {
			change(&added)
		}
		noError(t, s.Put(t.Context(), []trace.Span{added}, added.Start))
	}
	put("a", 1, nil)
	put("b", 2, func(s *trace.Span) { s.Status = trace.Failure })
	put("c", 3, func(s *trace.Span) { s.Status, s.End = trace.Running, time.Time{} })
	put("d", 9, func(s *trace.Span) { s.Status, s.End = trace.Running, time.Time{} })
	put("e", 10, func(s *trace.Span) { s.Status, s.End = trace.Running, time.Time{} })
	put("e", 10, func(s *trace.Span) { s.Begun = true })
	put("e", 11, func(s *trace.Span) { s.ID, s.Label = "another root", "later" })
	list := func(q trace.Query) (ids string, total int) {
		q.HeardFrom = noon.Add(8 * time.Minute)
		if q.Limit == 0 {
			q.Limit = 9
		}
		page, err := s.List(t.Context(), q)
		noError(t, err)
		for _, tr := range page.Traces {
			ids += tr.ID + ":" + tr.Status + " "
		}
		return ids, page.Total
	}
	for _, test := range []struct {
		q     trace.Query
		ids   string
		total int
	}{
		{trace.Query{}, "e:success d:running c:failure b:failure a:success ", 5},
		{trace.Query{Limit: 2}, "e:success d:running ", 5},
		{trace.Query{After: &toolfold.Position{CreatedAt: noon.Add(9 * time.Minute), ID: "d"}}, "c:failure b:failure a:success ", 5},
		{trace.Query{Status: trace.Success}, "e:success a:success ", 2},
		{trace.Query{Status: trace.Failure}, "c:failure b:failure ", 2},
		{trace.Query{Status: trace.Running}, "d:running ", 1},
	} {
		ids, total := list(test.q)
		equal(t, []any{ids, total}, []any{test.ids, test.total})
	}
	page, err := s.List(t.Context(), trace.Query{Limit: 1})
	noError(t, err)
	equal(t, page.Traces[0], trace.Trace{
		ID: "e", Label: span("e", 0).Label, Status: trace.Success, Start: noon.Add(10 * time.Minute),
		End: noon.Add(11*time.Minute + 11*time.Second), Spans: 2,
	})
	usual, err := s.Usual(t.Context(), span("a", 0).Label, noon.Add(10*time.Minute))
	noError(t, err)
	began := noon.Add(time.Minute)
	equal(t, usual, []trace.Trace{{ID: "a", Start: began, End: began.Add(time.Second)}})
}

// Traces are found among many by their fields.
func findTraces(t *testing.T, db *storage.DB) {
	s := db.Trace()
	put := func(id string, minute int, change func(*trace.Span)) {
		added := span(id, 0)
		added.Start = noon.Add(time.Duration(minute) * time.Minute)
		added.End, added.Label = added.Start.Add(time.Duration(minute)*time.Second), "memory.get"
		change(&added)
		noError(t, s.Put(t.Context(), []trace.Span{added}, added.Start))
	}
	put("a", 1, func(s *trace.Span) {
		s.Label, s.Workspace, s.Caller = "workflow.run nightly", "acme/shop", "Cläude 100%\x00"
	})
	put("b", 2, func(s *trace.Span) { s.Label, s.Task, s.Sessions = "task nightly", "t1", []string{"s1", "s2"} })
	put("b", 2, func(s *trace.Span) {
		s.ID, s.Root, s.Sessions, s.Label = "child", false, []string{"s1"}, "step x"
		s.Status, s.Code, s.Message = trace.Failure, "DISK_FULL", "Kein Platz: äÖ\x00 'x' _%"
	})
	put("c", 3, func(s *trace.Span) { s.Status, s.Code, s.Message = trace.Failure, "STEP_FAILED", "disk_empty" })
	put("d", 4, func(s *trace.Span) { s.Status, s.End = trace.Running, time.Time{} })
	put("e", 9, func(s *trace.Span) { s.Label, s.Status, s.End = "memory.store", trace.Running, time.Time{} })
	put("f", 10, func(s *trace.Span) { s.Label = "mymemory.get" })
	put("f", 10, func(s *trace.Span) {
		s.ID, s.Root, s.Attributes = "child", false, map[string]string{trace.CallerAttribute: "äda \xff\x00"}
	})
	for _, test := range []struct {
		name, ids string
		q         trace.Query
	}{
		{"beginning of the label", "edc", trace.Query{Label: "memory."}},
		{"whole label", "dc", trace.Query{Label: "memory.get"}},
		{"target", "ba", trace.Query{Label: "nightly"}},
		{"not a pattern", "", trace.Query{Label: "memory%"}},
		{"middle of a word", "", trace.Query{Label: "ightly"}},
		{"caller", "a", trace.Query{Caller: "Cläude 100%\x00"}},
		{"caller of a span within", "f", trace.Query{Caller: "äda \xff\x00"}},
		{"part of a caller", "", trace.Query{Caller: "Cläude"}},
		{"workspace", "a", trace.Query{Workspace: "acme/shop"}},
		{"session", "b", trace.Query{Session: "s1"}},
		{"task", "b", trace.Query{Task: "t1"}},
		{"session of the task", "b", trace.Query{Task: "t1", Session: "s2"}},
		{"task is no session", "", trace.Query{Session: "t1"}},
		{"error of a span within", "b", trace.Query{Error: "platz: ÄÖ\x00 'x' _%"}},
		{"code", "cb", trace.Query{Error: "disk_"}},
		{"interrupted", "d", trace.Query{Error: "interrupted"}},
		{"failed and error", "c", trace.Query{Error: "disk_", Status: trace.Failure}},
		{"eleven seconds", "e", trace.Query{MinDuration: 11 * time.Second}},
		{"ended ones", "f", trace.Query{MinDuration: 10 * time.Second, Status: trace.Success}},
		{"since", "fe", trace.Query{Since: noon.Add(9 * time.Minute)}},
		{"until", "a", trace.Query{Until: noon.Add(2 * time.Minute)}},
		{"all at once", "b", trace.Query{Label: "task", Task: "t1", Since: noon, Until: noon.Add(time.Hour), MinDuration: 1, Error: "platz"}},
	} {
		q := test.q
		q.Now, q.HeardFrom, q.Limit = noon.Add(10*time.Minute), noon.Add(8*time.Minute), 9
		page, err := s.List(t.Context(), q)
		noError(t, err)
		ids := ""
		for _, tr := range page.Traces {
			ids += tr.ID
		}
		equal(t, []any{test.name, ids, page.Total}, []any{test.name, test.ids, len(test.ids)})
	}
	page, err := s.List(t.Context(), trace.Query{Workspace: "acme/shop", Limit: 1})
	noError(t, err)
	equal(t, []string{page.Traces[0].Caller, page.Traces[0].Workspace}, []string{"Cläude 100%\x00", "acme/shop"})
	_, err = s.Trim(t.Context(), trace.Keep{Since: noon.Add(time.Hour)})
	noError(t, err)
	put("b", 2, func(s *trace.Span) {}) // the removed trace of this ID is not found
	for _, q := range []trace.Query{{Session: "s1"}, {Task: "t1"}, {Error: "platz"}} {
		q.Limit = 9
		page, err := s.List(t.Context(), q)
		noError(t, err)
		equal(t, page.Total, 0)
	}
}

func trimTraces(t *testing.T, db *storage.DB) {
	s := db.Trace()
	for n := range 10 {
		added := span(fmt.Sprint(n), 0)
		added.Start = noon.Add(time.Duration(n) * time.Minute)
		added.Answer = json.RawMessage(fmt.Sprintf(`"%01000d"`, n))
		noError(t, s.Put(t.Context(), []trace.Span{added}, noon))
	}
	trim := func(keep trace.Keep) (deleted, left int) {
		deleted, err := s.Trim(t.Context(), keep)
		noError(t, err)
		page, err := s.List(t.Context(), trace.Query{Limit: 20})
		noError(t, err)
		return deleted, page.Total
	}
	for _, step := range []struct {
		keep          trace.Keep
		deleted, left int
	}{
		{trace.Keep{}, 0, 10},
		{trace.Keep{Since: noon.Add(2 * time.Minute), Bytes: 1 << 20}, 2, 8},
		{trace.Keep{Since: noon.Add(2 * time.Minute)}, 0, 8},
		{trace.Keep{Bytes: 5000}, 5, 3},
	} {
		deleted, left := trim(step.keep)
		equal(t, []int{deleted, left}, []int{step.deleted, step.left})
	}
	gone, _, err := s.Spans(t.Context(), "0")
	noError(t, err)
	equal(t, len(gone), 0)
}
