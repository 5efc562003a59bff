package metric

import (
	"context"
	"time"

	"github.com/toolfold/toolfold"
)

// Bounds of what a store keeps.
const (
	MaxMetrics = 1000
	MaxSeries  = 10_000 // of all metrics
	MaxRead    = 2_000_000
)

// Metric is a metric as it was declared by its first use.
type Metric struct {
	Name, Type string
	Category   string // empty = the first part of the name
}

// Write is a point to add to a series.
type Write struct {
	Metric
	Labels map[string]string
	Value  float64
	Add    bool      // Value is added to the newest of the series, or to zero
	At     time.Time // UTC, whole microseconds
}

// Written reports the effects of a write.
type Written struct {
	Metric
	Current float64 // the newest value of the series
}

// Point is a value at a time.
type Point struct {
	Micros int64 // since 1970
	Value  float64
}

// Series are the points of one set of labels.
type Series struct {
	Labels map[string]string
	Last   Point // the newest of all

	// Points lists the points of a range, in the order they were written.
	Points []Point

	// Before is the point before the first of Points, nil when there is none.
	// Cut says that there was one which is not kept, as before the first recorded
	// total of a counter.
	Before *Point
	Cut    bool
}

// Range picks points of a metric.
type Range struct {
	Name         string
	Labels       map[string]string // that a series has to have, at least
	Since, Until time.Time         // zero = no bound; both are included
}

// Listed is a metric with the state of its series.
type Listed struct {
	Metric
	Series, Points int
	Last           Point   // the newest of all series; zero where there is none
	Total          float64 // of the newest values of all series
	Statistics     Statistics
}

// Statistics sum up the points of a metric that are kept. Min and Max are zero
// when there are none.
type Statistics struct{ Sum, Min, Max float64 }

// State is the state of a series.
type State struct {
	Metric
	Labels map[string]string
	Last   float64
	Count  int     // points ever written; one more of a counter that began with a recorded total
	Sum    float64 // of them
}

// Keep says which points are kept.
type Keep struct {
	Since  time.Time
	Points int // of a series
}

// Timer is a timer that runs, also as a result.
type Timer struct {
	ID        string            `json:"timerId" doc:"Timer ID." format:"uuid"`
	Name      string            `json:"metricName" doc:"Name of the metric."`
	Labels    map[string]string `json:"labels,omitempty" doc:"Labels of the series."`
	StartedAt time.Time         `json:"startedAt" doc:"When it was started."` // UTC, whole microseconds
}

// Store keeps points and timers. Methods are safe for concurrent use, also by
// several processes. What a method has written stays.
type Store interface {
	// Write adds a point, and declares its metric where it is new. [Admit]
	// decides whether it may.
	Write(ctx context.Context, w Write, keep Keep) (Written, error)

	// Read returns a metric with the series that a range picks, by their labels;
	// more is true when that would be more than [MaxRead] points.
	Read(ctx context.Context, r Range) (m Metric, series []Series, more, found bool, err error)

	// List lists all metrics by name, with the statistics of their points.
	List(ctx context.Context) ([]Listed, error)

	// States lists all series, by metric.
	States(ctx context.Context) ([]State, error)

	// Trim deletes what is no longer kept, also metrics without points.
	Trim(ctx context.Context, keep Keep) error

	// Start keeps a timer and declares its metric, unless limit timers run.
	Start(ctx context.Context, t Timer, limit int) (full bool, err error)

	// Stop removes a timer and records how long it ran, in milliseconds.
	Stop(ctx context.Context, id string, now time.Time, keep Keep) (t Timer, found bool, err error)

	// Timers lists the timers that run, the first started first.
	Timers(ctx context.Context, limit int, after *toolfold.Position) (timers []Timer, total int, err error)
}

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

// Growth returns how much a counter grew by its points. A value below the one
// before is a new beginning at zero. Of a first point whose predecessor is no
// longer kept nothing is known.
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
