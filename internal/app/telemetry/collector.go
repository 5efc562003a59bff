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

// Sources are the data sources of a collector.
type Sources struct {
	// Open opens the store, or returns the open one. It returns nil if there is no store yet, so
	// that no scrape creates one.
	Open func(context.Context) (Stores, error)

	// Dropped returns how many spans were not stored.
	Dropped func() int64
}

// Stores are the stores that a collector reads.
type Stores interface {
	Metrics() metric.Store
	Queue() queue.Store
}

// Collector collects the recorded metrics, the tasks by queue and state, and the number of dropped
// spans. It changes names that Prometheus does not accept: a recorded gauge agent.cost becomes
// recorded_agent_cost, and a counter calls recorded_calls_total. If two names collide, the later
// one gets a hash of its original name.
func Collector(from Sources) prometheus.Collector { return collector{from} }

type collector struct{ from Sources }

var (
	storeUp = prometheus.NewDesc("toolfold_store_up", "Whether the store could be read; absent before there is one.", nil, nil)
	tasks   = prometheus.NewDesc("toolfold_tasks", "Tasks by queue and state.", []string{"queue", "status"}, nil)
	dropped = prometheus.NewDesc("toolfold_spans_dropped_total", "Spans that were not stored.", nil, nil)
)

// Describe implements [prometheus.Collector]. It describes nothing, because the metrics are only
// known when they are collected.
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
	names := map[string]string{} // maps exposed names to the original ones
	for _, s := range states {
		to <- expose(s, names)
	}
}

// expose converts a series to a Prometheus metric. Distributions become summaries of count and
// sum, the only figures that cover every point.
func expose(s metric.State, names map[string]string) prometheus.Metric {
	name, suffix := "recorded_"+plain(s.Name), ""
	if s.Type == metric.Counter {
		name, suffix = strings.TrimSuffix(name, "_total"), "_total"
	}
	name = unique(name, suffix, s.Name, names)
	labels := prometheus.Labels{}
	originals := map[string]string{}
	for _, label := range slices.Sorted(maps.Keys(s.Labels)) {
		known := plain(label)
		if known[0] >= '0' && known[0] <= '9' || strings.HasPrefix(known, "__") || known == "quantile" {
			known = "label_" + known
		}
		if known != label { // unchanged names take precedence
			if _, clash := s.Labels[known]; clash {
				known += hash(label)
			}
		}
		labels[unique(known, "", label, originals)] = s.Labels[label]
	}
	desc := prometheus.NewDesc(name, "Recorded "+s.Type+" "+plain(s.Name)+".", nil, labels)
	switch s.Type {
	case metric.Counter:
		return prometheus.MustNewConstMetric(desc, prometheus.CounterValue, s.Last)
	case metric.Gauge:
		return prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, s.Last)
	}
	for _, suffix := range []string{"_count", "_sum"} { // a summary exposes these two names
		names[name+suffix] = s.Name + suffix + " of " + s.Type
	}
	return prometheus.MustNewConstSummary(desc, uint64(s.Count), s.Sum, nil)
}

// plain replaces every character that Prometheus does not allow in names.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' && r < 0x80 {
			return r
		}
		return '_'
	}, name)
}

// unique returns name with its suffix. If another original already has that name, it inserts a
// hash.
func unique(name, suffix, original string, originals map[string]string) string {
	if first, clash := originals[name+suffix]; clash && first != original {
		name += hash(original)
	}
	originals[name+suffix] = original
	return name + suffix
}

func hash(text string) string {
	h := fnv.New32a()
	h.Write([]byte(text))
	return fmt.Sprintf("_%08x", h.Sum32())
}
