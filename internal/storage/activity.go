package storage

import (
	"context"
	"database/sql"
	"time"

	"github.com/toolfold/toolfold/tools/trace"
)

// Activity counts the traces of one label that began in one hour.
type Activity struct {
	Hour    time.Time // its beginning, in UTC
	Label   string
	Calls   int
	Failed  int           // failed or were interrupted
	Ended   int           // traces with an end
	Total   time.Duration // of these
	Longest time.Duration
}

// Activity counts the traces that began since a time, by hour and label, earliest hour first.
func (db *DB) Activity(ctx context.Context, since, now time.Time) ([]Activity, error) {
	hour, aliveSince := time.Hour.Microseconds(), now.Add(-trace.Silence).UnixMicro()
	return all(ctx, db.reader(), sqlf(`SELECT hour, label, count(*), sum(failed), sum(ended), CAST(sum(length) AS BIGINT), max(length) FROM (
			SELECT started_at / ? AS hour, label, CASE WHEN failed > 0 OR open > 0 AND heard_at < ? THEN 1 ELSE 0 END AS failed,
				CASE WHEN ended_at IS NULL THEN 0 ELSE 1 END AS ended, COALESCE(ended_at, started_at) - started_at AS length
			FROM traces WHERE started_at >= ?) AS t
		GROUP BY hour, label ORDER BY hour, label`, hour, aliveSince, since.UnixMicro()),
		func(rows *sql.Rows) (a Activity, err error) {
			var at, total, longest int64
			err = rows.Scan(&at, &a.Label, &a.Calls, &a.Failed, &a.Ended, &total, &longest)
			a.Hour = fromMicros(at * hour)
			a.Total, a.Longest = time.Duration(total)*time.Microsecond, time.Duration(longest)*time.Microsecond
			return a, err
		})
}
