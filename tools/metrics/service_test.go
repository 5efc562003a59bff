package metrics_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/run/metric"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/toolfoldtest"
	"github.com/toolfold/toolfold/tools/metrics"
	"github.com/toolfold/toolfold/tools/telemetry"
	"github.com/toolfold/toolfold/tools/timer"
)

// bench calls the three families of one store. Its clock advances by a second per reading.
type bench struct {
	*call.Runner
	t *testing.T
}

func newBench(t *testing.T, url string) bench {
	t.Helper()
	db := storagetest.Open(t, url)
	var mu sync.Mutex
	now, ids := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC), 0
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	}
	retention := metric.Retention{Days: 30, Points: 10_000}
	return bench{toolfoldtest.Runner(
		toolfoldtest.Mount(t, metrics.Family, metrics.New(db.Metrics(), retention, clock)),
		toolfoldtest.Mount(t, timer.Family, timer.New(db.Metrics(), retention, clock, func() string {
			ids++
			return fmt.Sprintf("00000000-0000-4000-8000-%012d", ids)
		})),
		toolfoldtest.Mount(t, telemetry.Family, telemetry.New(db.Metrics(), clock)),
	), t}
}

// answers makes a call and compares the answer with want: the whole answer, or a part of it if want
// does not begin with a brace.
func (b bench) answers(name, args, want string) {
	b.t.Helper()
	got := string(b.Call(b.t.Context(), name, json.RawMessage(args)).Content)
	if strings.HasPrefix(want, "{") && got != want || !strings.Contains(got, want) {
		b.t.Errorf("%s %s\n got %s\nwant %s", name, args, got, want)
	}
}

func TestCounters(t *testing.T) {
	t.Parallel()
	b := newBench(t, "memory:")
	for range 3 {
		b.Call(t.Context(), "metrics.increment", json.RawMessage(`{"metricName":"tool_calls","labels":{"tool":"a"}}`))
	}
	b.answers("metrics.increment", `{"metricName":"tool_calls","labels":{"tool":"b"},"delta":10}`, `"currentValue":10`)
	b.answers("metrics.query", `{"metricName":"tool_calls","aggregation":"sum"}`, `"currentValue":13,"seriesCount":2`)
	b.answers("metrics.query", `{"metricName":"tool_calls","aggregation":"sum"}`, `"aggregation":"sum","aggregatedValue":13,"hasMore":false}`)
	b.answers("metrics.query", `{"metricName":"tool_calls","labels":{"tool":"a"},"aggregation":"rate","limit":1}`,
		`"metricName":"tool_calls","type":"counter","category":"tool","currentValue":3,"seriesCount":1,`+
			`"dataPoints":[{"value":3,"labels":{"tool":"a"},"timestamp":"2026-01-31T12:00:03Z"}],"total":3,`+
			`"aggregation":"rate","aggregatedValue":1,"hasMore":true,"nextCursor":"`)
	b.answers("metrics.query", `{"metricName":"tool_calls","since":"2026-01-31T12:00:02Z","until":"2026-01-31T12:00:03Z",`+
		`"aggregation":"count"}`, `"aggregatedValue":2`)
	b.answers("metrics.query", `{"metricName":"tool_calls","labels":{"tool":"c"},"aggregation":"avg"}`,
		`"currentValue":null,"seriesCount":0,"dataPoints":[],"total":0,"aggregation":"avg",`+
			`"note":"there are no points in the range","hasMore":false}`)
	b.answers("metrics.query", `{"metricName":"tool_calls","since":"2026-01-31T12:00:02Z","until":"2026-01-31T12:00:01Z"}`,
		"until is before since")
	b.answers("metrics.query", `{"metricName":"nowhere"}`, metrics.NotFound)
}

// A counter with recorded totals grew from its first total on, and rate reports that. A counter with
// additions grew from zero.
func TestRecordedTotals(t *testing.T) {
	t.Parallel()
	b := newBench(t, "memory:")
	for _, total := range []int{1000, 1005, 1015, 3} {
		b.answers("metrics.record", fmt.Sprintf(`{"metricName":"total","value":%d,"type":"counter"}`, total), `"recorded":true`)
	}
	b.answers("metrics.query", `{"metricName":"total","aggregation":"sum"}`, `"total":4,"aggregation":"sum","aggregatedValue":18,`)
	b.answers("metrics.query", `{"metricName":"total","aggregation":"rate"}`, `"aggregatedValue":6,`)
	b.answers("metrics.query", `{"metricName":"total","aggregation":"sum","bucket":"1d"}`, `"value":18}`)
	b.answers("metrics.increment", `{"metricName":"total","labels":{"a":"b"},"delta":7}`, `"currentValue":7`)
	b.answers("metrics.query", `{"metricName":"total","labels":{"a":"b"},"aggregation":"sum"}`, `"aggregatedValue":7,`)
}

// Buckets and groups split a figure: the sums of a counter add up. Times may be in words.
func TestFigures(t *testing.T) {
	t.Parallel()
	b := newBench(t, "memory:")
	for i := range 6 { // one per second
		b.answers("metrics.increment", fmt.Sprintf(`{"metricName":"tool_calls","delta":%d,"labels":{"tool":"%s"}}`, i+1, "ab"[i%2:i%2+1]),
			`"incremented":true`)
	}
	figures := func(args, want string) {
		t.Helper()
		b.answers("metrics.query", `{"metricName":"tool_calls","aggregation":"sum",`+args+
			`,"include_fields":["figures","aggregatedValue"]}`, want)
	}
	figures(`"bucket":"3s"`, `{"aggregatedValue":21,"figures":[{"from":"2026-01-31T12:00:00Z","points":2,"value":3},`+
		`{"from":"2026-01-31T12:00:03Z","points":3,"value":12},{"from":"2026-01-31T12:00:06Z","points":1,"value":6}]}`)
	figures(`"groupBy":"tool"`, `{"aggregatedValue":21,"figures":[{"group":"a","points":3,"value":9},{"group":"b","points":3,"value":12}]}`)
	figures(`"groupBy":""`, `{"aggregatedValue":21}`)
	figures(`"groupBy":"none"`, `"figures":[{"group":"","points":6,"value":21}]`)
	figures(`"bucket":"1h","groupBy":"tool","since":"today"`, `"from":"2026-01-31T12:00:00Z","group":"b","points":3,"value":12}`)
	b.answers("metrics.query", `{"metricName":"tool_calls","aggregation":"rate","bucket":"3s"}`, `"points":3,"value":4}`)
	b.answers("metrics.query", `{"metricName":"tool_calls","aggregation":"count","since":"2026-01-31","until":"2026-01-31"}`, `"total":6`)
	b.answers("metrics.query", `{"metricName":"tool_calls","until":"yesterday"}`, `"total":0`)
	for _, wrong := range []string{`since: \"banana\" is not a time`, `until: \"frog\" is not a time`, `"path":"/since"`, `"path":"/until"`} {
		b.answers("metrics.query", `{"metricName":"tool_calls","since":"banana","until":"frog"}`, wrong)
	}
	b.answers("metrics.query", `{"metricName":"tool_calls","since":"-1h","until":"now"}`, `"total":6`)
	b.answers("metrics.query", `{"metricName":"tool_calls","since":"last week"}`, `2026-01-31T12:00:00Z`)
	b.answers("metrics.query", `{"metricName":"tool_calls","aggregation":"sum","bucket":"hour"}`, "5m, 1h or 1d")
	b.answers("metrics.query", `{"metricName":"tool_calls","aggregation":"sum","bucket":"0s"}`, "no length")
	b.answers("metrics.query", `{"metricName":"tool_calls","bucket":"1h"}`, "aggregation is missing")
	for i := range 1100 {
		b.answers("metrics.record", fmt.Sprintf(`{"metricName":"many","value":%d}`, i), `"recorded":true`)
	}
	b.answers("metrics.query", `{"metricName":"many","aggregation":"avg","bucket":"1s"}`, "take a longer bucket")
}

// Figures by several labels are those of the points that have the values, on both databases, whatever the
// bucket is called.
func TestFiguresBySeveralLabels(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "store.db") },
		"postgres": func(t *testing.T) string { return storagetest.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, open(t))
			type place struct{ From, Route, Code string }
			want := map[place]float64{}
			at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
			for i := range 24 { // one a second, from 12:00:01 on
				route, code := []string{"/a", "/b", "/a,b"}[i%3], []string{"200", "500"}[i/3%2]
				labels := fmt.Sprintf(`{"route":%q,"code":%q,"host":"h%d"}`, route, code, i%2)
				if i%5 == 0 { // a label that a series does not have is empty
					labels, code = fmt.Sprintf(`{"route":%q}`, route), ""
				}
				b.answers("metrics.record", fmt.Sprintf(`{"metricName":"seconds","type":"histogram","value":%d,"labels":%s}`, i*i, labels),
					`"recorded":true`)
				from := at.Add(time.Duration(i+1) * time.Second).Truncate(10 * time.Second)
				want[place{from.Format(time.RFC3339), route, code}] += float64(i * i)
			}
			for _, bucket := range []string{"bucket", "step"} {
				answer := b.Call(t.Context(), "metrics.query", json.RawMessage(`{"metricName":"seconds","aggregation":"sum","`+bucket+
					`":"10s","groupBy":["route","code"]}`))
				var out struct {
					Figures []struct {
						From   time.Time
						Group  *string
						Groups struct{ Route, Code string }
						Value  float64
					}
				}
				if err := json.Unmarshal(answer.Content, &out); err != nil || answer.Err != nil {
					t.Fatal(err, answer.Err)
				}
				got := map[place]float64{}
				for _, f := range out.Figures {
					got[place{f.From.Format(time.RFC3339), f.Groups.Route, f.Groups.Code}] = f.Value
					if f.Group != nil {
						t.Errorf("%+v has the value of one label", f)
					}
				}
				if diff := cmp.Diff(want, got); diff != "" || len(out.Figures) != len(want) {
					t.Errorf("%s: %d figures: %s", bucket, len(out.Figures), diff)
				}
			}
			b.answers("metrics.query", `{"metricName":"seconds","aggregation":"count","groupBy":["code"]}`,
				`"figures":[{"group":"","points":5,"value":5},{"group":"200","points":`)
			b.answers("metrics.query", `{"metricName":"seconds","aggregation":"count","step":"10s","bucket":"5m"}`, `not another one in step`)
		})
	}
}

// Pages of points go back in time, without points added since the first page.
func TestPagesOfPoints(t *testing.T) {
	t.Parallel()
	b := newBench(t, "memory:")
	record := func(value int) {
		b.answers("metrics.record", fmt.Sprintf(`{"metricName":"m","value":%d,"labels":{"l":"%d"}}`, value, value%3), `"recorded":true`)
	}
	for i := range 10 {
		record(i)
	}
	var got []float64
	cursor := ""
	for page := 0; page == 0 || cursor != ""; page++ {
		var out metrics.QueryOut
		answer := b.Call(t.Context(), "metrics.query", json.RawMessage(`{"metricName":"m","limit":3,"cursor":"`+cursor+`"}`))
		if err := json.Unmarshal(answer.Content, &out); err != nil || answer.Err != nil || page > 4 {
			t.Fatal(page, err, answer.Err)
		}
		var values []float64
		for _, p := range out.DataPoints {
			values = append(values, p.Value)
		}
		got = append(values, got...)
		cursor = out.NextCursor
		record(100 + page)
	}
	if diff := cmp.Diff([]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, got); diff != "" {
		t.Error(diff)
	}
	b.answers("metrics.query", `{"metricName":"m","cursor":"nonsense"}`, "nextCursor of metrics.query")
}

// Invalid calls are refused and change nothing.
func TestRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, "memory:")
	b.answers("metrics.record", `{"metricName":"a","value":1,"type":"counter"}`, `"recorded":true`)
	b.answers("metrics.record", `{"metricName":"h","value":1,"type":"histogram"}`, `"recorded":true`)
	for args, want := range map[string]string{
		`{"metricName":"a","value":1,"type":"gauge"}`:        `is a counter, not a gauge`,
		`{"metricName":"a","value":-1}`:                      `only grows`,
		`{"metricName":"a","value":1,"category":"agent"}`:    `has category custom`,
		`{"metricName":"b","value":"NaN"}`:                   `INVALID_INPUT`,
		`{"metricName":"b","value":"Infinity"}`:              `INVALID_INPUT`,
		`{"metricName":"b","value":1e999}`:                   `INVALID_INPUT`,
		`{"metricName":"b","value":1e301}`:                   `out of range: metrics keep values up to`,
		`{"metricName":" ","value":1}`:                       `metricName is empty`,
		`{"metricName":"b","value":1,"labels":{"":"x"}}`:     `INVALID_INPUT`,
		`{"metricName":"b","value":1,"labels":{"a":["x"]}}`:  `INVALID_INPUT`,
		`{"metricName":"b","value":1,"type":"no such type"}`: `INVALID_INPUT`,
	} {
		b.answers("metrics.record", args, want)
	}
	b.answers("metrics.increment", `{"metricName":"a","delta":-1}`, `only grows`)
	b.answers("metrics.increment", `{"metricName":"h"}`, `only counters and gauges`)
	b.answers("metrics.list", `{}`, `"total":2`)
	b.answers("metrics.record", `{"metricName":"a","value":7}`, `"type":"counter"`)
}

func TestLists(t *testing.T) {
	t.Parallel()
	b := newBench(t, "memory:")
	for _, args := range []string{
		`{"metricName":"agent_cost","value":0.5,"labels":{"m":"x"}}`, `{"metricName":"agent_cost","value":1.5}`,
		`{"metricName":"latency","value":20,"type":"summary","category":"provider"}`, `{"metricName":"foo_bar","value":3}`,
	} {
		b.answers("metrics.record", args, `"recorded":true`)
	}
	b.answers("metrics.list", `{"category":"provider"}`,
		`{"metrics":[{"name":"latency","type":"summary","category":"provider","currentValue":20,"seriesCount":1,"dataPointCount":1,`+
			`"lastUpdated":"2026-01-31T12:00:03Z"}],"total":1,"hasMore":false}`)
	b.answers("metrics.list", `{"type":"gauge","prefix":"a"}`, `"seriesCount":2,"dataPointCount":2,`)
	b.answers("metrics.list", `{"category":"custom"}`, `"name":"foo_bar"`)
	var names []string
	cursor := ""
	for range 3 {
		var out metrics.ListOut
		answer := b.Call(t.Context(), "metrics.list", json.RawMessage(`{"limit":1,"cursor":"`+cursor+`"}`))
		if err := json.Unmarshal(answer.Content, &out); err != nil {
			t.Fatal(err)
		}
		names = append(names, out.Metrics[0].Name)
		cursor = out.NextCursor
	}
	if diff := cmp.Diff([]string{"agent_cost", "foo_bar", "latency"}, names); diff != "" || cursor != "" {
		t.Error(diff, cursor)
	}
	b.answers("telemetry_summary", `{"include_fields":["totalMetrics","totalDataPoints","byCategory"]}`,
		`{"totalMetrics":3,"totalDataPoints":4,"byCategory":[{"category":"agent","metricCount":1,"seriesCount":2,"dataPointCount":2},`+
			`{"category":"custom","metricCount":1,"seriesCount":1,"dataPointCount":1},{"category":"provider","metricCount":1,`+
			`"seriesCount":1,"dataPointCount":1}]}`)
	b.answers("telemetry_summary", `{"categories":["agent"],"includeDetails":true,"include_fields":["byCategory.metrics"]}`,
		`{"byCategory":[{"metrics":[{"name":"agent_cost","type":"gauge","category":"agent","currentValue":1.5,`+
			`"seriesCount":2,"dataPointCount":2,"lastUpdated":"2026-01-31T12:00:02Z","avg":1,"min":0.5,"max":1.5,"sum":2}]}]}`)
}

// A timer survives a restart, and its duration is a point.
func TestTimers(t *testing.T) {
	t.Parallel()
	url := "sqlite://" + filepath.Join(t.TempDir(), "t.db")
	newBench(t, url).answers("timer.start", `{"metricName":"tool_build","labels":{"os":"linux"}}`,
		`{"timerId":"00000000-0000-4000-8000-000000000001","metricName":"tool_build","labels":{"os":"linux"},"startedAt":"2026-01-31T12:00:01Z"}`)
	b := newBench(t, url)
	b.answers("timer.list", `{}`, `"metricName":"tool_build","labels":{"os":"linux"},"startedAt":"2026-01-31T12:00:01Z"}],`+
		`"total":1,"hasMore":false}`)
	const stop = `{"timerId":"00000000-0000-4000-8000-000000000001"}`
	b.Call(t.Context(), "telemetry_summary", nil) // advances the clock
	b.answers("timer.stop", stop, `"durationMs":1000,"labels":{"os":"linux"},"stoppedAt":"2026-01-31T12:00:02Z"}`)
	b.answers("timer.stop", stop, timer.NotFound)
	b.answers("metrics.query", `{"metricName":"tool_build","aggregation":"percentile"}`,
		`"aggregatedValue":1000,"percentiles":{"p50":1000,"p90":1000,"p95":1000,"p99":1000},"hasMore":false}`)
	b.answers("metrics.increment", `{"metricName":"tool_build"}`, metric.TypeConflict)
	b.answers("timer.list", `{}`, `{"timers":[],"total":0,"hasMore":false,"warnings":["there are no timers; timer.start adds to them"]}`)
}

// An answer stays small even with long labels; until continues it.
func TestLongLabels(t *testing.T) {
	t.Parallel()
	b := newBench(t, "memory:")
	long := strings.Repeat("x", 480)
	labels := `{"a":"` + long + `","b":"` + long + `","c":"` + long + `","d":"` + long + `"}`
	for range 600 {
		b.Call(t.Context(), "metrics.record", json.RawMessage(`{"metricName":"m","value":1,"labels":`+labels+`}`))
	}
	answer := b.Call(t.Context(), "metrics.query", json.RawMessage(`{"metricName":"m","limit":1000}`))
	var out metrics.QueryOut
	if err := json.Unmarshal(answer.Content, &out); err != nil || len(answer.Content) > 1<<20 || out.Total != 600 ||
		len(out.DataPoints) < 400 {
		t.Fatalf("%d bytes, %d of %d points, %v", len(answer.Content), len(out.DataPoints), out.Total, err)
	}
	until := out.DataPoints[0].Timestamp.Add(-time.Microsecond).Format(time.RFC3339Nano)
	b.answers("metrics.query", `{"metricName":"m","until":"`+until+`","limit":1,"include_fields":["total"]}`,
		fmt.Sprintf(`{"total":%d}`, 600-len(out.DataPoints)))
	b.answers("metrics.record", `{"metricName":"m","value":1,"labels":`+strings.ReplaceAll(labels, "x", "üüü")+`}`, "INVALID_INPUT")
}
