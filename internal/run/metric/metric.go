// Package metric holds the shared parts of the tools metrics, timer and telemetry_summary: the
// points of metrics as stored. A series is a metric with one set of labels.
package metric

import (
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// The types of metric.
const (
	Counter   = "counter"
	Gauge     = "gauge"
	Histogram = "histogram"
	Summary   = "summary"
	TimerType = "timer"
)

// Types lists the types of metric.
func Types() []string { return []string{Counter, Gauge, Histogram, Summary, TimerType} }

// Custom is the category of a metric whose name begins with no other category.
const Custom = "custom"

// Categories lists the categories of metrics.
func Categories() []string {
	return []string{"system", "application", "agent", "workflow", "session", "memory", "provider", "tool", "trace", Custom}
}

// Parameters of all three tools.
var (
	Name   = toolfold.String{Name: "metricName", Doc: "Name of the metric.", MaxLen: 200, Also: []string{"name"}}
	Labels = toolfold.Map{Name: "labels", Doc: "Names and values; each set is a series of its own.", Of: toolfold.String{}}
)

// Error codes of stores.
const (
	TypeConflict = "METRIC_TYPE_CONFLICT"
)

// Limits of the labels of a series.
const (
	maxLabels     = 20
	maxLabelName  = 100 // characters
	maxLabelValue = 500 // characters
	maxLabelBytes = 4 << 10
)

// Check returns an error for an invalid metric name or invalid labels.
func Check(name string, labels map[string]string) error {
	if strings.TrimSpace(name) == "" {
		return toolfold.Errorf(toolfold.InvalidInput, "metricName is empty").
			About(toolfold.ProblemMissing, "metricName").
			WithHint("use a name such as agent_cost")
	}
	if len(labels) > maxLabels {
		return toolfold.Errorf(toolfold.InvalidInput, "there are %d labels, at most %d are allowed", len(labels), maxLabels).
			About(toolfold.ProblemRefused, "labels")
	}
	size := 0
	for label, value := range labels {
		size += len(label) + len(value)
		if label == "" || len([]rune(label)) > maxLabelName || len([]rune(value)) > maxLabelValue {
			return toolfold.Errorf(toolfold.InvalidInput, "label %q is refused: names have 1 to %d characters, values at most %d",
				shorten.Quoted(label), maxLabelName, maxLabelValue).About(toolfold.ProblemRefused, "labels")
		}
	}
	if size > maxLabelBytes {
		return toolfold.Errorf(toolfold.InvalidInput, "the labels have %d bytes, at most %d are allowed", size, maxLabelBytes).
			About(toolfold.ProblemRefused, "labels")
	}
	return nil
}

// Admit returns the metric of a write. declared is the existing metric with its name, or nil. It is
// an error if the write contradicts the declaration.
func Admit(declared *Metric, w Write) (Metric, error) {
	m := w.Metric
	if declared != nil {
		if w.Category != "" && w.Category != declared.InCategory() {
			return m, toolfold.Errorf(TypeConflict, "metric %q has category %s", shorten.Quoted(w.Name), declared.InCategory()).
				WithHint("leave out category, or use another name")
		}
		m = *declared
	} else if m.Type == "" {
		m.Type = map[bool]string{false: Gauge, true: Counter}[w.Add]
	}
	switch {
	case w.Type != "" && w.Type != m.Type:
		return m, toolfold.Errorf(TypeConflict, "metric %q is a %s, not a %s", shorten.Quoted(w.Name), m.Type, w.Type).
			WithHint("leave out type, or use another name")
	case w.Add && m.Type != Counter && m.Type != Gauge:
		return m, toolfold.Errorf(TypeConflict, "metric %q is a %s: only counters and gauges are added to", shorten.Quoted(w.Name), m.Type).
			WithHint("use metrics.record")
	case m.Type == Counter && w.Value < 0:
		return m, toolfold.Errorf(toolfold.InvalidInput, "counter %q only grows, and %v is negative", shorten.Quoted(w.Name), w.Value).
			About(toolfold.ProblemRefused, "value").
			WithHint("a number that goes up and down is a gauge, under another name")
	}
	return m, nil
}

// Full returns the error for one more metric or series than the store allows.
func Full(what string, maximum int) error {
	return toolfold.Errorf(toolfold.LimitReached, "there are %d %s, the maximum", maximum, what).
		WithHint("use metrics of metrics.list, with fewer different labels")
}

// InCategory returns the declared category, or else the category that the name begins with, or else
// [Custom].
func (m Metric) InCategory() string {
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

// Item is a metric in listings.
type Item struct {
	Name           string     `json:"name" doc:"Name of the metric."`
	Type           string     `json:"type" doc:"Type of the metric." enum:"counter,gauge,histogram,summary,timer"`
	Category       string     `json:"category" doc:"Category." enum:"system,application,agent,workflow,session,memory,provider,tool,trace,custom"`
	CurrentValue   *float64   `json:"currentValue,omitempty" doc:"Newest value, of a counter the sum of its series; absent without any."`
	SeriesCount    int        `json:"seriesCount,omitempty" doc:"Sets of labels."`
	DataPointCount int        `json:"dataPointCount" doc:"Points that are kept."`
	LastUpdated    *time.Time `json:"lastUpdated,omitempty" doc:"When the newest point was recorded."`
}

// Item returns the metric for listings.
func (l Overview) Item() Item {
	item := Item{Name: l.Name, Type: l.Type, Category: l.InCategory(), SeriesCount: l.Series, DataPointCount: l.Points}
	if l.Last.Micros != 0 {
		item.CurrentValue, item.LastUpdated = new(l.Last.Value), new(time.UnixMicro(l.Last.Micros).UTC())
		if l.Type == Counter {
			item.CurrentValue = new(l.Total)
		}
	}
	return item
}
