// Package timer declares the timer tool, which measures durations across calls and restarts.
//
// It is not a stable API: see docs/stability.md.
package timer

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/metric"
	"github.com/toolfold/toolfold/internal/system/clock"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

var (
	timerID = toolfold.UUID("timerId", "Timer ID.")
	limit   = toolfold.Int{Name: "limit", Doc: "Most timers to return.", Min: 1, Max: 100}
)

//go:embed asks.txt
var asksText string

// Family declares the timer tool.
var Family = toolfold.Family{
	Name: "timer", Summary: "Measure how long something takes", Category: "telemetry", Tier: toolfold.Extended,
	Words: "stopwatch, duration, elapsed time, latency, clock, lap, chronometer",
	Doc:   "A timer runs on when the server restarts. Its duration becomes a point of its metric, which has type timer.",
	Asks:  asksText,
	Actions: []*toolfold.Action{{
		Name:     "start",
		Legacy:   toolfold.Was("timer_start"),
		Summary:  "Start a timer.",
		Words:    "stopwatch on, clock on",
		Changed:  "Timers survive a restart; at most 1,000 run at a time.",
		Required: toolfold.Fields{metric.Name},
		Optional: toolfold.Fields{metric.Labels},
		Effect:   toolfold.Adds,
		Example:  `{"metricName": "tool_build_time", "labels": {"target": "linux"}}`,
		Related:  []string{"timer.stop", "timer.list"},
		Run:      toolfold.Method((*Service).Start),
	}, {
		Name:    "list",
		Summary: "List the timers that run.",
		Words:   "open stopwatches",
		Optional: toolfold.Fields{
			limit.With(toolfold.Default(20)), toolfold.Cursor,
		},
		Effect:  toolfold.Reads,
		Example: `{}`,
		Related: []string{"timer.stop"},
		Run:     toolfold.Method((*Service).List),
	}, {
		Name:     "stop",
		Legacy:   toolfold.Was("timer_stop"),
		Summary:  "Stop a timer and record its duration.",
		Words:    "stopwatch off, clock off, halt",
		Changed:  "The duration is recorded with the end of the timer, or neither is.",
		Required: toolfold.Fields{timerID},
		Effect:   toolfold.Sets,
		Example:  `{"timerId": "00000000-0000-4000-8000-000000000001"}`,
		Related:  []string{"metrics.query", "timer.start"},
		Run:      toolfold.Method((*Service).Stop),
	}},
}

// Codes of the timer tool.
const (
	NotFound = "TIMER_NOT_FOUND"
)

// MaxTimers is the maximum number of running timers.
const MaxTimers = 1000

// Service runs the timer actions. It is safe for concurrent use, and several
// may share a store.
type Service struct {
	store     metric.Store
	retention metric.Retention
	now       func() time.Time
	newID     func() string
}

// New returns a service on a store. newID makes UUIDs.
func New(store metric.Store, retention metric.Retention, now func() time.Time, newID func() string) *Service {
	return &Service{store: store, retention: retention, now: clock.Micros(now), newID: newID}
}

// Start starts a timer.
func (s *Service) Start(ctx context.Context, in StartIn) (metric.Timer, error) {
	if err := metric.Check(in.MetricName, in.Labels); err != nil {
		return metric.Timer{}, err
	}
	t := metric.Timer{ID: s.newID(), Name: in.MetricName, Labels: in.Labels, StartedAt: s.now()}
	full, err := s.store.Start(ctx, t, MaxTimers)
	if err != nil {
		return metric.Timer{}, fmt.Errorf("starting timer: %w", err)
	}
	if full {
		return metric.Timer{}, toolfold.Errorf(toolfold.LimitReached, "%d timers run, the maximum", MaxTimers).
			WithHint("stop some that timer.list shows")
	}
	return t, nil
}

// List lists running timers, a page at a time.
func (s *Service) List(ctx context.Context, in ListIn) (ListOut, error) {
	after, err := in.Position("timer.list")
	if err != nil {
		return ListOut{}, err
	}
	timers, total, err := s.store.Timers(ctx, in.Limit+1, after)
	if err != nil {
		return ListOut{}, fmt.Errorf("listing timers: %w", err)
	}
	out := ListOut{Total: total}
	out.Timers, out.Paged = toolfold.CutPage(timers, in.Limit, func(last metric.Timer) string {
		return toolfold.Position{CreatedAt: last.StartedAt, ID: last.ID}.Cursor()
	})
	return out, nil
}

// Stop stops a timer and records its duration.
func (s *Service) Stop(ctx context.Context, in StopIn) (StopOut, error) {
	now := s.now()
	t, found, err := s.store.Stop(ctx, in.TimerID, now, s.retention.Keep(now))
	if err != nil {
		return StopOut{}, fmt.Errorf("stopping timer: %w", err)
	}
	if !found {
		return StopOut{}, toolfold.Errorf(NotFound, "no timer %s runs; it may have been stopped", shorten.Quoted(in.TimerID)).
			WithHint("timer.list shows those that run")
	}
	return StopOut{
		TimerID: t.ID, MetricName: t.Name, Labels: t.Labels, StoppedAt: now,
		DurationMs: float64(max(0, now.Sub(t.StartedAt)).Microseconds()) / 1000,
	}, nil
}
