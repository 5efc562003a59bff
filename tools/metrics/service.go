package metrics

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/clock"
)

// Codes of the metrics tool.
const (
	NotFound     = "METRIC_NOT_FOUND"
	TypeConflict = "METRIC_TYPE_CONFLICT"
	TooMany      = "TOO_MANY_METRICS"
)

// Bounds of the labels of a series.
const (
	maxLabels     = 20
	maxLabelName  = 100 // characters
	maxLabelValue = 500 // characters
	maxLabelBytes = 4 << 10
)

// maxAnswer bounds the points of an answer, in bytes.
const maxAnswer = 900 << 10

// maxValue bounds values, so that no sum of them becomes infinite.
const maxValue = 1e300

// trimEach is the time between deletions of what is no longer kept.
const trimEach = time.Hour

// Retention says what is kept of points. A zero is no bound.
type Retention struct {
	Days   int
	Points int // of a series
}

// Keep returns what is kept now.
func (r Retention) Keep(now time.Time) Keep {
	keep := Keep{Points: r.Points}
	if r.Days > 0 {
		keep.Since = now.AddDate(0, 0, -r.Days)
	}
	return keep
}

// Service runs the metrics actions. It is safe for concurrent use, and several
// may share a store.
type Service struct {
	store     Store
	retention Retention
	now       func() time.Time
	trimmed   atomic.Int64 // microseconds since 1970
}

// New returns a service on a store.
func New(store Store, retention Retention, now func() time.Time) *Service {
	return &Service{store: store, retention: retention, now: clock.Micros(now)}
}

// Record records a point.
func (s *Service) Record(ctx context.Context, in RecordIn) (RecordOut, error) {
	w := Write{Metric: Metric{in.MetricName, in.Type, in.Category}, Labels: in.Labels, Value: in.Value, At: s.now()}
	written, err := s.write(ctx, w)
	if err != nil {
		return RecordOut{}, err
	}
	return RecordOut{
		Recorded: true, MetricName: in.MetricName, Value: in.Value, Labels: in.Labels, Type: written.Type, Timestamp: w.At,
	}, nil
}

// Increment adds to a counter or gauge.
func (s *Service) Increment(ctx context.Context, in IncrementIn) (IncrementOut, error) {
	w := Write{Metric: Metric{in.MetricName, "", in.Category}, Labels: in.Labels, Value: in.Delta, Add: true, At: s.now()}
	written, err := s.write(ctx, w)
	if err != nil {
		return IncrementOut{}, err
	}
	return IncrementOut{
		Incremented: true, MetricName: in.MetricName, Delta: in.Delta, CurrentValue: written.Current, Labels: in.Labels, Timestamp: w.At,
	}, nil
}

func (s *Service) write(ctx context.Context, w Write) (Written, error) {
	if err := Check(w.Name, w.Labels); err != nil {
		return Written{}, err
	}
	if math.Abs(w.Value) > maxValue {
		return Written{}, toolfold.Errorf(toolfold.InvalidInput, "%g is beyond what metrics keep, which is up to %g", w.Value, maxValue)
	}
	keep := s.retention.Keep(w.At)
	if last := s.trimmed.Load(); w.At.UnixMicro()-last >= trimEach.Microseconds() && s.trimmed.CompareAndSwap(last, w.At.UnixMicro()) {
		if err := s.store.Trim(ctx, keep); err != nil {
			return Written{}, fmt.Errorf("deleting old points: %w", err)
		}
	}
	written, err := s.store.Write(ctx, w, keep)
	if err != nil {
		return Written{}, fmt.Errorf("recording point: %w", err)
	}
	return written, nil
}

// Check refuses a name or labels that no series may have.
func Check(name string, labels map[string]string) error {
	if strings.TrimSpace(name) == "" {
		return toolfold.Errorf(toolfold.InvalidInput, "metricName is empty").WithHint("use a name such as agent_cost")
	}
	if len(labels) > maxLabels {
		return toolfold.Errorf(toolfold.InvalidInput, "there are %d labels, at most %d are allowed", len(labels), maxLabels)
	}
	size := 0
	for label, value := range labels {
		size += len(label) + len(value)
		if label == "" || len([]rune(label)) > maxLabelName || len([]rune(value)) > maxLabelValue {
			return toolfold.Errorf(toolfold.InvalidInput, "label %q is refused: names have 1 to %d characters, values at most %d",
				toolfold.Shorten(label), maxLabelName, maxLabelValue)
		}
	}
	if size > maxLabelBytes {
		return toolfold.Errorf(toolfold.InvalidInput, "the labels have %d bytes, at most %d are allowed", size, maxLabelBytes)
	}
	return nil
}

// Admit returns the metric that a write belongs to, given the one of its name
// that is declared, nil if there is none. It refuses what contradicts the
// declaration.
func Admit(declared *Metric, w Write) (Metric, error) {
	m := w.Metric
	if declared != nil {
		if w.Category != "" && w.Category != declared.category() {
			return m, toolfold.Errorf(TypeConflict, "metric %q has category %s", toolfold.Shorten(w.Name), declared.category()).
				WithHint("leave out category, or use another name")
		}
		m = *declared
	} else if m.Type == "" {
		m.Type = map[bool]string{false: Gauge, true: Counter}[w.Add]
	}
	switch {
	case w.Type != "" && w.Type != m.Type:
		return m, toolfold.Errorf(TypeConflict, "metric %q is a %s, not a %s", toolfold.Shorten(w.Name), m.Type, w.Type).
			WithHint("leave out type, or use another name")
	case w.Add && m.Type != Counter && m.Type != Gauge:
		return m, toolfold.Errorf(TypeConflict, "metric %q is a %s: only counters and gauges are added to", toolfold.Shorten(w.Name), m.Type).
			WithHint("use metrics.record")
	case m.Type == Counter && w.Value < 0:
		return m, toolfold.Errorf(toolfold.InvalidInput, "counter %q only grows, and %v is negative", toolfold.Shorten(w.Name), w.Value).
			WithHint("a number that goes up and down is a gauge, under another name")
	}
	return m, nil
}

// Full refuses one more metric or series than the store keeps.
func Full(what string, maximum int) error {
	return toolfold.Errorf(TooMany, "there are %d %s, which is the most", maximum, what).
		WithHint("use those of metrics.list, with fewer different labels")
}

// category returns the declared category, else the first part of the name.
func (m Metric) category() string {
	if m.Category != "" {
		return m.Category
	}
	first, _, _ := strings.Cut(m.Name, "_")
	if i := strings.IndexAny(first, ".-/:"); i >= 0 {
		first = first[:i]
	}
	if slices.Contains(Categories(), first) {
		return first
	}
	return Custom
}

// Query shows points and a figure computed from them.
func (s *Service) Query(ctx context.Context, in QueryIn) (QueryOut, error) {
	if !in.Since.IsZero() && !in.Until.IsZero() && in.Until.Before(in.Since) {
		return QueryOut{}, toolfold.Errorf(toolfold.InvalidInput, "until is before since")
	}
	r := Range{Name: in.MetricName, Labels: in.Labels, Since: in.Since, Until: in.Until}
	if keep := s.retention.Keep(s.now()); r.Since.Before(keep.Since) {
		r.Since = keep.Since
	}
	m, series, more, found, err := s.store.Read(ctx, r)
	switch {
	case err != nil:
		return QueryOut{}, fmt.Errorf("reading points: %w", err)
	case !found:
		return QueryOut{}, toolfold.Errorf(NotFound, "there is no metric %q", toolfold.Shorten(in.MetricName)).
			WithHint("metrics.list shows those there are")
	case more:
		return QueryOut{}, toolfold.Errorf(toolfold.InvalidInput, "the range has more than %d points", MaxRead).
			WithHint("narrow it with since, until or labels")
	}
	out := QueryOut{
		MetricName: m.Name, Type: m.Type, Category: m.category(), CurrentValue: current(m, series), SeriesCount: len(series),
		DataPoints: newest(series, in.Limit), Aggregation: in.Aggregation,
	}
	for _, picked := range series {
		out.Total += len(picked.Points)
	}
	if in.Aggregation == "" {
		return out, nil
	}
	value, percentiles := aggregate(m.Type, in.Aggregation, series)
	if math.IsNaN(value) {
		out.Note = map[bool]string{true: "rate needs two points at different times", false: "there are no points in the range"}[in.Aggregation == "rate"]
	} else {
		out.AggregatedValue, out.Percentiles = &value, percentiles
	}
	return out, nil
}

// current returns the newest value of the series; of counters their sum.
func current(m Metric, series []Series) *float64 {
	var value *float64
	var last int64
	for _, s := range series {
		switch {
		case m.Type == Counter && value != nil:
			*value += s.Last.Value
		case value == nil || s.Last.Micros > last:
			value, last = new(s.Last.Value), s.Last.Micros
		}
	}
	return value
}

// newest returns the newest points of all series, in time order, and fewer than
// limit where their labels would make the answer too large.
func newest(series []Series, limit int) []DataPoint {
	points := []DataPoint{}
	for _, s := range series {
		for _, p := range s.Points[max(0, len(s.Points)-limit):] {
			points = append(points, DataPoint{Value: p.Value, Labels: s.Labels, Timestamp: time.UnixMicro(p.Micros).UTC()})
		}
	}
	slices.SortStableFunc(points, func(a, b DataPoint) int { return a.Timestamp.Compare(b.Timestamp) })
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
	after, err := toolfold.CursorAfter(in.Cursor, "metrics.list")
	if err != nil {
		return ListOut{}, err
	}
	all, err := s.store.List(ctx)
	if err != nil {
		return ListOut{}, fmt.Errorf("listing metrics: %w", err)
	}
	all = slices.DeleteFunc(all, func(l Listed) bool {
		return in.Category != "" && l.category() != in.Category || in.Type != "" && l.Type != in.Type || !strings.HasPrefix(l.Name, in.Prefix)
	})
	out := ListOut{Metrics: []Item{}, Total: len(all)}
	all = slices.DeleteFunc(all, func(l Listed) bool { return l.Name <= after })
	all, out.Paged = toolfold.CutPage(all, in.Limit, func(last Listed) string { return toolfold.CursorOf(last.Name) })
	for _, l := range all {
		out.Metrics = append(out.Metrics, l.Item())
	}
	return out, nil
}

// Item returns the metric as lists show it.
func (l Listed) Item() Item {
	item := Item{Name: l.Name, Type: l.Type, Category: l.category(), SeriesCount: l.Series, DataPointCount: l.Points}
	if l.Last.Micros != 0 {
		item.CurrentValue, item.LastUpdated = new(l.Last.Value), new(time.UnixMicro(l.Last.Micros).UTC())
		if l.Type == Counter {
			item.CurrentValue = new(l.Total)
		}
	}
	return item
}
