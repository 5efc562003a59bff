package trace

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/system/clock"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// NotFound is the error code for a trace that does not exist.
const NotFound = "TRACE_NOT_FOUND"

// maxPage bounds the spans of one page, in bytes.
const maxPage = 900 << 10

// Service runs the trace actions. It is safe for concurrent use.
type Service struct {
	store Store
	flush func(context.Context) error
	now   func() time.Time

	// Workspace is the workspace of the service. Results only contain the names of other
	// workspaces.
	Workspace string
}

// New returns a service for a store. flush stores what this process has recorded so far; nil does
// nothing.
func New(store Store, flush func(context.Context) error, now func() time.Time) *Service {
	return &Service{store: store, flush: flush, now: clock.Micros(now)}
}

// milliseconds returns a duration, at most the longest that there is.
func milliseconds(n int) time.Duration {
	return time.Duration(min(int64(n), int64(math.MaxInt64/time.Millisecond))) * time.Millisecond
}

// List lists traces, a page at a time.
func (s *Service) List(ctx context.Context, in ListIn) (ListOut, error) {
	after, err := in.Position("trace.list")
	if err != nil {
		return ListOut{}, err
	}
	if err := s.settle(ctx); err != nil {
		return ListOut{}, err
	}
	if !in.Since.IsZero() && !in.Until.IsZero() && !in.Since.Before(in.Until) {
		return ListOut{}, toolfold.Errorf(toolfold.InvalidInput, "until is not after since").About(toolfold.ProblemRefused, until.Name).
			WithHint("traces that began from since to before until are listed")
	}
	now := s.now()
	page, err := s.store.List(ctx, Query{
		Status: in.Status, Label: in.Label, Caller: in.Caller, Workspace: in.Workspace,
		Session: strings.ToLower(in.SessionID), Task: strings.ToLower(in.TaskID), Error: in.Error,
		MinDuration: milliseconds(in.MinDurationMs), Since: in.Since, Until: in.Until,
		Now: now, HeardFrom: now.Add(-Silence), Limit: in.Limit + 1, After: after, Uncounted: callctx.LeavesOut(ctx, "total"),
	})
	if err != nil {
		return ListOut{}, fmt.Errorf("listing traces: %w", err)
	}
	traces, paged := toolfold.CutPage(page.Traces, in.Limit, func(last Trace) string {
		return toolfold.Position{CreatedAt: last.Start, ID: last.ID}.Cursor()
	})
	out := ListOut{Traces: []Item{}, Total: page.Total, Paged: paged}
	for _, t := range traces {
		took := t.End.Sub(t.Start)
		if t.Status == Running || t.End.IsZero() {
			took = max(0, now.Sub(t.Start))
		}
		item := Item{
			TraceID: t.ID, Label: t.Label, Status: t.Status, StartedAt: t.Start, DurationMs: millis(took), SpanCount: t.Spans,
			Workspace: s.other(t.Workspace),
		}
		if callctx.Wants(ctx, "traces.caller") {
			item.Caller = t.Caller
		}
		out.Traces = append(out.Traces, item)
	}
	return out, nil
}

// other returns a workspace, or "" for the service's own.
func (s *Service) other(workspace string) string {
	if workspace == s.Workspace {
		return ""
	}
	return workspace
}

// Get returns the spans of a trace, one page at a time.
func (s *Service) Get(ctx context.Context, in GetIn) (GetOut, error) {
	after, err := in.After("trace.get")
	if err != nil {
		return GetOut{}, err
	}
	t, err := s.tree(ctx, in.TraceID)
	if err != nil {
		return GetOut{}, err
	}
	start := 0
	if after != "" {
		at := slices.IndexFunc(t.spans, func(n *node) bool { return n.ID == after })
		if at < 0 {
			return GetOut{}, toolfold.Errorf(toolfold.InvalidInput, "the cursor belongs to another trace").
				About(toolfold.ProblemRefused, "cursor").
				WithHint("call trace.get without cursor")
		}
		start = at + 1
	}
	out := GetOut{
		TraceID: in.TraceID, Label: t.label, Status: t.status, StartedAt: t.start, DurationMs: millis(t.duration()),
		Caller: t.caller, Workspace: s.other(t.workspace), Spans: []SpanItem{}, SpanCount: len(t.spans),
	}
	withAnswers := callctx.Wants(ctx, "spans.answer")
	var answered []string
	bytes := 0
	for i, n := range t.spans[start:] {
		bytes += n.size()
		if withAnswers {
			bytes += n.AnswerBytes
		}
		if i == in.Limit || i > 0 && bytes > maxPage {
			out.HasMore, out.NextCursor = true, toolfold.CursorOf(t.spans[start+i-1].ID)
			break
		}
		if n.AnswerBytes > 0 {
			answered = append(answered, n.ID)
		}
		out.Spans = append(out.Spans, n.item(t))
	}
	if withAnswers && answered != nil {
		answers, err := s.store.Answers(ctx, in.TraceID, answered)
		if err != nil {
			return GetOut{}, fmt.Errorf("reading answers: %w", err)
		}
		for i, item := range out.Spans {
			out.Spans[i].Answer = answers[item.SpanID]
		}
	}
	return out, nil
}

// size returns the approximate size of the span in a result, in bytes.
func (n *node) size() int {
	size := 400 + len(n.Label) + len(n.Message)
	for name, value := range n.Attributes {
		size += len(name) + len(value) + len(value)/8 + 6 // quotes in it are escaped
	}
	return size
}

func (n *node) item(t *tree) SpanItem {
	item := SpanItem{
		SpanID: n.ID, Parent: n.Parent, Depth: n.depth, Label: n.Label, Kind: n.Kind, Status: n.Status,
		OffsetMs: millis(n.Start.Sub(t.start)), DurationMs: millis(n.duration()), Attempts: n.Attempts,
		Attributes: n.Attributes, AnswerBytes: n.AnswerBytes,
	}
	if n.Status == Failure {
		item.Error = &Fault{Code: n.Code, Message: n.Message}
	}
	if n.Kind == Call && n.Status != Running {
		item.Arguments, item.Result = &n.Arguments, &n.Result
	}
	return item
}

// Analyze reports the slow parts of a trace, and why it failed.
func (s *Service) Analyze(ctx context.Context, in AnalyzeIn) (AnalyzeOut, error) {
	t, err := s.tree(ctx, in.TraceID)
	if err != nil {
		return AnalyzeOut{}, err
	}
	usual, err := s.store.Usual(ctx, t.label, t.start)
	if err != nil {
		return AnalyzeOut{}, fmt.Errorf("reading earlier traces: %w", err)
	}
	out := t.analyze(usual)
	if in.CompareTo != "" {
		if in.CompareTo == in.TraceID {
			return AnalyzeOut{}, toolfold.Errorf(toolfold.InvalidInput, "compareTo is the same trace").
				About(toolfold.ProblemRefused, compareTo.Name).
				WithHint("name another run of it: trace.list shows them")
		}
		other, err := s.tree(ctx, in.CompareTo)
		if err != nil {
			return AnalyzeOut{}, err
		}
		out.Compared = t.compareTo(other)
	}
	out.Recommendations = out.recommend()
	return out, nil
}

// tree reads the spans of a trace.
func (s *Service) tree(ctx context.Context, id string) (*tree, error) {
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	spans, lastReport, err := s.store.Spans(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("reading trace: %w", err)
	}
	if len(spans) == 0 {
		return nil, toolfold.Errorf(NotFound, "there is no trace %q", shorten.Quoted(id)).
			WithHint("trace.list shows those that are kept")
	}
	return newTree(spans, lastReport, s.now()), nil
}

func (s *Service) settle(ctx context.Context) error {
	if s.flush == nil {
		return nil
	}
	if err := s.flush(ctx); err != nil {
		return fmt.Errorf("storing recorded spans: %w", err)
	}
	return nil
}

// millis returns milliseconds with three decimals.
func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
