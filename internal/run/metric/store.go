package metric

import (
	"context"
	"time"

	"github.com/toolfold/toolfold"
)

// Limits of a store.
const (
	MaxMetrics = 1000
	MaxSeries  = 10_000 // of all metrics
	MaxRead    = 2_000_000
)

// Metric is a metric as declared by its first use.
type Metric struct {
	Name, Type string
	Category   string // empty = derived from the name
}

// Write is a point to add to a series.
type Write struct {
	Metric
	Labels map[string]string
	Value  float64
	Add    bool      // add Value to the newest value of the series, or to zero
	At     time.Time // UTC, whole microseconds
}

// WriteResult is the result of a write.
type WriteResult struct {
	Metric
	Current float64 // the newest value of the series
}

// Point is a value at a time.
type Point struct {
	Micros int64 // since 1970
	Value  float64
}

// Series holds the points of one set of labels.
type Series struct {
	Labels map[string]string
	Last   Point // the newest of the series

	// Points lists the points of a range, in the order written.
	Points []Point

	// Before is the point before Points, or nil. Cut means that there was one which is no longer
	// stored, or that a counter began with a recorded total.
	Before *Point
	Cut    bool
}

// Range selects points of a metric.
type Range struct {
	Name         string
	Labels       map[string]string // labels that a series must have, at least
	Since, Until time.Time         // zero = unlimited; both included
}

// Overview is a metric with the state of its series.
type Overview struct {
	Metric
	Series, Points int
	Last           Point   // the newest of all series; zero if there are no points
	Total          float64 // of the newest values of all series
	Statistics     Statistics
}

// Statistics summarize the stored points of a metric. Min and Max are zero if there are no points.
type Statistics struct{ Sum, Min, Max float64 }

// State is the state of a series.
type State struct {
	Metric
	Labels map[string]string
	Last   float64
	Count  int     // points ever written, plus one if a counter began with a recorded total
	Sum    float64 // of these points
}

// Keep limits the stored points.
type Keep struct {
	Since  time.Time
	Points int // per series
}

// Timer is a running timer, also as a result.
type Timer struct {
	ID        string            `json:"timerId" doc:"Timer ID." format:"uuid"`
	Name      string            `json:"metricName" doc:"Name of the metric."`
	Labels    map[string]string `json:"labels,omitempty" doc:"Labels of the series."`
	StartedAt time.Time         `json:"startedAt" doc:"When it was started."` // UTC, whole microseconds
}

// Store stores points and timers. It is safe for concurrent use, also by several processes. Once a
// method returns, its writes are durable.
type Store interface {
	// Write adds a point, and declares its metric if it is new. [Admit] decides whether the write
	// is allowed.
	Write(ctx context.Context, w Write, keep Keep) (WriteResult, error)

	// Read returns a metric with the series in a range, sorted by labels. more is true if that
	// would be more than [MaxRead] points.
	Read(ctx context.Context, r Range) (m Metric, series []Series, more, found bool, err error)

	// List lists all metrics by name, with the statistics of their points.
	List(ctx context.Context) ([]Overview, error)

	// States lists all series, by metric.
	States(ctx context.Context) ([]State, error)

	// Trim deletes everything beyond the limits, also metrics without points.
	Trim(ctx context.Context, keep Keep) error

	// Start stores a timer and declares its metric. It does nothing and returns full if limit
	// timers run.
	Start(ctx context.Context, t Timer, limit int) (full bool, err error)

	// Stop removes a timer and records its duration, in milliseconds.
	Stop(ctx context.Context, id string, now time.Time, keep Keep) (t Timer, found bool, err error)

	// Timers lists the running timers in order of their start.
	Timers(ctx context.Context, limit int, after *toolfold.Position) (timers []Timer, total int, err error)
}

// Retention configures how many points are stored; zero means unlimited.
type Retention struct {
	Days   int
	Points int // per series
}

// Keep returns the limits at a time.
func (r Retention) Keep(now time.Time) Keep {
	keep := Keep{Points: r.Points}
	if r.Days > 0 {
		keep.Since = now.AddDate(0, 0, -r.Days)
	}
	return keep
}

// Growth returns how much a counter grew over its points. A value below the previous one means a
// restart at zero. A first point whose predecessor is no longer stored does not count.
func (s Series) Growth() float64 {
	if len(s.Points) == 0 {
		return 0
	}
	before, sum := 0.0, 0.0
	switch {
	case s.Before != nil:
		before = s.Before.Value
	case s.Cut:
		before = s.Points[0].Value
	}
	for _, p := range s.Points {
		if p.Value < before {
			before = 0
		}
		sum += p.Value - before
		before = p.Value
	}
	return sum
}
