package metrics

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/metric"
	"github.com/toolfold/toolfold/internal/system/clock"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// NotFound is the code for an unknown metric.
const NotFound = "METRIC_NOT_FOUND"

// maxAnswer limits the points in an answer, in bytes.
const maxAnswer = 900 << 10

// maxValue limits values, so that a sum never becomes infinite.
const maxValue = 1e300

// trimEach is the interval between deletions of expired points.
const trimEach = time.Hour

// Service runs the metrics actions. It is safe for concurrent use, and several
// may share a store.
type Service struct {
	store     metric.Store
	retention metric.Retention
	now       func() time.Time
	trimmed   atomic.Int64 // microseconds since 1970
}

// New returns a service on a store.
func New(store metric.Store, retention metric.Retention, now func() time.Time) *Service {
	return &Service{store: store, retention: retention, now: clock.Micros(now)}
}

// Record records a point.
func (s *Service) Record(ctx context.Context, in RecordIn) (RecordOut, error) {
	w := metric.Write{Metric: metric.Metric{Name: in.MetricName, Type: in.Type, Category: in.Category}, Labels: in.Labels, Value: in.Value,
		At: s.now()}
	result, err := s.write(ctx, w)
	if err != nil {
		return RecordOut{}, err
	}
	return RecordOut{
		Recorded: true, MetricName: in.MetricName, Value: in.Value, Labels: in.Labels, Type: result.Type, Timestamp: w.At,
	}, nil
}

// Increment adds to a counter or gauge.
func (s *Service) Increment(ctx context.Context, in IncrementIn) (IncrementOut, error) {
	w := metric.Write{Metric: metric.Metric{Name: in.MetricName, Category: in.Category}, Labels: in.Labels, Value: in.Delta, Add: true,
		At: s.now()}
	result, err := s.write(ctx, w)
	if err != nil {
		return IncrementOut{}, err
	}
	return IncrementOut{
		Incremented: true, MetricName: in.MetricName, Delta: in.Delta, CurrentValue: result.Current, Labels: in.Labels, Timestamp: w.At,
	}, nil
}

func (s *Service) write(ctx context.Context, w metric.Write) (metric.WriteResult, error) {
	if err := metric.Check(w.Name, w.Labels); err != nil {
		return metric.WriteResult{}, err
	}
	if math.Abs(w.Value) > maxValue {
		return metric.WriteResult{}, toolfold.Errorf(toolfold.InvalidInput, "%g is out of range: metrics keep values up to %g",
			w.Value, maxValue).
			About(toolfold.ProblemRefused, "value")
	}
	keep := s.retention.Keep(w.At)
	if last := s.trimmed.Load(); w.At.UnixMicro()-last >= trimEach.Microseconds() && s.trimmed.CompareAndSwap(last, w.At.UnixMicro()) {
		if err := s.store.Trim(ctx, keep); err != nil {
			return metric.WriteResult{}, fmt.Errorf("deleting old points: %w", err)
		}
	}
	result, err := s.store.Write(ctx, w, keep)
	if err != nil {
		return metric.WriteResult{}, fmt.Errorf("recording point: %w", err)
	}
	return result, nil
}

// Query shows points and figures computed from them.
func (s *Service) Query(ctx context.Context, in QueryIn) (QueryOut, error) {
	r, err := s.span(in)
	if err != nil {
		return QueryOut{}, err
	}
	var bucket time.Duration
	if in.Bucket != "" {
		if bucket, err = clock.Length(in.Bucket); err == nil && bucket == 0 {
			err = errors.New("it has no length")
		}
		if err != nil {
			return QueryOut{}, toolfold.Errorf(toolfold.InvalidInput, "bucket: %v", err).About(toolfold.ProblemRefused, "bucket").
				WithHint("give a length such as 5m, 1h or 1d")
		}
	}
	in.GroupBy = slices.DeleteFunc(in.GroupBy, func(label string) bool { return label == "" })
	split := bucket > 0 || len(in.GroupBy) > 0
	if split && in.Aggregation == "" {
		return QueryOut{}, toolfold.Errorf(toolfold.InvalidInput, "bucket and groupBy need a figure: aggregation is missing").
			About(toolfold.ProblemMissing, "aggregation")
	}
	skip, err := in.newest(&r)
	if err != nil {
		return QueryOut{}, err
	}
	m, series, more, found, err := s.store.Read(ctx, r)
	switch {
	case err != nil:
		return QueryOut{}, fmt.Errorf("reading points: %w", err)
	case !found:
		return QueryOut{}, toolfold.Errorf(NotFound, "there is no metric %q", shorten.Quoted(in.MetricName)).
			WithHint("metrics.list shows those there are")
	case more:
		return QueryOut{}, toolfold.Errorf(toolfold.InvalidInput, "the range has more than %d points", metric.MaxRead).
			About(toolfold.ProblemRefused, "since", "until").
			WithHint("narrow it with since, until or labels")
	}
	out := QueryOut{
		MetricName: m.Name, Type: m.Type, Category: m.InCategory(), CurrentValue: current(m, series), SeriesCount: len(series),
		DataPoints: []DataPoint{}, Aggregation: in.Aggregation,
	}
	for _, series := range series {
		out.Total += len(series.Points)
	}
	if split {
		if out.Figures, err = figures(m.Type, in.Aggregation, series, bucket, in.GroupBy); err != nil {
			return QueryOut{}, err
		}
	} else {
		out.DataPoints = newest(series, in.Limit, skip)
		if count := skip + len(out.DataPoints); count < out.Total && len(out.DataPoints) > 0 {
			until := r.Until.UnixMicro()
			if in.Cursor == "" { // new points would move the pages
				until = out.DataPoints[len(out.DataPoints)-1].Timestamp.UnixMicro()
			}
			out.Paged = toolfold.Paged{HasMore: true, NextCursor: toolfold.CursorOf(fmt.Sprintf("%d %d", until, count))}
		}
	}
	if in.Aggregation == "" {
		return out, nil
	}
	value, percentiles := aggregate(m.Type, in.Aggregation, series)
	if math.IsNaN(value) {
		out.Note = map[bool]string{true: "rate needs two points at different times",
			false: "there are no points in the range"}[in.Aggregation == "rate"]
	} else {
		out.AggregatedValue, out.Percentiles = &value, percentiles
	}
	return out, nil
}

// span returns the range of a query, within the retention.
func (s *Service) span(in QueryIn) (metric.Range, error) {
	now, r := s.now(), metric.Range{Name: in.MetricName, Labels: in.Labels}
	var wrong, names []string
	for _, bound := range []struct {
		name, text string
		to         *time.Time
	}{{"since", in.Since, &r.Since}, {"until", in.Until, &r.Until}} {
		if bound.text == "" {
			continue
		}
		from, to, err := clock.Moment(bound.text, now)
		if err != nil {
			wrong, names = append(wrong, bound.name), append(names, fmt.Sprintf("%s: %v", bound.name, err))
		}
		if *bound.to = from; bound.name == "until" {
			*bound.to = to
		}
	}
	if len(wrong) > 0 {
		return r, toolfold.Errorf(toolfold.InvalidInput, "%s", strings.Join(names, "; ")).About(toolfold.ProblemRefused, wrong...)
	}
	if !r.Since.IsZero() && !r.Until.IsZero() && r.Until.Before(r.Since) {
		return r, toolfold.Errorf(toolfold.InvalidInput, "until is before since").About(toolfold.ProblemRefused, "since", "until")
	}
	if keep := s.retention.Keep(now); r.Since.Before(keep.Since) {
		r.Since = keep.Since
	}
	return r, nil
}

// newest ends the range at the end of the query's first page. It returns the number of points on
// earlier pages.
func (in QueryIn) newest(r *metric.Range) (skip int, err error) {
	key, err := in.After("metrics.query")
	if err != nil || key == "" {
		return 0, err
	}
	var until int64
	if n, err := fmt.Sscanf(key, "%d %d", &until, &skip); n != 2 || err != nil || skip < 0 || skip > metric.MaxRead {
		return 0, &toolfold.Error{Code: toolfold.InvalidInput, Problems: []toolfold.Problem{{
			Path: "/cursor", Kind: toolfold.ProblemFormat, Want: "nextCursor of metrics.query",
		}}}
	}
	if at := time.UnixMicro(until).UTC(); r.Until.IsZero() || at.Before(r.Until) {
		r.Until = at
	}
	return skip, nil
}

// current returns the newest value of the series, or the sum of counters.
func current(m metric.Metric, series []metric.Series) *float64 {
	var value *float64
	var last int64
	for _, s := range series {
		switch {
		case m.Type == metric.Counter && value != nil:
			*value += s.Last.Value
		case value == nil || s.Last.Micros > last:
			value, last = new(s.Last.Value), s.Last.Micros
		}
	}
	return value
}

// newest returns the newest limit points of all series in time order, without the last skip points.
// It returns fewer if their labels would exceed the limit of an answer.
func newest(series []metric.Series, limit, skip int) []DataPoint {
	points := []DataPoint{}
	for _, s := range series {
		for _, p := range s.Points[max(0, len(s.Points)-limit-skip):] {
			points = append(points, DataPoint{Value: p.Value, Labels: s.Labels, Timestamp: time.UnixMicro(p.Micros).UTC()})
		}
	}
	slices.SortStableFunc(points, func(a, b DataPoint) int { return a.Timestamp.Compare(b.Timestamp) })
	points = points[:max(0, len(points)-skip)]
	points = points[max(0, len(points)-limit):]
	size := 0
	for i := len(points) - 1; i >= 0; i-- {
		size += 100
		for label, value := range points[i].Labels {
			size += len(label) + len(value) + 6
		}
		if size > maxAnswer {
			return points[i+1:]
		}
	}
	return points
}

// List lists metrics, a page at a time.
func (s *Service) List(ctx context.Context, in ListIn) (ListOut, error) {
	after, err := in.After("metrics.list")
	if err != nil {
		return ListOut{}, err
	}
	all, err := s.store.List(ctx)
	if err != nil {
		return ListOut{}, fmt.Errorf("listing metrics: %w", err)
	}
	all = slices.DeleteFunc(all, func(l metric.Overview) bool {
		return in.Category != "" && l.InCategory() != in.Category || in.Type != "" && l.Type != in.Type || !strings.HasPrefix(l.Name, in.Prefix)
	})
	out := ListOut{Metrics: []metric.Item{}, Total: len(all)}
	all = slices.DeleteFunc(all, func(l metric.Overview) bool { return l.Name <= after })
	all, out.Paged = toolfold.CutPage(all, in.Limit, func(last metric.Overview) string { return toolfold.CursorOf(last.Name) })
	for _, l := range all {
		out.Metrics = append(out.Metrics, l.Item())
	}
	return out, nil
}
