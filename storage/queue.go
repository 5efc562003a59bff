package storage

import (
	"context"
	"database/sql"
	"time"

	engine "github.com/toolfold/toolfold/engine/queue"
	"github.com/toolfold/toolfold/tools/queue"
)

// Queue returns the store of the queue family.
func (db *DB) Queue() queue.Store { return queueStore{db} }

// queueStore implements [queue.Store].
type queueStore struct{ db *DB }

const queueColumns = `id, name, description, max_concurrency, default_priority, paused, created_at`

func scanQueue(rows *sql.Rows) (q queue.Queue, err error) {
	var name, description []byte
	var rank, paused, created int64
	if err := rows.Scan(&q.ID, &name, &description, &q.MaxConcurrency, &rank, &paused, &created); err != nil {
		return q, err
	}
	q.Name, q.Description = string(name), string(description)
	q.DefaultPriority, q.Paused, q.CreatedAt = priorityOf(rank), paused == 1, fromMicros(created)
	return q, nil
}

const insertQueue = `INSERT INTO queues (` + queueColumns + `) VALUES (?, ?, ?, ?, ?, 0, ?) ON CONFLICT DO NOTHING`

func (s queueStore) insert(ctx context.Context, q queue.Queue) (int, error) {
	return s.db.writer().exec(ctx, insertQueue, q.ID, []byte(q.Name), []byte(q.Description), q.MaxConcurrency,
		rankOf(q.DefaultPriority), q.CreatedAt.UnixMicro())
}

func (s queueStore) AddDefaultQueue(ctx context.Context, now time.Time) error {
	_, there, err := findQueue(ctx, s.db.reader(), engine.Default)
	if err != nil || there {
		return err
	}
	_, err = s.insert(ctx, queue.Queue{
		ID: engine.Default, Name: engine.Default, MaxConcurrency: engine.DefaultConcurrency,
		DefaultPriority: engine.Medium, CreatedAt: now,
	})
	return err
}

func (s queueStore) Create(ctx context.Context, q queue.Queue) (taken string, err error) {
	n, err := s.insert(ctx, q)
	if err != nil || n > 0 {
		return "", err
	}
	return one[string](ctx, s.db.reader(), sqlf(`SELECT id FROM queues WHERE name = ?`, []byte(q.Name)))
}

// findQueue finds a queue by its id, else by its name.
func findQueue(ctx context.Context, t tx, idOrName string) (q queue.Queue, found bool, err error) {
	list, err := all(ctx, t, sqlf(`SELECT `+queueColumns+` FROM queues WHERE id = ? OR name = ?
		ORDER BY CASE WHEN id = ? THEN 0 ELSE 1 END LIMIT 1`, idOrName, []byte(idOrName), idOrName), scanQueue)
	if err != nil || len(list) == 0 {
		return queue.Queue{}, false, err
	}
	return list[0], true, nil
}

func (s queueStore) List(ctx context.Context, q queue.Query) (page queue.Page, err error) {
	page.Total, err = one[int](ctx, s.db.reader(), sqlf(`SELECT count(*) FROM queues`))
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
	counts, err := s.counts(ctx, found)
	for _, q := range found {
		page.Queues = append(page.Queues, queue.Counted{Queue: q, Counts: counts[q.ID]})
	}
	return page, err
}

// counts are the numbers of tasks by queue and state.
func (s queueStore) counts(ctx context.Context, queues []queue.Queue) (map[string]map[string]int, error) {
	counts := map[string]map[string]int{}
	ids := make([]string, len(queues))
	for i, q := range queues {
		ids[i] = q.ID
		counts[q.ID] = map[string]int{}
	}
	_, err := all(ctx, s.db.reader(), sqlf(`SELECT queue_id, status, count(*) FROM tasks WHERE`).with(among("queue_id", ids)).
		and(`GROUP BY queue_id, status`), func(rows *sql.Rows) (none struct{}, err error) {
		var id, status string
		var n int
		if err := rows.Scan(&id, &status, &n); err != nil {
			return none, err
		}
		counts[id][status] = n
		return none, nil
	})
	return counts, err
}

func (s queueStore) SetPaused(ctx context.Context, idOrName string, paused bool, now time.Time) (q queue.Queue, found bool, err error) {
	err = s.db.flowing(ctx, func(f *flow) error {
		q, found, err = findQueue(ctx, f.tx, idOrName)
		if err != nil || !found {
			return err
		}
		q.Paused = paused
		if paused {
			return f.pause(ctx, q.ID)
		}
		if _, err := f.exec(ctx, `UPDATE queues SET paused = 0 WHERE id = ?`, q.ID); err != nil {
			return err
		}
		_, err = f.release(ctx, now)
		return err
	})
	return q, found, err
}

// pause leaves the jobs of the tasks alone: they are void without a ticket
// that is good.
func (f *flow) pause(ctx context.Context, queueID string) error {
	if _, err := f.exec(ctx, `UPDATE queues SET paused = 1 WHERE id = ?`, queueID); err != nil {
		return err
	}
	_, err := f.exec(ctx, `UPDATE tasks SET status = 'paused' WHERE queue_id = ? AND status = 'queued'`, queueID)
	return err
}
