package telemetry_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/toolfold/toolfold/internal/app/telemetry"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
)

// shown returns a server's page /metrics.
func shown(s *serve.Server) string {
	w := httptest.NewRecorder()
	s.Handler("", "example.com").ServeHTTP(w, httptest.NewRequest("GET", "http://example.com/metrics", nil))
	return w.Body.String()
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
	if page := shown(server); strings.Contains(page, "toolfold_store_up") || !strings.Contains(page, "\ntoolfold_spans_dropped_total 0\n") {
		t.Errorf("without a store the page is\n%s", page)
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
	site := httptest.NewServer(server.Handler("", ""))
	defer site.Close()
	if err := testutil.ScrapeAndCompare(site.URL+"/metrics", strings.NewReader(scrapedPage), "recorded_a_b", "recorded_a_b_1ba46871",
		"recorded_calls_cf21a2a3_total", "recorded_calls_total", "recorded_d", "recorded_d_count_a06b465b", "recorded_jobs_total",
		"toolfold_store_up", "toolfold_tasks"); err != nil {
		t.Error(err)
	}
}

// scrapedPage is the page that TestScrape expects; colliding names have a hash.
const scrapedPage = `# HELP recorded_a_b Recorded gauge a_b.
# TYPE recorded_a_b gauge
recorded_a_b{_="6",label_0="5",label___name__="4",x_y="3",x_y_c6d04176="2",x_y_ced28ca5="1"} 1.5
# HELP recorded_a_b_1ba46871 Recorded gauge a_b.
# TYPE recorded_a_b_1ba46871 gauge
recorded_a_b_1ba46871 -2
# HELP recorded_calls_cf21a2a3_total Recorded counter calls_total.
# TYPE recorded_calls_cf21a2a3_total counter
recorded_calls_cf21a2a3_total 4
# HELP recorded_calls_total Recorded counter calls.
# TYPE recorded_calls_total counter
recorded_calls_total{tool="a\"\\\n"} 1
recorded_calls_total{tool="b"} 2
# HELP recorded_d Recorded timer d.
# TYPE recorded_d summary
recorded_d_sum 50
recorded_d_count 2
# HELP recorded_d_count_a06b465b Recorded gauge d_count.
# TYPE recorded_d_count_a06b465b gauge
recorded_d_count_a06b465b 7
# HELP recorded_jobs_total Recorded counter jobs_total.
# TYPE recorded_jobs_total counter
recorded_jobs_total 5
# HELP toolfold_store_up Whether the store could be read; absent before there is one.
# TYPE toolfold_store_up gauge
toolfold_store_up 1
# HELP toolfold_tasks Tasks by queue and state.
# TYPE toolfold_tasks gauge
toolfold_tasks{queue="default",status="queued"} 1
`

// Lists and descriptions are counted, even if they come from the cache.
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
		_, after, found := strings.Cut(shown(server), "\n"+name+" ")
		text, _, _ := strings.Cut(after, "\n")
		f, err := strconv.ParseFloat(text, 64)
		if !found || err != nil {
			t.Fatalf("there is no %s: %v", name, err)
		}
		return f
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
