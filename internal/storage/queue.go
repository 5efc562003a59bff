package storage

import (
	"context"
	"database/sql"

	"github.com/toolfold/toolfold/tools/queue"
	"github.com/toolfold/toolfold/tools/task"
)

// Queue returns the store of the queue family.
func (db *DB) Queue() queue.Store { return queueStore{db} }

// queueStore implements [queue.Store].
type queueStore struct{ db *DB }

const queueColumns = `id, name, description, max_concurrency, per_process, default_priority, paused, created_at, rate_per_minute`

func scanQueue(rows *sql.Rows) (q queue.Queue, err error) {
	var created int64
	err = rows.Scan(&q.ID, &q.Name, &q.Description, &q.MaxConcurrency, &q.PerProcess, priority{&q.DefaultPriority}, &q.Paused, &created,
		&q.RatePerMinute)
	if created != 0 { // the default queue's
		q.CreatedAt = fromMicros(created)
	}
	return q, err
}

// queueByName selects a queue by its id, or else by its name.
func queueByName(columns, idOrName string) query {
	return sqlf(`SELECT `+columns+` FROM queues WHERE id = ? OR name = ? ORDER BY CASE WHEN id = ? THEN 0 ELSE 1 END LIMIT 1`,
		idOrName, []byte(idOrName), idOrName)
}

// Create may exceed the limit by a few queues on PostgreSQL if calls are concurrent.
func (s queueStore) Create(ctx context.Context, q queue.Queue, limit int) (created queue.Creation, err error) {
	n, err := s.db.writer().exec(ctx, `INSERT INTO queues (`+queueColumns+`)
		SELECT ?, ?, ?, ?, ?, ?, 0, ?, ? WHERE (SELECT count(*) FROM queues) < ? ON CONFLICT DO NOTHING`,
		q.ID, []byte(q.Name), []byte(q.Description), q.MaxConcurrency, number(q.PerProcess), rankOf(q.DefaultPriority),
		q.CreatedAt.UnixMicro(), q.RatePerMinute, limit)
	if err != nil || n > 0 {
		return queue.Creation{}, err
	}
	id, taken, err := byKey(ctx, s.db, sqlf(`SELECT id FROM queues WHERE name = ?`, []byte(q.Name)), only[string])
	return queue.Creation{Taken: id, Full: !taken}, err
}

func (s queueStore) List(ctx context.Context, q queue.Query) (page queue.Page, err error) {
	page.Total, err = scalar[int](ctx, s.db.reader(), sqlf(`SELECT count(*) FROM queues`))
	if err != nil {
		return queue.Page{}, err
	}
	list := sqlf(`SELECT ` + queueColumns + ` FROM queues WHERE true`)
	if q.After != nil {
		list = list.and(`AND (created_at, id) > (?, ?)`, q.After.CreatedAt.UnixMicro(), q.After.ID)
	}
	found, err := all(ctx, s.db.reader(), list.and(`ORDER BY created_at, id LIMIT ?`, q.Limit), scanQueue)
	if err != nil || len(found) == 0 {
		return page, err
	}
	ids := make([]string, len(found))
	counts := map[string]map[string]int{}
	for i, q := range found {
		ids[i], counts[q.ID] = q.ID, map[string]int{}
	}
	type count struct {
		id, status string
		n          int
	}
	numbers, err := all(ctx, s.db.reader(), sqlf(`SELECT queue_id, `+taskStatus+` AS state, count(*) FROM tasks WHERE`).
		with(among("queue_id", ids)).and(`GROUP BY queue_id, state`),
		into(func(c *count) []any { return []any{&c.id, &c.status, &c.n} }))
	if err != nil {
		return page, err
	}
	for _, c := range numbers {
		counts[c.id][c.status] = c.n
	}
	for _, q := range found {
		page.Queues = append(page.Queues, queue.QueueCounts{Queue: q, Counts: counts[q.ID]})
	}
	return page, nil
}

func (s queueStore) Update(ctx context.Context, idOrName string, change func(*queue.Queue)) (q queue.Queue, found bool, err error) {
	err = s.db.transition(ctx, func(t *transition) error {
		q, found, err = first(ctx, t.executor, queueByName(queueColumns, idOrName).and(t.dialect.lock), scanQueue)
		if err != nil || !found {
			return err
		}
		change(&q)
		if _, err := t.exec(ctx, `UPDATE queues SET description = ?, max_concurrency = ?, per_process = ?, default_priority = ?,
				rate_per_minute = ? WHERE id = ?`,
			[]byte(q.Description), q.MaxConcurrency, number(q.PerProcess), rankOf(q.DefaultPriority), q.RatePerMinute, q.ID); err != nil {
			return err
		}
		_, err := t.wake(ctx, sqlf(`SELECT workspace FROM tasks WHERE queue_id = ? AND status = 'queued'`, q.ID))
		return err
	})
	return q, found, err
}

func (s queueStore) SetPaused(ctx context.Context, idOrName string, paused bool) (q queue.Queue, found bool, err error) {
	err = s.db.transition(ctx, func(t *transition) error {
		q, found, err = first(ctx, t.executor, queueByName(queueColumns, idOrName), scanQueue)
		if err != nil || !found {
			return err
		}
		q.Paused = paused
		if _, err := t.exec(ctx, `UPDATE queues SET paused = ? WHERE id = ?`, number(paused), q.ID); err != nil || paused {
			return err
		}
		_, err := t.wake(ctx, sqlf(`SELECT workspace FROM tasks WHERE queue_id = ? AND status = 'queued'`, q.ID))
		return err
	})
	return q, found, err
}

func (s queueStore) Remove(ctx context.Context, idOrName string) (q queue.Queue, open int, found bool, err error) {
	err = s.db.transact(ctx, func(e executor) error {
		q, found, err = first(ctx, e, queueByName(queueColumns, idOrName).and(s.db.dialect.lock), scanQueue)
		if err != nil || !found {
			return err
		}
		open, err = scalar[int](ctx, e, sqlf(`SELECT count(*) FROM tasks WHERE queue_id = ? AND `+openTasks, q.ID))
		if err != nil || open > 0 || q.ID == task.DefaultQueue {
			return err
		}
		if _, err := e.exec(ctx, `DELETE FROM queue_starts WHERE queue_id = ?`, q.ID); err != nil {
			return err
		}
		_, err = e.exec(ctx, `DELETE FROM queues WHERE id = ?`, q.ID)
		return err
	})
	return q, open, found, err
}
