package timer

import (
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/metric"
)

// StartIn are the arguments of timer.start.
type StartIn struct {
	MetricName string            `json:"metricName"`
	Labels     map[string]string `json:"labels"`
}

// ListIn are the arguments of timer.list.
type ListIn struct {
	toolfold.Page
}

// ListOut is the result of timer.list.
type ListOut struct {
	Timers []metric.Timer `json:"timers" doc:"The first started first."`
	Total  int            `json:"total" doc:"Timers that run, on all pages."`
	toolfold.Paged
}

// StopIn are the arguments of timer.stop.
type StopIn struct {
	TimerID string `json:"timerId"`
}

// StopOut is the result of timer.stop.
type StopOut struct {
	TimerID    string            `json:"timerId" doc:"Timer ID." format:"uuid"`
	MetricName string            `json:"metricName" doc:"Name of the metric."`
	DurationMs float64           `json:"durationMs" doc:"How long it ran."`
	Labels     map[string]string `json:"labels,omitempty" doc:"Labels of the series."`
	StoppedAt  time.Time         `json:"stoppedAt" doc:"When it was stopped."`
}
