package telemetry

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolfold/toolfold/internal/run/metric"
	"github.com/toolfold/toolfold/tools/queue"
)

// collectWithin bounds how long a scrape waits for the store.
const collectWithin = 5 * time.Second

// Sources are read by a collector.
type Sources struct {
	// Open opens the store, or returns the one that is open. It returns nil
	// where there is none yet, so that no scrape makes one.
	Open func(context.Context) (Stores, error)

	// Dropped returns how many spans were not stored.
	Dropped func() int64
}

// Stores are the stores that a collector reads.
type Stores interface {
	Metrics() metric.Store
	Queue() queue.Store
}

// Collector collects the recorded metrics, the tasks by queue and state, and
// what tracing has dropped. Names that Prometheus does not take are changed:
// a recorded gauge agent.cost becomes recorded_agent_cost, and a counter calls
// recorded_calls_total. Where two would be one, the later in order gets a hash of its own name.
func Collector(from Sources) prometheus.Collector { return collector{from} }

type collector struct{ from Sources }

var (
	storeUp = prometheus.NewDesc("toolfold_store_up", "Whether the store could be read; absent before there is one.", nil, nil)
	tasks   = prometheus.NewDesc("toolfold_tasks", "Tasks by queue and state.", []string{"queue", "status"}, nil)
	dropped = prometheus.NewDesc("toolfold_spans_dropped_total", "Spans that were not stored.", nil, nil)
)

// Describe implements [prometheus.Collector]. It describes nothing: what there
// is to collect is known when it is.
func (c collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c collector) Collect(to chan<- prometheus.Metric) {
	ctx, done := context.WithTimeout(context.Background(), collectWithin)
	defer done()
	to <- prometheus.MustNewConstMetric(dropped, prometheus.CounterValue, float64(c.from.Dropped()))
	stores, err := c.from.Open(ctx)
	if stores == nil && err == nil {
		return
	}
	var states []metric.State
	var queues queue.Page
	if err == nil {
		states, err = stores.Metrics().States(ctx)
	}
	if err == nil {
		queues, err = stores.Queue().List(ctx, queue.Query{Limit: queue.MaxQueues + 1})
	}
	if err != nil {
		to <- prometheus.MustNewConstMetric(storeUp, prometheus.GaugeValue, 0)
		return
	}
	to <- prometheus.MustNewConstMetric(storeUp, prometheus.GaugeValue, 1)
	for _, q := range queues.Queues {
		for status, n := range q.Counts {
			to <- prometheus.MustNewConstMetric(tasks, prometheus.GaugeValue, float64(n), q.Name, status)
		}
	}
	names := map[string]string{} // the metric of each exposed name
	for _, s := range states {
		to <- exposed(s, names)
	}
}

// exposed returns a series as Prometheus takes it. Of the types that it knows
// as distributions, count and sum are all that can be told of every point.
func exposed(s metric.State, names map[string]string) prometheus.Metric {
	name, suffix := "recorded_"+plain(s.Name), ""
	if s.Type == metric.Counter {
		name, suffix = strings.TrimSuffix(name, "_total"), "_total"
	}
	name = unique(name, suffix, s.Name, names)
	labels := prometheus.Labels{}
	taken := map[string]string{}
	for _, label := range slices.Sorted(maps.Keys(s.Labels)) {
		known := plain(label)
		if known[0] >= '0' && known[0] <= '9' || strings.HasPrefix(known, "__") || known == "quantile" {
			known = "label_" + known
		}
		if known != label { // names that need no change come first
			if _, clash := s.Labels[known]; clash {
				known += hashed(label)
			}
		}
		labels[unique(known, "", label, taken)] = s.Labels[label]
	}
	desc := prometheus.NewDesc(name, "Recorded "+s.Type+" "+plain(s.Name)+".", nil, labels)
	switch s.Type {
	case metric.Counter:
		return prometheus.MustNewConstMetric(desc, prometheus.CounterValue, s.Last)
	case metric.Gauge:
		return prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, s.Last)
	}
	for _, suffix := range []string{"_count", "_sum"} { // the names of its two figures
		names[name+suffix] = s.Name + suffix + " of " + s.Type
	}
	return prometheus.MustNewConstSummary(desc, uint64(s.Count), s.Sum, nil)
}

// plain replaces every character that names of Prometheus do not have.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' && r < 0x80 {
			return r
		}
		return '_'
	}, name)
}

// unique returns name with its suffix, and between them a hash of the original where another
// original has that name.
func unique(name, suffix, original string, taken map[string]string) string {
	if first, clash := taken[name+suffix]; clash && first != original {
		name += hashed(original)
	}
	taken[name+suffix] = original
	return name + suffix
}

func hashed(text string) string {
	h := fnv.New32a()
	h.Write([]byte(text))
	return fmt.Sprintf("_%08x", h.Sum32())
}
