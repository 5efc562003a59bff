package serve

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/usage"
	"github.com/toolfold/toolfold/internal/text/estimate"
	"github.com/toolfold/toolfold/lazy"
)

// Metrics holds the figures that /metrics shows.
type Metrics struct {
	registry *prometheus.Registry
	calls    *prometheus.CounterVec
	byCaller *prometheus.CounterVec
	legacy   *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	clients  usage.Clients // of legacy
	callers  usage.Clients // of byCaller

	lists, listHits, listTokens prometheus.Counter
	describes, describeTokens   prometheus.Counter
}

// NewMetrics returns metrics with a registry of their own.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolfold_calls_total", Help: "Calls by action and error code; an empty code is success.",
		}, []string{"action", "code"}),
		byCaller: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolfold_caller_calls_total", Help: "Calls of callers with a name, by error code; an empty code is success.",
		}, []string{"caller", "code"}),
		legacy: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolfold_legacy_calls_total", Help: "Calls by legacy name, and by the client that makes them.",
		}, []string{"name", "client"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "toolfold_call_duration_seconds", Help: "Time from call to answer.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10),
		}, []string{"action"}),
		lists:          counter("toolfold_lists_total", "Answers to tools/list."),
		listHits:       counter("toolfold_list_cache_hits_total", "Answers to tools/list that were kept from before."),
		listTokens:     counter("toolfold_list_tokens_total", "Tokens of the tools listed, estimated."),
		describes:      counter("toolfold_describes_total", "Descriptions answered."),
		describeTokens: counter("toolfold_describe_tokens_total", "Tokens of the descriptions answered, estimated."),
	}
	m.registry.MustRegister(m.calls, m.byCaller, m.legacy, m.seconds, m.lists, m.listHits, m.listTokens, m.describes, m.describeTokens)
	return m
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

// Add adds a collector to /metrics. If it cannot collect, the other figures are still shown.
func (m *Metrics) Add(c prometheus.Collector) error { return m.registry.Register(c) }

// countList counts an answer to tools/list.
func (m *Metrics) countList(tokens int, cached bool) {
	m.lists.Inc()
	m.listTokens.Add(float64(tokens))
	if cached {
		m.listHits.Inc()
	}
}

// countDescription counts a description.
func (m *Metrics) countDescription(text []byte) {
	m.describes.Inc()
	m.describeTokens.Add(float64(estimate.Tokens(text)))
}

// caches adds the cache hits and misses of descriptions. They restart when the catalogue changes.
func (m *Metrics) caches(d *lazy.Discovery) {
	for name, count := range map[string]func(lazy.CacheCounts) int64{
		"toolfold_describe_cache_hits_total":   func(c lazy.CacheCounts) int64 { return c.Hits },
		"toolfold_describe_cache_misses_total": func(c lazy.CacheCounts) int64 { return c.Misses },
	} {
		// A second server with the same metrics is not counted.
		_ = m.Add(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: "Descriptions by whether they were kept from before."},
			func() float64 {
				return float64(count(d.View(context.Background()).Cache()))
			}))
	}
}

// Calls is middleware that counts and times every call. The label action is empty for unknown
// names.
func (m *Metrics) Calls(next call.Func) call.Func {
	return func(ctx context.Context, c *call.Call) toolfold.Answer {
		start := time.Now()
		answer := next(ctx, c)
		action, code := "", ""
		if c.Entry != nil {
			action = c.Entry.Action.FullName()
			if c.Entry.Legacy {
				m.legacy.WithLabelValues(c.Entry.Tool, m.clients.Name(c.Origin.Client)).Inc()
			}
		}
		if answer.Err != nil {
			code = answer.Err.Code
		} else if action == "tools.describe" {
			m.countDescription(answer.Content)
		}
		m.calls.WithLabelValues(action, code).Inc()
		if caller := cmp.Or(callctx.Of[callctx.By](ctx).Caller, c.Origin.Caller); caller != "" {
			m.byCaller.WithLabelValues(m.callers.Name(caller), code).Inc()
		}
		m.seconds.WithLabelValues(action).Observe(time.Since(start).Seconds())
		return answer
	}
}

func (m *Metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}
