package storage

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/metric"
)

// Metrics returns the store of the metrics, timer and telemetry_summary families.
func (db *DB) Metrics() metric.Store { return metricsStore{db} }

// metricsStore implements [metric.Store]. The newest points of a series are
// rows; each blockPoints of them are packed into one block. Of a million points
// blocks are read in 0.1 s, rows in 0.9 s, and rows take twice the space; SQL
// needs 0.3 s for their sum and 4 s for their median. BenchmarkBlocks has the figures.
type metricsStore struct{ db *DB }

const (
	blockPoints = 512
	pointBytes  = 16
)

// labelText returns labels as the text by which a series is found.
func labelText(labels map[string]string) []byte {
	if len(labels) == 0 {
		return []byte("{}")
	}
	text, _ := json.Marshal(labels) // sorts names, and cannot fail
	return text
}

// fromLabels is the destination of labels, nil if there are no labels.
type fromLabels struct{ to *map[string]string }

// Scan implements [sql.Scanner].
func (f fromLabels) Scan(column any) error {
	err := fromJSON{f.to}.Scan(column)
	if len(*f.to) == 0 {
		*f.to = nil
	}
	return err
}

func (s metricsStore) Write(ctx context.Context, w metric.Write, keep metric.Keep) (written metric.WriteResult, err error) {
	err = s.db.transact(ctx, func(e executor) (err error) {
		written, err = s.write(ctx, e, w, keep)
		return err
	})
	return written, err
}

func (s metricsStore) write(ctx context.Context, e executor, w metric.Write, keep metric.Keep) (metric.WriteResult, error) {
	id, m, err := s.declare(ctx, e, w)
	if err != nil {
		return metric.WriteResult{}, err
	}
	type state struct {
		id, written, tail int64
		last              float64
	}
	scan := into(func(r *state) []any { return []any{&r.id, &r.written, &r.tail, &r.last} })
	labels := labelText(w.Labels)
	value := `?`
	if w.Add {
		value = `last + ?`
	}
	// The row of the series is locked from here on.
	update := sqlf(`UPDATE metric_series SET last = `+value+`, written = written + 1, kept = kept + 1, tail = tail + 1, last_at = ?
		WHERE metric_id = ? AND labels = ? RETURNING id, written, tail, last`, w.Value, w.At.UnixMicro(), id, labels)
	series, found, err := first(ctx, e, update, scan)
	if err != nil {
		return metric.WriteResult{}, err
	}
	if !found {
		n, err := scalar[int](ctx, e, sqlf(`SELECT count(*) FROM metric_series`))
		if err != nil {
			return metric.WriteResult{}, err
		}
		if n >= metric.MaxSeries {
			return metric.WriteResult{}, metric.Full("series", metric.MaxSeries)
		}
		before := 0 // points
		if m.Type == metric.Counter && !w.Add {
			before = 1 // the recorder of a total started at an unknown value
		}
		// Another process may have created it meanwhile.
		if _, err := e.exec(ctx,
			`INSERT INTO metric_series (metric_id, labels, written, sum, kept, tail, last, last_at) VALUES (?, ?, ?, 0, 0, 0, 0, 0)
			ON CONFLICT (metric_id, labels) DO NOTHING`, id, labels, before); err != nil {
			return metric.WriteResult{}, err
		}
		if series, _, err = first(ctx, e, update, scan); err != nil {
			return metric.WriteResult{}, err
		}
	}
	if _, err := e.exec(ctx, `UPDATE metric_series SET sum = sum + ? WHERE id = ?`, w.Value, series.id); err != nil {
		return metric.WriteResult{}, err
	}
	if _, err := e.exec(ctx, `INSERT INTO metric_points (series_id, n, at, value) VALUES (?, ?, ?, ?)`,
		series.id, series.written, w.At.UnixMicro(), series.last); err != nil {
		return metric.WriteResult{}, err
	}
	if series.tail >= blockPoints {
		if err := s.pack(ctx, e, series.id, keep); err != nil {
			return metric.WriteResult{}, err
		}
	}
	return metric.WriteResult{Metric: m, Current: series.last}, nil
}

// declare returns the metric of a write, and creates a new one.
func (s metricsStore) declare(ctx context.Context, e executor, w metric.Write) (id int64, m metric.Metric, err error) {
	type row struct {
		id int64
		m  metric.Metric
	}
	find := func() (row, bool, error) {
		return first(ctx, e, sqlf(`SELECT id, type, category FROM metrics WHERE name = ?`, []byte(w.Name)),
			into(func(r *row) []any {
				r.m.Name = w.Name
				return []any{&r.id, &r.m.Type, &r.m.Category}
			}))
	}
	declared, found, err := find()
	if err != nil {
		return 0, m, err
	}
	if !found {
		if m, err = metric.Admit(nil, w); err != nil {
			return 0, m, err
		}
		n, err := scalar[int](ctx, e, sqlf(`SELECT count(*) FROM metrics`))
		if err != nil {
			return 0, m, err
		}
		if n >= metric.MaxMetrics {
			return 0, m, metric.Full("metrics", metric.MaxMetrics)
		}
		if _, err := e.exec(ctx, `INSERT INTO metrics (name, type, category) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING`,
			[]byte(w.Name), m.Type, m.Category); err != nil {
			return 0, m, err
		}
		if declared, _, err = find(); err != nil {
			return 0, m, err
		}
	}
	m, err = metric.Admit(&declared.m, w)
	return declared.id, m, err
}

// pack packs the rows of a series into a block, and deletes expired blocks.
func (s metricsStore) pack(ctx context.Context, e executor, series int64, keep metric.Keep) error {
	rows, err := tailOf(ctx, e, series)
	if err != nil || len(rows) == 0 {
		return err
	}
	points := make([]metric.Point, len(rows))
	for i, r := range rows {
		points[i] = r.Point
	}
	if _, err := e.exec(ctx, insertBlock, blockArgs(series, rows[0].n, points)...); err != nil {
		return err
	}
	if _, err := e.exec(ctx, `DELETE FROM metric_points WHERE series_id = ?`, series); err != nil {
		return err
	}
	old := sqlf(`DELETE FROM metric_blocks WHERE series_id = ? AND last_at < ?`, series, sinceMicros(keep.Since))
	if keep.Points > 0 {
		old = sqlf(`DELETE FROM metric_blocks WHERE series_id = ? AND (last_at < ? OR n + points <= ?)`,
			series, sinceMicros(keep.Since), rows[len(rows)-1].n-int64(keep.Points)+1)
	}
	if _, err := e.exec(ctx, old.text, old.args...); err != nil {
		return err
	}
	_, err = e.exec(ctx, `UPDATE metric_series SET tail = 0,
		kept = COALESCE((SELECT sum(points) FROM metric_blocks b WHERE b.series_id = metric_series.id), 0) WHERE id = ?`, series)
	return err
}

// tailPoint is a point that is a row, with its number in its series.
type tailPoint struct {
	n int64
	metric.Point
}

func tailOf(ctx context.Context, e executor, series int64) ([]tailPoint, error) {
	return all(ctx, e, sqlf(`SELECT n, at, value FROM metric_points WHERE series_id = ? ORDER BY n`, series),
		into(func(p *tailPoint) []any { return []any{&p.n, &p.Micros, &p.Value} }))
}

const insertBlock = `INSERT INTO metric_blocks (series_id, n, points, first_at, last_at, sum, min, max,` +
	` data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`

// blockArgs returns the arguments of insertBlock for at least one point; n is the number of the
// first point.
func blockArgs(series, n int64, points []metric.Point) []any {
	data := make([]byte, 0, len(points)*pointBytes)
	firstAt, lastAt, sum, least, highest := points[0].Micros, points[0].Micros, 0.0, points[0].Value, points[0].Value
	for _, p := range points {
		data = binary.LittleEndian.AppendUint64(data, uint64(p.Micros))
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(p.Value))
		firstAt, lastAt = min(firstAt, p.Micros), max(lastAt, p.Micros)
		least, highest = min(least, p.Value), max(highest, p.Value)
		sum += p.Value
	}
	return []any{series, n, len(points), firstAt, lastAt, sum, least, highest, data}
}

// unpack appends the points of a block within a range.
func unpack(points []metric.Point, data []byte, since, until int64) []metric.Point {
	for ; len(data) >= pointBytes; data = data[pointBytes:] {
		at := int64(binary.LittleEndian.Uint64(data))
		if at >= since && at <= until {
			points = append(points, metric.Point{Micros: at, Value: math.Float64frombits(binary.LittleEndian.Uint64(data[8:]))})
		}
	}
	return points
}

func sinceMicros(t time.Time) int64 {
	if t.IsZero() {
		return math.MinInt64
	}
	return t.UnixMicro()
}

func (s metricsStore) Read(ctx context.Context, r metric.Range) (m metric.Metric, list []metric.Series, more, found bool, err error) {
	m.Name = r.Name
	since, until := sinceMicros(r.Since), int64(math.MaxInt64)
	if !r.Until.IsZero() {
		until = r.Until.UnixMicro()
	}
	id, found, err := byKey(ctx, s.db, sqlf(`SELECT id, type, category FROM metrics WHERE name = ?`, []byte(r.Name)),
		into(func(id *int64) []any { return []any{id, &m.Type, &m.Category} }))
	if err != nil || !found {
		return m, nil, false, found, err
	}
	type row struct {
		id, stored, written int64
		metric.Series
	}
	rows, err := all(ctx, s.db.reader(), sqlf(`SELECT id, labels, kept, written, last, last_at FROM metric_series WHERE metric_id = ? AND `+
		`written > 0 ORDER BY labels`, id),
		into(func(r *row) []any {
			return []any{&r.id, fromLabels{&r.Labels}, &r.stored, &r.written, &r.Last.Value, &r.Last.Micros}
		}))
	if err != nil {
		return m, nil, false, true, err
	}
	read := 0
	for _, series := range rows {
		if !hasAll(series.Labels, r.Labels) {
			continue
		}
		n, err := s.count(ctx, series.id, since, until)
		if err != nil {
			return m, nil, false, true, err
		}
		if read += n; read > metric.MaxRead {
			return m, nil, true, true, nil
		}
		series.Cut, series.Points = series.stored < series.written, make([]metric.Point, 0, n)
		if err := s.points(ctx, &series.Series, series.id, since, until); err != nil {
			return m, nil, false, true, err
		}
		list = append(list, series.Series)
	}
	return m, list, false, true, nil
}

func hasAll(labels, required map[string]string) bool {
	for name, value := range required {
		if has, ok := labels[name]; !ok || has != value {
			return false
		}
	}
	return true
}

// count returns an upper estimate of the points of a series in a range.
func (s metricsStore) count(ctx context.Context, series, since, until int64) (int, error) {
	return scalar[int](ctx, s.db.reader(),
		sqlf(`SELECT CAST(COALESCE((SELECT sum(points) FROM metric_blocks WHERE series_id = ? AND last_at >= ? AND first_at <= ?), 0)
		+ (SELECT count(*) FROM metric_points WHERE series_id = ?) AS bigint)`, series, since, until, series))
}

// points reads the points of a range, and the point before them. A point that is
// packed meanwhile is read once: rows are read first, and blocks that hold the
// same points are left out.
func (s metricsStore) points(ctx context.Context, to *metric.Series, series, since, until int64) error {
	tail, err := tailOf(ctx, s.db.reader(), series)
	if err != nil {
		return err
	}
	end := int64(math.MaxInt64)
	if len(tail) > 0 {
		end = tail[0].n
	}
	_, err = all(ctx, s.db.reader(), sqlf(`SELECT data FROM metric_blocks WHERE series_id = ? AND n < ? AND last_at >= ? `+
		`AND first_at <= ? ORDER BY n`,
		series, end, since, until), func(rows *sql.Rows) (none struct{}, err error) {
		var data sql.RawBytes
		if err := rows.Scan(&data); err != nil {
			return none, err
		}
		to.Points = unpack(to.Points, data, since, until)
		return none, nil
	})
	if err != nil {
		return err
	}
	var before *metric.Point
	for _, r := range tail {
		switch {
		case r.Micros < since:
			before = &r.Point
		case r.Micros <= until:
			to.Points = append(to.Points, r.Point)
		}
	}
	if before != nil || since == math.MinInt64 {
		to.Before = before
		return nil
	}
	last, found, err := first(ctx, s.db.reader(),
		sqlf(`SELECT data FROM metric_blocks WHERE series_id = ? AND first_at < ? ORDER BY n DESC LIMIT 1`, series, since),
		only[[]byte])
	if err != nil || !found {
		return err
	}
	if earlier := unpack(nil, last, math.MinInt64, since-1); len(earlier) > 0 {
		to.Before = &earlier[len(earlier)-1]
	}
	return nil
}

func (s metricsStore) List(ctx context.Context) ([]metric.Overview, error) {
	byID := map[int64]*metric.Overview{}
	var order []int64
	_, err := all(ctx, s.db.reader(),
		sqlf(`SELECT m.id, m.name, m.type, m.category, count(s.id), CAST(COALESCE(sum(s.kept), 0) AS bigint), COALESCE(sum(s.last), 0),
			COALESCE(max(s.last_at), 0),
		COALESCE((SELECT n.last FROM metric_series n WHERE n.metric_id = m.id AND n.written > 0 ORDER BY n.last_at DESC LIMIT 1), 0)
		FROM metrics m LEFT JOIN metric_series s ON s.metric_id = m.id AND s.written > 0
		GROUP BY m.id, m.name, m.type, m.category ORDER BY m.name`),
		func(rows *sql.Rows) (none struct{}, err error) {
			var id int64
			l := &metric.Overview{}
			err = rows.Scan(&id, &l.Name, &l.Type, &l.Category, &l.Series, &l.Points, &l.Total, &l.Last.Micros, &l.Last.Value)
			byID[id] = l
			order = append(order, id)
			return none, err
		})
	if err != nil {
		return nil, err
	}
	type part struct {
		id int64
		metric.Statistics
	}
	seen := map[int64]bool{}
	for _, q := range []string{
		`SELECT s.metric_id, sum(b.sum), min(b.min), max(b.max) FROM metric_blocks b JOIN metric_series s ON s.id = ` +
			`b.series_id GROUP BY s.metric_id`,
		`SELECT s.metric_id, sum(p.value), min(p.value), max(p.value) FROM metric_points p JOIN metric_series s ON s.id = ` +
			`p.series_id GROUP BY s.metric_id`,
	} {
		parts, err := all(ctx, s.db.reader(), sqlf(q), into(func(p *part) []any { return []any{&p.id, &p.Sum, &p.Min, &p.Max} }))
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			l := byID[p.id]
			if l == nil { // it was declared a moment ago
				continue
			}
			if seen[p.id] {
				p.Min, p.Max, p.Sum = min(p.Min, l.Statistics.Min), max(p.Max, l.Statistics.Max), p.Sum+l.Statistics.Sum
			}
			l.Statistics, seen[p.id] = p.Statistics, true
		}
	}
	list := make([]metric.Overview, len(order))
	for i, id := range order {
		list[i] = *byID[id]
	}
	return list, nil
}

func (s metricsStore) States(ctx context.Context) ([]metric.State, error) {
	return all(ctx, s.db.reader(), sqlf(`SELECT m.name, m.type, m.category, s.labels, s.last, s.written, s.sum
		FROM metric_series s JOIN metrics m ON m.id = s.metric_id WHERE s.written > 0 ORDER BY m.name, s.labels`),
		into(func(st *metric.State) []any {
			return []any{&st.Name, &st.Type, &st.Category, fromLabels{&st.Labels}, &st.Last, &st.Count, &st.Sum}
		}))
}

func (s metricsStore) Trim(ctx context.Context, keep metric.Keep) error {
	if keep.Since.IsZero() {
		return nil
	}
	since := keep.Since.UnixMicro()
	return s.db.transact(ctx, func(e executor) error {
		// Series with new points lose old blocks when they are packed.
		for _, statement := range []string{
			`DELETE FROM metric_blocks WHERE series_id IN (SELECT id FROM metric_series WHERE last_at < ?)`,
			`DELETE FROM metric_points WHERE series_id IN (SELECT id FROM metric_series WHERE last_at < ?)`,
			`DELETE FROM metric_series WHERE last_at < ?`,
			`DELETE FROM timers WHERE started_at < ?`,
		} {
			if _, err := e.exec(ctx, statement, since); err != nil {
				return err
			}
		}
		_, err := e.exec(ctx, `DELETE FROM metrics WHERE NOT EXISTS (SELECT 1 FROM metric_series s WHERE s.metric_id = metrics.id)
			AND NOT EXISTS (SELECT 1 FROM timers t WHERE t.name = metrics.name)`)
		return err
	})
}

func (s metricsStore) Start(ctx context.Context, t metric.Timer, limit int) (full bool, err error) {
	err = s.db.transact(ctx, func(e executor) error {
		n, err := scalar[int](ctx, e, sqlf(`SELECT count(*) FROM timers`))
		if full = n >= limit; err != nil || full {
			return err
		}
		if _, _, err := s.declare(ctx, e, metric.Write{Metric: metric.Metric{Name: t.Name, Type: metric.TimerType}}); err != nil {
			return err
		}
		_, err = e.exec(ctx, `INSERT INTO timers (id, name, labels, started_at) VALUES (?, ?, ?, ?)`, t.ID, []byte(t.Name), labelText(t.Labels),
			t.StartedAt.UnixMicro())
		return err
	})
	return full, err
}

func (s metricsStore) Stop(ctx context.Context, id string, now time.Time, keep metric.Keep) (t metric.Timer, found bool, err error) {
	err = s.db.transact(ctx, func(e executor) error {
		t, found, err = first(ctx, e, sqlf(`DELETE FROM timers WHERE id = ? RETURNING id, name, labels, started_at`, id), scanTimer)
		if err != nil || !found {
			return err
		}
		_, err = s.write(ctx, e, metric.Write{
			Metric: metric.Metric{Name: t.Name, Type: metric.TimerType}, Labels: maps.Clone(t.Labels), At: now,
			Value: float64(max(0, now.Sub(t.StartedAt)).Microseconds()) / 1000,
		}, keep)
		return err
	})
	return t, found, err
}

var scanTimer = into(func(t *metric.Timer) []any {
	return []any{&t.ID, &t.Name, fromLabels{&t.Labels}, micros{&t.StartedAt}}
})

func (s metricsStore) Timers(ctx context.Context, limit int, after *toolfold.Position) (timers []metric.Timer, total int, err error) {
	total, err = scalar[int](ctx, s.db.reader(), sqlf(`SELECT count(*) FROM timers`))
	if err != nil {
		return nil, 0, err
	}
	list := sqlf(`SELECT id, name, labels, started_at FROM timers WHERE true`)
	if after != nil {
		list = list.and(`AND (started_at, id) > (?, ?)`, after.CreatedAt.UnixMicro(), after.ID)
	}
	timers, err = all(ctx, s.db.reader(), list.and(`ORDER BY started_at, id LIMIT ?`, limit), scanTimer)
	return timers, total, err
}
