package telemetry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/telemetry"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
)

// scrape parses what /metrics of a server shows, as Prometheus does.
func scrape(t *testing.T, s *serve.Server) map[string]*dto.MetricFamily {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler("", "example.com").ServeHTTP(w, httptest.NewRequest("GET", "http://example.com/metrics", nil))
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(w.Body.String()))
	if err != nil || w.Code != 200 {
		t.Fatalf("status %d, %v in\n%s", w.Code, err, w.Body)
	}
	return families
}

// shown lists the metrics of a family as texts.
func shown(f *dto.MetricFamily) (list []string) {
	for _, m := range f.GetMetric() {
		var labels []string
		for _, l := range m.GetLabel() {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
		list = append(list, fmt.Sprint(f.GetType(), labels, m.GetCounter().GetValue(), m.GetGauge().GetValue(), m.GetSummary().GetSampleCount(),
			m.GetSummary().GetSampleSum()))
	}
	slices.Sort(list)
	return list
}

// A Prometheus parser accepts /metrics, whatever names were recorded.
func TestScrape(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, nil)
	figures := serve.NewMetrics()
	opened := false
	if err := figures.Add(telemetry.Collector(telemetry.Sources{
		Open: func(ctx context.Context) (telemetry.Stores, error) {
			if !opened {
				return nil, nil
			}
			return b.store.Open(ctx)
		},
		Dropped: b.tracing.Dropped,
	})); err != nil {
		t.Fatal(err)
	}
	server, err := serve.New(serve.Options{Surface: b.Surface, Metrics: figures})
	if err != nil {
		t.Fatal(err)
	}
	before := scrape(t, server)
	if before["toolfold_store_up"] != nil || before["toolfold_spans_dropped_total"] == nil {
		t.Errorf("without a store there is %v", before)
	}
	opened = true
	for _, call := range [][2]string{
		{"metrics.increment", `{"metricName": "calls", "labels": {"tool": "a\"\\\n"}}`},
		{"metrics.increment", `{"metricName": "calls", "labels": {"tool": "b"}, "delta": 2}`},
		{"metrics.record", `{"metricName": "a.b", "value": 1.5, "labels": {"x-y": "1", "x.y": "2", "x_y": "3",` +
			` "__name__": "4", "0": "5", "ü": "6"}}`},
		{"metrics.record", `{"metricName": "a_b", "value": -2}`},
		{"metrics.record", `{"metricName": "d", "type": "timer", "value": 20}`},
		{"metrics.record", `{"metricName": "d", "value": 30}`},
		{"metrics.record", `{"metricName": "d_count", "value": 7}`},
		{"metrics.increment", `{"metricName": "calls_total", "delta": 4}`},
		{"metrics.increment", `{"metricName": "jobs_total", "delta": 5}`},
		{"task.submit", `{"name": "later", "input": {"tool": "memory.list"}}`},
	} {
		if answer := b.Runner.Call(t.Context(), call[0], json.RawMessage(call[1])); answer.Err != nil {
			t.Fatal(call, answer.Err)
		}
	}
	got := scrape(t, server)
	for name, want := range map[string][]string{
		"recorded_jobs_total":  {"COUNTER [] 5 0 0 0"},
		"recorded_calls_total": {"COUNTER [tool=a\"\\\n] 1 0 0 0", "COUNTER [tool=b] 2 0 0 0"},
		"recorded_d":           {"SUMMARY [] 0 0 2 50"},
		"recorded_a_b":         {"GAUGE [_=6 label_0=5 label___name__=4 x_y=3 x_y_c6d04176=2 x_y_ced28ca5=1] 0 1.5 0 0"},
		"toolfold_tasks":       {"GAUGE [queue=default status=queued] 0 1 0 0"},
	} {
		if diff := cmp.Diff(want, shown(got[name])); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	others := 0
	for name := range got {
		if strings.HasPrefix(name, "recorded_a_b_") || strings.HasPrefix(name, "recorded_d_count_") ||
			strings.HasPrefix(name, "recorded_calls_") && strings.HasSuffix(name, "_total") && name != "recorded_calls_total" {
			others++
		}
	}
	if others != 3 || got["toolfold_store_up"].GetMetric()[0].GetGauge().GetValue() != 1 {
		t.Errorf("%d names were told apart, the store is %v", others, got["toolfold_store_up"])
	}
}

// Lists and descriptions are counted, from the cache too.
func TestServerFigures(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, nil)
	figures := serve.NewMetrics()
	s := surface.New(surface.Options{})
	if err := s.Put(b.Families()...); err != nil {
		t.Fatal(err)
	}
	server, err := serve.New(serve.Options{Surface: s, Metrics: figures})
	if err != nil {
		t.Fatal(err)
	}
	post := func(method, params string) {
		body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params +
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
		r := httptest.NewRequest("POST", "http://example.com/mcp", strings.NewReader(body))
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28",
			"Mcp-Method": method,
		} {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		server.Handler("", "example.com").ServeHTTP(w, r)
		if w.Code != 200 || !strings.Contains(w.Body.String(), `"result"`) {
			t.Fatalf("%s: %d %s", method, w.Code, w.Body)
		}
	}
	value := func(name string) float64 {
		f := scrape(t, server)[name]
		if f == nil {
			t.Fatalf("there is no %s", name)
		}
		return f.GetMetric()[0].GetCounter().GetValue()
	}
	post("tools/list", "")
	once := value("toolfold_list_tokens_total")
	post("tools/list", "")
	for range 2 {
		post("tools/describe", `"tool_name":"memory.store",`)
	}
	for name, want := range map[string]float64{
		"toolfold_lists_total": 2, "toolfold_list_cache_hits_total": 1, "toolfold_list_tokens_total": 2 * once,
		"toolfold_describes_total": 2, "toolfold_describe_cache_hits_total": 1, "toolfold_describe_cache_misses_total": 1,
	} {
		if got := value(name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if once < 400 || value("toolfold_describe_tokens_total") < 50 {
		t.Errorf("a list has %v tokens, two descriptions %v", once, value("toolfold_describe_tokens_total"))
	}
}
