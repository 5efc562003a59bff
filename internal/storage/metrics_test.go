package storage

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/metric"
	"github.com/toolfold/toolfold/tools/metrics"
)

// BenchmarkPercentile prints how long the percentiles of a week of one series
// take, in a store of 1,000,000 points: all in that series, and a tenth of them.
// The floor is 100 ms; the least is what others on the machine disturb least.
func BenchmarkPercentile(b *testing.B) {
	const points = 1_000_000
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	end := start.AddDate(0, 0, 7)
	for name, count := range map[string]int{"1 series": 1, "10 series": 10} {
		b.Run(name, func(b *testing.B) {
			db, err := Open(b.Context(), "sqlite://"+filepath.Join(b.TempDir(), "m.db"))
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			each := points / count
			for s := range count {
				fillSeries(b, db, map[string]string{"s": string(rune('a' + s))}, each, start, end)
			}
			runtime.GC()
			service := metrics.New(db.Metrics(), metric.Retention{}, func() time.Time { return end })
			least := time.Hour
			for b.Loop() {
				begun := time.Now()
				out, err := service.Query(b.Context(), metrics.QueryIn{
					MetricName: "m", Labels: map[string]string{"s": "a"}, Aggregation: "percentile",
					Since: start.Format(time.RFC3339Nano), Until: end.Format(time.RFC3339Nano), Page: toolfold.Page{Limit: 1},
				})
				if err != nil || out.Total != each || out.Percentiles.P50 < 0.49 || out.Percentiles.P50 > 0.51 {
					b.Fatalf("%d points, %+v, %v", out.Total, out.Percentiles, err)
				}
				least = min(least, time.Since(begun))
			}
			b.ReportMetric(float64(least.Microseconds())/1000, "least-ms")
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "ms/query")
		})
	}
}

// fillSeries gives a series points at even times, as packing leaves them.
func fillSeries(b *testing.B, db *DB, labels map[string]string, n int, start, end time.Time) {
	s := metricsStore{db}
	w := metric.Write{Metric: metric.Metric{Name: "m"}, Labels: labels, At: start}
	err := db.transact(b.Context(), func(e executor) error {
		if _, err := s.write(b.Context(), e, w, metric.Keep{}); err != nil {
			return err
		}
		id, err := scalar[int64](b.Context(), e, sqlf(`SELECT max(id) FROM metric_series`))
		if err != nil {
			return err
		}
		if _, err := e.exec(b.Context(), `DELETE FROM metric_points WHERE series_id = ?`, id); err != nil {
			return err
		}
		step := end.Sub(start).Microseconds() / int64(n)
		for from := 0; from < n; from += blockPoints {
			points := make([]metric.Point, min(blockPoints, n-from))
			for i := range points {
				points[i] = metric.Point{Micros: start.UnixMicro() + int64(from+i)*step, Value: rand.Float64()}
			}
			if _, err := e.exec(b.Context(), insertBlock, blockArgs(id, int64(from), points)...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkBlocks prints what a series of 1,000,000 points takes in blocks and in rows:
// bytes on disk, the time to read all, as percentiles and rates need, and the time
// in which SQL sums up rows or finds their median.
func BenchmarkBlocks(b *testing.B) {
	const points = 1_000_000
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	open := func(name string) (*DB, string) {
		path := filepath.Join(b.TempDir(), name)
		db, err := Open(b.Context(), "sqlite://"+path)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { db.Close() })
		return db, path
	}
	read := func(b *testing.B, db *DB, path string) {
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			var series metric.Series
			if err := (metricsStore{db}).points(b.Context(), &series, 1, math.MinInt64, math.MaxInt64); err != nil || len(series.Points) != points {
				b.Fatal(len(series.Points), err)
			}
		}
		b.ReportMetric(float64(info.Size())/points, "bytes/point")
	}
	packed, packedFile := open("blocks.db")
	fillSeries(b, packed, nil, points, start, start.AddDate(0, 0, 7))
	rows, rowsFile := open("rows.db")
	if _, err := rows.writer().exec(b.Context(), `INSERT INTO metric_points (series_id, n, at, value)
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		SELECT 1, i, ? + i * 604800, abs(random() % 1000000) / 1e6 FROM n`, points-1, start.UnixMicro()); err != nil {
		b.Fatal(err)
	}
	for _, db := range []*DB{packed, rows} {
		if _, err := db.write.ExecContext(b.Context(), `PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("blocks", func(b *testing.B) { read(b, packed, packedFile) })
	b.Run("rows", func(b *testing.B) { read(b, rows, rowsFile) })
	for name, q := range map[string]string{
		"rows summed up by SQL": `SELECT sum(value) + min(value) + max(value) FROM metric_points WHERE series_id = 1`,
		"median of rows by SQL": `SELECT value FROM metric_points WHERE series_id = 1 ORDER BY value LIMIT 1 OFFSET 500000`,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := scalar[float64](b.Context(), rows.reader(), sqlf(q)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
