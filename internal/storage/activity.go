package storage

import (
	"context"
	"database/sql"
	"math"
	"time"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/storage/queue"
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

	TokensIn, TokensOut int // of arguments and results, estimated
}

// Add adds the counts of b.
func (a *Activity) Add(b Activity) {
	a.Calls += b.Calls
	a.Failed += b.Failed
	a.Ended += b.Ended
	a.Total += b.Total
	a.Longest = max(a.Longest, b.Longest)
	a.TokensIn += b.TokensIn
	a.TokensOut += b.TokensOut
}

// Activity counts the traces that began from since to before until, by hour and label, earliest hour first. A zero
// until is no limit.
func (db *DB) Activity(ctx context.Context, since, until, now time.Time) ([]Activity, error) {
	before := int64(math.MaxInt64)
	if !until.IsZero() {
		before = until.UnixMicro()
	}
	hour, aliveSince := time.Hour.Microseconds(), now.Add(-trace.Silence).UnixMicro()
	return all(ctx, db.reader(), sqlf(`SELECT hour, label, count(*), sum(failed), sum(ended), CAST(sum(length) AS BIGINT), max(length),
			CAST(sum(tokens_in) AS BIGINT), CAST(sum(tokens_out) AS BIGINT) FROM (
			SELECT started_at / ? AS hour, label, CASE WHEN failed > 0 OR open > 0 AND heard_at < ? THEN 1 ELSE 0 END AS failed,
				CASE WHEN ended_at IS NULL THEN 0 ELSE 1 END AS ended, COALESCE(ended_at, started_at) - started_at AS length, tokens_in, tokens_out
			FROM traces WHERE started_at >= ? AND started_at < ?) AS t
		GROUP BY hour, label ORDER BY hour, label`, hour, aliveSince, since.UnixMicro(), before),
		func(rows *sql.Rows) (a Activity, err error) {
			var at, total, longest int64
			err = rows.Scan(&at, &a.Label, &a.Calls, &a.Failed, &a.Ended, &total, &longest, &a.TokensIn, &a.TokensOut)
			a.Hour = fromMicros(at * hour)
			a.Total, a.Longest = time.Duration(total)*time.Microsecond, time.Duration(longest)*time.Microsecond
			return a, err
		})
}

// Called has the last call of each label.
type Called struct {
	First time.Time // beginning of the first recorded call; zero = no call is recorded
	Last  map[string]time.Time
}

// Called returns the last recorded call of each label. It reads one index entry for a label, not one for a call.
func (db *DB) Called(ctx context.Context) (c Called, err error) {
	type last struct {
		label string
		at    time.Time
	}
	list, err := all(ctx, db.reader(), everyLabel(math.MaxInt32).and(`
		SELECT label, (SELECT t.started_at FROM traces t WHERE t.label = labels.label ORDER BY t.label DESC, t.started_at DESC LIMIT 1)
		FROM labels WHERE label IS NOT NULL`), into(func(l *last) []any { return []any{&l.label, micros{&l.at}} }))
	if err != nil || len(list) == 0 {
		return c, err
	}
	c.Last = map[string]time.Time{}
	for _, l := range list { // SQLite may have a label twice: as the text of an older version, and as bytes
		if l.at.After(c.Last[l.label]) {
			c.Last[l.label] = l.at
		}
	}
	first, err := scalar[int64](ctx, db.reader(), sqlf(`SELECT COALESCE(min(started_at), 0) FROM traces`))
	if first > 0 {
		c.First = fromMicros(first)
	}
	return c, err
}

// Inquiry is an open task whose questions a person can answer.
type Inquiry struct {
	TaskID    string
	Name      string
	Questions int       // without an answer
	AskedAt   time.Time // of the oldest of these
}

// Inquiries lists the open tasks that wait for an answer of a person, longest wait first.
func (db *DB) Inquiries(ctx context.Context, limit int) ([]Inquiry, error) {
	return all(ctx, db.reader(), sqlf(`SELECT t.id, t.name, count(*), min(q.asked_at) FROM task_questions q JOIN tasks t ON t.id = q.task_id
		WHERE q.answer IS NULL AND q.method = ? AND `+openTasks+`
		GROUP BY t.id, t.name ORDER BY min(q.asked_at), t.id LIMIT ?`, callctx.MethodElicit, limit),
		into(func(i *Inquiry) []any { return []any{&i.TaskID, &i.Name, &i.Questions, micros{&i.AskedAt}} }))
}

// Stuck is a task that goes on only if a person does something.
type Stuck struct {
	TaskID, Name string

	// Lacks names what a queued task runs, if it is missing in the folders of its workers. Place is the workspace of a queued task
	// that has no worker. If both are empty, the task ended while a call was under way that may have been done.
	Lacks, Place string
}

// Stuck lists stuck tasks, at most limit of each kind: those that ended last, and the oldest queued ones. Tasks of
// paused queues are left out.
func (db *DB) Stuck(ctx context.Context, limit int) (list []Stuck, err error) {
	for _, q := range []query{
		sqlf(`SELECT id, name, NULL, NULL FROM tasks WHERE id IN (SELECT task_id FROM task_steps WHERE record IS NULL)
			AND status IN ('failed', 'cancelled', 'timeout') ORDER BY ended_at DESC, id LIMIT ?`, limit),
		sqlf(`SELECT t.id, t.name, r.lacks, NULL FROM task_refusals r JOIN tasks t ON t.id = r.task_id WHERE (`+taskStatus+`) = 'queued'
			AND NOT EXISTS (SELECT 1 FROM task_refusals f WHERE f.task_id = r.task_id AND f.worker_id < r.worker_id)
			ORDER BY t.created_at, t.id LIMIT ?`, limit),
		sqlf(`SELECT id, name, NULL, workspace FROM tasks WHERE `+openTasks+` AND (`+taskStatus+`) = 'queued' AND workspace NOT IN
			(SELECT workspace FROM task_workers WHERE expires_at >= `+db.dialect.clock+`) ORDER BY created_at, id LIMIT ?`, limit),
	} {
		some, err := all(ctx, db.reader(), q, into(func(s *Stuck) []any { return []any{&s.TaskID, &s.Name, orZero(&s.Lacks), orZero(&s.Place)} }))
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	return list, nil
}

// Steps returns the recorded steps of a task that are not within another step, with the first bytes of each
// record. The step whose path is whole has all of them.
func (db *DB) Steps(ctx context.Context, taskID string, bytes int, whole string) ([]queue.Step, error) {
	inner := bytesHave[db.dialect.name](`substr(path, 2)`)
	return all(ctx, db.reader(), sqlf(`SELECT path, CASE WHEN path = ? THEN record ELSE substr(record, 1, ?) END FROM task_steps
		WHERE task_id = ? AND `+inner+` = 0`, []byte(whole), bytes, taskID, []byte("/")),
		into(func(s *queue.Step) []any { return []any{&s.Path, (*[]byte)(&s.Record)} }))
}
