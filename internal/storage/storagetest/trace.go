package storagetest

import (
	"encoding/json"
	"fmt"
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
			"spans": putSpans,
			"list":  listTraces,
			"trim":  trimTraces,
		},
	}
}

// span is the n-th span of a trace, which began n seconds after noon and took
// half a second.
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
	got, heard, err := s.Spans(t.Context(), "t")
	noError(t, err)
	equal(t, got, []trace.Span{root, child})
	equal(t, heard, noon)
	noError(t, s.Hear(t.Context(), []string{"t", "nowhere"}, noon.Add(time.Minute)))

	ended := span("t", 0)
	ended.End, ended.Begun, ended.Answer = noon.Add(time.Hour), true, json.RawMessage(`{"a":1}`)
	noError(t, s.Put(t.Context(), []trace.Span{ended}, noon.Add(time.Hour)))
	got, heard, err = s.Spans(t.Context(), "t")
	noError(t, err)
	equal(t, heard, noon.Add(time.Hour))
	want := ended
	want.Begun, want.Answer, want.AnswerBytes = false, nil, 7
	equal(t, got, []trace.Span{want, child})
	answers, err := s.Answers(t.Context(), "t", []string{ended.ID, child.ID, "nowhere"})
	noError(t, err)
	equal(t, answers, map[string]json.RawMessage{ended.ID: ended.Answer})
	none, _, err := s.Spans(t.Context(), "nowhere")
	noError(t, err)
	equal(t, len(none), 0)

	var many []trace.Span // more than one statement takes
	for n := range 150 {
		many = append(many, span("many", n))
	}
	noError(t, s.Put(t.Context(), many, noon))
	got, _, err = s.Spans(t.Context(), "many")
	noError(t, err)
	equal(t, got, many)
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
