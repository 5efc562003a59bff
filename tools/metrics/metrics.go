// Package metrics declares the metrics tool: numbers over time that survive a
// restart. A series is a metric with one set of labels.
//
// It is not a stable API: see docs/stability.md.
package metrics

import (
	_ "embed"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/metric"
)

var (
	value    = toolfold.Number{Name: "value", Doc: "Value of the point."}
	delta    = toolfold.Number{Name: "delta", Doc: "How much to add."}
	kind     = toolfold.String{Name: "type", Doc: "Type, declared by the first use; gauge unless given.", Enum: metric.Types()}
	category = toolfold.String{Name: "category", Doc: "Category; the first part of the name, unless the first use declares one.",
		Enum: metric.Categories()}
	aggregation = toolfold.String{
		Name: "aggregation", Doc: "Figure to compute from all points of the range.",
		Enum: []string{"sum", "avg", "min", "max", "count", "rate", "percentile", "last"},
	}
	since  = toolfold.String{Name: "since", Doc: "From 2026-01-31T12:00:00Z, 2026-01-31, today, -1h on.", Unclear: true}
	until  = toolfold.String{Name: "until", Doc: "Up to such a time."}
	bucket = toolfold.String{Name: "bucket", Doc: "Figures by time: 5m, 1h, 1d.", Also: []string{"step"}}
	group  = toolfold.String{Name: "groupBy", Doc: "Figures by label, or by several."}
	limit  = toolfold.Int{Name: "limit", Doc: "Most entries to return.", Min: 1, Max: 1000}
	prefix = toolfold.String{Name: "prefix", Doc: "Beginning of the name."}
)

//go:embed asks.txt
var asksText string

// Family declares the metrics tool.
var Family = toolfold.Family{
	Name: "metrics", Summary: "Numbers over time", Category: "telemetry", Tier: toolfold.Extended,
	Words: "measurements, statistics, counters, gauges, telemetry, monitoring, time series, KPI, data points, readings",
	Doc:   "Each set of labels is a series. The first use of a metric declares its type; other types are refused.",
	Asks:  asksText,
	Actions: []*toolfold.Action{{
		Name:     "record",
		Legacy:   toolfold.Was("metrics_record"),
		Summary:  "Record a point of a metric.",
		Words:    "measure, gauge reading, data point",
		Doc:      "For a counter the value is its new total, and less than before means that it began again.",
		Changed:  "Points survive a restart. Without type it is the metric's, and another type than the metric's is refused.",
		Required: toolfold.Fields{metric.Name, value},
		Optional: toolfold.Fields{metric.Labels, kind, category.With(toolfold.Added())},
		Effect:   toolfold.Adds,
		Example:  `{"metricName": "agent_cost", "value": 0.25, "labels": {"model": "small"}}`,
		Related:  []string{"metrics.query", "metrics.increment"},
		Run:      toolfold.Method((*Service).Record),
	}, {
		Name:     "increment",
		Legacy:   toolfold.Was("metrics_increment"),
		Summary:  "Add to a counter or gauge; a new one is a counter.",
		Words:    "count up, one more, add one, tally, bump, plus one, hit",
		Changed:  "Each set of labels has a total of its own. A counter is not lowered.",
		Required: toolfold.Fields{metric.Name},
		Optional: toolfold.Fields{delta.With(toolfold.Default(1)), metric.Labels, category.With(toolfold.Added())},
		Effect:   toolfold.Adds,
		Example:  `{"metricName": "tool_retries", "labels": {"tool": "build"}}`,
		Related:  []string{"metrics.query", "metrics.record"},
		Run:      toolfold.Method((*Service).Increment),
	}, {
		Name:    "query",
		Legacy:  toolfold.Was("metrics_query"),
		Summary: "Show the points of a metric, or a figure computed from them.",
		Words:   "average, sum, maximum, percentile p95, hourly, mean, p99, chart",
		Doc: "Picks the series that have at least the labels. limit cuts dataPoints only. For a counter, sum is how " +
			"much it grew, over its resets, and rate that per second; for a gauge, rate is its change, else points, per second. percentile " +
			"answers four; aggregatedValue is p95. With bucket or groupBy, figures replaces dataPoints: " +
			"sums of buckets add up. Times are UTC.",
		Changed:  "rate and percentile are computed. limit no longer cuts the aggregated points. sum of a counter is how much it grew.",
		Required: toolfold.Fields{metric.Name},
		Optional: toolfold.Fields{
			metric.Labels, aggregation, since.With(toolfold.Added()), until.With(toolfold.Added()),
			bucket.With(toolfold.Added()),
			group.With(toolfold.Many(), toolfold.MaxItems(maxGroups), toolfold.Added()),
			limit.With(toolfold.Default(100)), toolfold.Cursor.With(toolfold.Added()),
		},
		Effect:  toolfold.Reads,
		Example: `{"metricName": "agent_cost", "aggregation": "sum", "since": "-1d", "bucket": "1h"}`,
		Related: []string{"metrics.list", "telemetry_summary"},
		Run:     toolfold.Method((*Service).Query),
	}, {
		Name:    "list",
		Legacy:  toolfold.Was("metrics_list"),
		Summary: "List metrics with their newest values.",
		Words:   "available counters, catalogue",
		Changed: "Pages: hasMore, and nextCursor for the next one. A category is one of the ten, custom for all other names.",
		Optional: toolfold.Fields{
			category, kind, prefix, limit.With(toolfold.Default(100), toolfold.Added()), toolfold.Cursor.With(toolfold.Added()),
		},
		Effect:  toolfold.Reads,
		Example: `{"prefix": "agent_"}`,
		Related: []string{"metrics.query", "telemetry_summary"},
		Run:     toolfold.Method((*Service).List),
	}},
}
