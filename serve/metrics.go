package serve

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/toolfold/toolfold/consolidate"
)

// metrics are what /metrics shows.
type metrics struct {
	registry *prometheus.Registry
	calls    *prometheus.CounterVec
	legacy   *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolfold_calls_total", Help: "Calls by action and error code; an empty code is success.",
		}, []string{"action", "code"}),
		legacy: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolfold_legacy_calls_total", Help: "Calls by legacy name.",
		}, []string{"name"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "toolfold_call_duration_seconds", Help: "Time from call to answer.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10),
		}, []string{"action"}),
	}
	m.registry.MustRegister(m.calls, m.legacy, m.seconds)
	return m
}

func (m *metrics) observe(c consolidate.Call) {
	m.calls.WithLabelValues(c.Action, c.Code).Inc()
	m.seconds.WithLabelValues(c.Action).Observe(c.Duration.Seconds())
	if c.Legacy != "" {
		m.legacy.WithLabelValues(c.Legacy).Inc()
	}
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
