package metrics

import (
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/metric"
)

// RecordIn are the arguments of metrics.record.
type RecordIn struct {
	MetricName string            `json:"metricName"`
	Value      float64           `json:"value"`
	Labels     map[string]string `json:"labels"`
	Type       string            `json:"type"`
	Category   string            `json:"category"`
}

// RecordOut is the result of metrics.record.
type RecordOut struct {
	Recorded   bool              `json:"recorded" doc:"Always true; failures are errors."`
	MetricName string            `json:"metricName" doc:"Name of the metric."`
	Value      float64           `json:"value" doc:"Value of the point."`
	Labels     map[string]string `json:"labels,omitempty" doc:"Labels of the series."`
	Type       string            `json:"type" doc:"Type of the metric." enum:"counter,gauge,histogram,summary,timer"`
	Timestamp  time.Time         `json:"timestamp" doc:"When it was recorded."`
}

// IncrementIn are the arguments of metrics.increment.
type IncrementIn struct {
	MetricName string            `json:"metricName"`
	Delta      float64           `json:"delta"`
	Labels     map[string]string `json:"labels"`
	Category   string            `json:"category"`
}

// IncrementOut is the result of metrics.increment.
type IncrementOut struct {
	Incremented  bool              `json:"incremented" doc:"Always true; failures are errors."`
	MetricName   string            `json:"metricName" doc:"Name of the metric."`
	Delta        float64           `json:"delta" doc:"How much was added."`
	CurrentValue float64           `json:"currentValue" doc:"New value of the series."`
	Labels       map[string]string `json:"labels,omitempty" doc:"Labels of the series."`
	Timestamp    time.Time         `json:"timestamp" doc:"When it was recorded."`
}

// QueryIn are the arguments of metrics.query.
type QueryIn struct {
	MetricName  string            `json:"metricName"`
	Labels      map[string]string `json:"labels"`
	Aggregation string            `json:"aggregation"`
	Since       string            `json:"since"`
	Until       string            `json:"until"`
	Bucket      string            `json:"bucket"`
	GroupBy     []string          `json:"groupBy"`
	toolfold.Page
}

// QueryOut is the result of metrics.query.
type QueryOut struct {
	MetricName      string       `json:"metricName" doc:"Name of the metric."`
	Type            string       `json:"type" doc:"Type of the metric." enum:"counter,gauge,histogram,summary,timer"`
	Category        string       `json:"category" doc:"Category." enum:"system,application,agent,workflow,session,memory,provider,tool,trace,custom"`
	CurrentValue    *float64     `json:"currentValue" doc:"Newest value of the series picked; of several counters, their sum. Null without any."`
	SeriesCount     int          `json:"seriesCount" doc:"Series that have the labels."`
	DataPoints      []DataPoint  `json:"dataPoints" doc:"The newest of the range, in time order; the next page has earlier ones."`
	Total           int          `json:"total" doc:"Points in the range."`
	Aggregation     string       `json:"aggregation,omitempty" doc:"Figure that was asked for."`
	AggregatedValue *float64     `json:"aggregatedValue,omitempty" doc:"The figure; absent without enough points."`
	Percentiles     *Percentiles `json:"percentiles,omitempty" doc:"Of the points in the range."`
	Figures         []Figure     `json:"figures,omitempty" doc:"By time, then by group; absent without points."`
	Note            string       `json:"note,omitempty" doc:"Why there is no figure."`
	toolfold.Paged
}

// Figure is a figure of the points of a bucket, a group, or both.
type Figure struct {
	From  *time.Time `json:"from,omitempty" doc:"When the bucket begins."`
	Group *string    `json:"group,omitempty" doc:"Value of the label; empty without it."`

	// Groups is in place of Group where there are several labels.
	Groups map[string]string `json:"groups,omitempty" doc:"Values of several labels."`

	Points      int          `json:"points" doc:"Points in it."`
	Value       *float64     `json:"value,omitempty" doc:"The figure; absent without enough points."`
	Percentiles *Percentiles `json:"percentiles,omitempty" doc:"Of its points."`
}

// DataPoint is a point in metrics.query.
type DataPoint struct {
	Value     float64           `json:"value" doc:"Value."`
	Labels    map[string]string `json:"labels,omitempty" doc:"Labels of its series."`
	Timestamp time.Time         `json:"timestamp" doc:"When it was recorded."`
}

// Percentiles are nearest-rank percentiles: each is a recorded value.
type Percentiles struct {
	P50 float64 `json:"p50" doc:"Median."`
	P90 float64 `json:"p90" doc:"90 % do not exceed it."`
	P95 float64 `json:"p95" doc:"95 % do not exceed it."`
	P99 float64 `json:"p99" doc:"99 % do not exceed it."`
}

// ListIn are the arguments of metrics.list.
type ListIn struct {
	Category string `json:"category"`
	Type     string `json:"type"`
	Prefix   string `json:"prefix"`
	toolfold.Page
}

// ListOut is the result of metrics.list.
type ListOut struct {
	Metrics []metric.Item `json:"metrics" doc:"By name."`
	Total   int           `json:"total" doc:"Metrics that match, on all pages."`
	toolfold.Paged
}
