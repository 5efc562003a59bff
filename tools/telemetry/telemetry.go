// Package telemetry declares the tool telemetry_summary, which summarizes metrics by category.
//
// It is not a stable API: see docs/stability.md.
package telemetry

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/metric"
	"github.com/toolfold/toolfold/internal/system/clock"
)

//go:embed asks.txt
var asksText string

// Family declares the tool telemetry_summary.
var Family = toolfold.Family{
	Name: "telemetry_summary", Summary: "Summarise metrics by category", Category: "telemetry", Tier: toolfold.Extended,
	Bare: true,
	Asks: asksText,
	Actions: []*toolfold.Action{{
		Name:    "summary",
		Legacy:  toolfold.Was("telemetry_summary"),
		Summary: "Sum up the recorded metrics by category.",
		Words:   "dashboard, health overview",
		Changed: "A category is the one declared, else the first part of a name, if it is one of the ten, else custom. Details have statistics.",
		Optional: toolfold.Fields{
			toolfold.List{Name: "categories", Doc: "Categories to show; all unless given.", Of: toolfold.String{Enum: metric.Categories()}},
			toolfold.Bool{Name: "includeDetails", Doc: "Show each metric."}.With(toolfold.Default(false)),
		},
		Effect:  toolfold.Reads,
		Example: `{"includeDetails": true}`,
		Related: []string{"metrics.query", "metrics.list"},
		Run:     toolfold.Method((*Service).Summary),
	}},
}

// Service runs the summary. It is safe for concurrent use.
type Service struct {
	store metric.Store
	now   func() time.Time
}

// New returns a service for a store.
func New(store metric.Store, now func() time.Time) *Service {
	return &Service{store: store, now: clock.Micros(now)}
}

// SummaryIn holds the arguments of telemetry_summary.
type SummaryIn struct {
	Categories     []string `json:"categories"`
	IncludeDetails bool     `json:"includeDetails"`
}

// SummaryOut is the result of telemetry_summary.
type SummaryOut struct {
	TotalMetrics    int        `json:"totalMetrics" doc:"Metrics of the categories shown."`
	TotalDataPoints int        `json:"totalDataPoints" doc:"Points of them that are kept."`
	ByCategory      []Category `json:"byCategory" doc:"By name; those without metrics are left out."`
	GeneratedAt     time.Time  `json:"generatedAt" doc:"When it was computed."`
}

// Category summarizes the metrics of a category.
type Category struct {
	Category       string   `json:"category" doc:"Category." enum:"system,application,agent,workflow,session,memory,provider,tool,trace,custom"`
	MetricCount    int      `json:"metricCount" doc:"Metrics."`
	SeriesCount    int      `json:"seriesCount" doc:"Sets of labels."`
	DataPointCount int      `json:"dataPointCount" doc:"Points that are kept."`
	Metrics        []Detail `json:"metrics,omitempty" doc:"By name; with includeDetails."`
}

// Detail summarizes a metric.
type Detail struct {
	metric.Item
	Avg *float64 `json:"avg,omitempty" doc:"Mean of the points; absent without any."`
	Min *float64 `json:"min,omitempty" doc:"Least of the points."`
	Max *float64 `json:"max,omitempty" doc:"Greatest of the points."`
	Sum *float64 `json:"sum,omitempty" doc:"Sum of the points; absent for a counter, whose points are totals."`
}

// Summary summarizes the metrics by category.
func (s *Service) Summary(ctx context.Context, in SummaryIn) (SummaryOut, error) {
	metrics, err := s.store.List(ctx)
	if err != nil {
		return SummaryOut{}, fmt.Errorf("reading metrics: %w", err)
	}
	out := SummaryOut{ByCategory: []Category{}, GeneratedAt: s.now()}
	at := map[string]int{}
	for _, l := range metrics {
		item := l.Item()
		if len(in.Categories) > 0 && !slices.Contains(in.Categories, item.Category) {
			continue
		}
		if _, known := at[item.Category]; !known {
			at[item.Category] = len(out.ByCategory)
			out.ByCategory = append(out.ByCategory, Category{Category: item.Category})
		}
		c := &out.ByCategory[at[item.Category]]
		c.MetricCount++
		c.SeriesCount += item.SeriesCount
		c.DataPointCount += item.DataPointCount
		out.TotalMetrics++
		out.TotalDataPoints += item.DataPointCount
		if in.IncludeDetails {
			c.Metrics = append(c.Metrics, detail(l, item))
		}
	}
	slices.SortFunc(out.ByCategory, func(a, b Category) int { return strings.Compare(a.Category, b.Category) })
	return out, nil
}

func detail(l metric.Overview, item metric.Item) Detail {
	d := Detail{Item: item}
	if l.Points == 0 {
		return d
	}
	d.Avg, d.Min, d.Max = new(l.Statistics.Sum/float64(l.Points)), new(l.Statistics.Min), new(l.Statistics.Max)
	if l.Type != metric.Counter {
		d.Sum = new(l.Statistics.Sum)
	}
	return d
}
