package storagetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/metric"
	"github.com/toolfold/toolfold/internal/storage"
)

// Metrics returns the tests of the store of the metrics and timer families.
func Metrics() Suite {
	return Suite{
		Name: "metrics",
		Behaviours: map[string]func(*testing.T, *storage.DB){
			"series":    keepSeries,
			"pack":      packPoints,
			"retention": trimPoints,
			"at once":   writePointsAtOnce,
			"timers":    runTimers,
		},
		Durabilities: map[string]func(*testing.T, string){"reopened": reopened(func(t *testing.T, db *storage.DB) {
			writePoint(t, db, written("m", "", 0, 1, nil))
			_, err := db.Metrics().Start(t.Context(), timer(1), 9)
			noError(t, err)
		}, func(t *testing.T, db *storage.DB) {
			equal(t, len(readMetric(t, db, metric.Range{Name: "m"})[0].Points), 1)
			_, found, err := db.Metrics().Stop(t.Context(), timer(1).ID, noon.Add(time.Minute), metric.Keep{})
			noError(t, err)
			equal(t, found, true)
		})},
	}
}

// written returns a write n seconds after noon.
func written(name, kind string, n int, value float64, labels map[string]string) metric.Write {
	return metric.Write{
		Metric: metric.Metric{Name: name, Type: kind}, Labels: labels, Value: value, At: noon.Add(time.Duration(n) * time.Second),
	}
}

func writePoint(t *testing.T, db *storage.DB, w metric.Write) metric.WriteResult {
	t.Helper()
	got, err := db.Metrics().Write(t.Context(), w, metric.Keep{})
	noError(t, err)
	return got
}

func readMetric(t *testing.T, db *storage.DB, r metric.Range) []metric.Series {
	t.Helper()
	_, series, more, found, err := db.Metrics().Read(t.Context(), r)
	noError(t, err)
	if more || !found {
		t.Fatalf("reading %s: more %v, found %v", r.Name, more, found)
	}
	return series
}

func point(n int, value float64) metric.Point {
	return metric.Point{Micros: noon.Add(time.Duration(n) * time.Second).UnixMicro(), Value: value}
}

func keepSeries(t *testing.T, db *storage.DB) {
	red, odd := map[string]string{"colour": "red", "a": "b"}, map[string]string{"colour": "müssen\x00\""}
	equal(t, writePoint(t, db, written("m", metric.Counter, 0, 5, red)).Current, 5.0)
	add := written("m", "", 1, 2.5, red)
	add.Add = true
	equal(t, writePoint(t, db, add), metric.WriteResult{Metric: metric.Metric{Name: "m", Type: metric.Counter}, Current: 7.5})
	equal(t, writePoint(t, db, written("m", "", 2, 1, odd)).Current, 1.0)
	equal(t, writePoint(t, db, written("n", "", 3, -1, nil)).Type, metric.Gauge)
	var refused *toolfold.Error
	_, err := db.Metrics().Write(t.Context(), written("m", metric.Gauge, 3, 1, nil), metric.Keep{})
	if !errors.As(err, &refused) || refused.Code != metric.TypeConflict {
		t.Fatalf("another type: %v", err)
	}
	equal(t, readMetric(t, db, metric.Range{Name: "m"}), []metric.Series{ // counts before the first totals are dropped
		{Labels: red, Last: point(1, 7.5), Points: []metric.Point{point(0, 5), point(1, 7.5)}, Cut: true},
		{Labels: odd, Last: point(2, 1), Points: []metric.Point{point(2, 1)}, Cut: true},
	})
	before := point(0, 5)
	equal(t, readMetric(t, db, metric.Range{Name: "m", Labels: map[string]string{"a": "b"}, Since: noon.Add(time.Second),
		Until: noon.Add(time.Second)}), []metric.Series{
		{Labels: red, Last: point(1, 7.5), Points: []metric.Point{point(1, 7.5)}, Before: &before, Cut: true},
	})
	_, _, _, found, err := db.Metrics().Read(t.Context(), metric.Range{Name: "nowhere"})
	if found || err != nil {
		t.Fatalf("a metric that is not there: %v, %v", found, err)
	}
	list, err := db.Metrics().List(t.Context())
	noError(t, err)
	equal(t, list, []metric.Overview{
		{Metric: metric.Metric{Name: "m", Type: metric.Counter}, Series: 2, Points: 3, Last: point(2, 1), Total: 8.5,
			Statistics: metric.Statistics{Sum: 13.5, Min: 1, Max: 7.5}},
		{Metric: metric.Metric{Name: "n", Type: metric.Gauge}, Series: 1, Points: 1, Last: point(3, -1), Total: -1,
			Statistics: metric.Statistics{Sum: -1, Min: -1, Max: -1}},
	})
	states, err := db.Metrics().States(t.Context())
	noError(t, err)
	equal(t, states[0], metric.State{Metric: metric.Metric{Name: "m", Type: metric.Counter}, Labels: red, Last: 7.5, Count: 3, Sum: 7.5})
	equal(t, len(states), 3)
}

// packPoints writes more points than remain rows.
func packPoints(t *testing.T, db *storage.DB) {
	var want []metric.Point
	for n := range 1200 {
		writePoint(t, db, written("m", "", n, float64(n%7), nil))
		want = append(want, point(n, float64(n%7)))
	}
	equal(t, readMetric(t, db, metric.Range{Name: "m"}), []metric.Series{{Last: want[1199], Points: want}})
	for _, at := range [][2]int{{0, 0}, {10, 700}, {511, 512}, {512, 512}, {1000, 1100}, {1150, 1199}} {
		got := readMetric(t, db, metric.Range{Name: "m", Since: noon.Add(time.Duration(at[0]) * time.Second),
			Until: noon.Add(time.Duration(at[1]) * time.Second)})
		equal(t, got[0].Points, want[at[0]:at[1]+1])
		var before *metric.Point
		if at[0] > 0 {
			before = &want[at[0]-1]
		}
		equal(t, got[0].Before, before)
	}
	list, err := db.Metrics().List(t.Context())
	noError(t, err)
	sum := 0.0
	for _, p := range want {
		sum += p.Value
	}
	equal(t, list[0], metric.Overview{
		Metric: metric.Metric{Name: "m", Type: metric.Gauge}, Series: 1, Points: 1200, Last: want[1199], Total: want[1199].Value,
		Statistics: metric.Statistics{Sum: sum, Min: 0, Max: 6},
	})
}

func trimPoints(t *testing.T, db *storage.DB) {
	keep := metric.Keep{Points: 600}
	for n := range 1600 {
		_, err := db.Metrics().Write(t.Context(), written("m", "", n, float64(n), nil), keep)
		noError(t, err)
	}
	got := readMetric(t, db, metric.Range{Name: "m"})[0]
	if n := len(got.Points); n < 600 || n > 600+2*512 || !got.Cut || got.Points[n-1] != point(1599, 1599) {
		t.Fatalf("%d points are kept, cut %v", n, got.Cut)
	}
	list, err := db.Metrics().List(t.Context())
	noError(t, err)
	equal(t, list[0].Points, len(got.Points))
	writePoint(t, db, written("new", "", 5000, 1, nil))
	_, err = db.Metrics().Start(t.Context(), timer(1), 9)
	noError(t, err)
	noError(t, db.Metrics().Trim(t.Context(), metric.Keep{Since: noon.Add(-time.Hour)}))
	noError(t, db.Metrics().Trim(t.Context(), metric.Keep{}))
	list, err = db.Metrics().List(t.Context())
	noError(t, err)
	equal(t, len(list), 3)
	noError(t, db.Metrics().Trim(t.Context(), metric.Keep{Since: noon.Add(4000 * time.Second)}))
	list, err = db.Metrics().List(t.Context())
	noError(t, err)
	equal(t, []any{len(list), list[0].Name}, []any{1, "new"})
}

// writePointsAtOnce checks that concurrent additions all count.
func writePointsAtOnce(t *testing.T, db *storage.DB) {
	noError(t, each(8, func(int) error {
		for n := range 100 {
			w := written("m", "", n, 1, nil)
			w.Add = true
			if _, err := db.Metrics().Write(t.Context(), w, metric.Keep{}); err != nil {
				return err
			}
		}
		return nil
	}))
	got := readMetric(t, db, metric.Range{Name: "m"})[0]
	equal(t, []any{got.Last.Value, len(got.Points)}, []any{800.0, 800})
	for i, p := range got.Points {
		equal(t, p.Value, float64(i+1))
	}
}

func timer(n int) metric.Timer {
	return metric.Timer{ID: taskID(n), Name: "took", Labels: map[string]string{"n": fmt.Sprint(n)},
		StartedAt: noon.Add(time.Duration(n) * time.Second)}
}

func runTimers(t *testing.T, db *storage.DB) {
	s := db.Metrics()
	for n := range 3 {
		full, err := s.Start(t.Context(), timer(n), 3)
		noError(t, err)
		equal(t, full, false)
	}
	full, err := s.Start(t.Context(), timer(4), 3)
	noError(t, err)
	equal(t, full, true)
	list, total, err := s.Timers(t.Context(), 2, nil)
	noError(t, err)
	equal(t, list, []metric.Timer{timer(0), timer(1)})
	equal(t, total, 3)
	list, _, err = s.Timers(t.Context(), 2, &toolfold.Position{CreatedAt: list[1].StartedAt, ID: list[1].ID})
	noError(t, err)
	equal(t, list, []metric.Timer{timer(2)})
	got, found, err := s.Stop(t.Context(), timer(1).ID, noon.Add(1500*time.Millisecond), metric.Keep{})
	noError(t, err)
	equal(t, found, true)
	equal(t, got, timer(1))
	if _, found, err = s.Stop(t.Context(), timer(1).ID, noon, metric.Keep{}); found || err != nil {
		t.Fatalf("stopped twice: %v, %v", found, err)
	}
	series := readMetric(t, db, metric.Range{Name: "took"})
	equal(t, len(series), 1)
	equal(t, series[0].Labels, timer(1).Labels)
	equal(t, series[0].Last, metric.Point{Micros: noon.Add(1500 * time.Millisecond).UnixMicro(), Value: 500})
}
