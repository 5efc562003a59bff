package serve

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/tools"
)

// Metrics holds the figures that /metrics shows.
type Metrics struct {
	registry *prometheus.Registry
	calls    *prometheus.CounterVec
	legacy   *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

// NewMetrics returns metrics of their own registry.
func NewMetrics() *Metrics {
	m := &Metrics{
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

// Calls is middleware that counts and times every call. The action is empty
// for names that led to none.
func (m *Metrics) Calls(next call.Func) call.Func {
	return func(ctx context.Context, c *call.Call) tools.Answer {
		start := time.Now()
		answer := next(ctx, c)
		action, code := "", ""
		if c.Entry != nil {
			action = c.Entry.Action.FullName()
			if c.Entry.Legacy {
				m.legacy.WithLabelValues(c.Entry.Tool).Inc()
			}
		}
		if answer.Err != nil {
			code = answer.Err.Code
		}
		m.calls.WithLabelValues(action, code).Inc()
		m.seconds.WithLabelValues(action).Observe(time.Since(start).Seconds())
		return answer
	}
}

func (m *Metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
