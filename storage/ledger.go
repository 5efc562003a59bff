package storage

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/toolfold/toolfold/engine/queue"
)

// Ledger returns what workers of the queue need.
func (db *DB) Ledger() (queue.Ledger, error) {
	jobs, err := db.river()
	if err != nil {
		return nil, fmt.Errorf("preparing the queue: %w", err)
	}
	return ledger{db, jobs}, nil
}

// ledger implements [queue.Ledger].
type ledger struct {
	db   *DB
	jobs *queue.Jobs
}

func (l ledger) Jobs() *queue.Jobs { return l.jobs }

func (l ledger) Limits(ctx context.Context) ([]queue.Limit, error) {
	return all(ctx, l.db.reader(), sqlf(`SELECT id, max_concurrency FROM queues ORDER BY created_at, id`),
		func(rows *sql.Rows) (limit queue.Limit, err error) {
			return limit, rows.Scan(&limit.QueueID, &limit.Most)
		})
}

func (l ledger) Enter(ctx context.Context, worker string, lease time.Duration) error {
	_, err := l.db.writer().exec(ctx, `INSERT INTO task_workers (id, expires_at) VALUES (?, `+l.db.dialect.clock+` + ?)
		ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at`, worker, lease.Microseconds())
	return err
}

func (l ledger) Renew(ctx context.Context, worker string, lease time.Duration) (bool, error) {
	n, err := l.db.writer().exec(ctx, `UPDATE task_workers SET expires_at = `+l.db.dialect.clock+` + ? WHERE id = ?`,
		lease.Microseconds(), worker)
	return n > 0, err
}

func (l ledger) Leave(ctx context.Context, worker string, now time.Time) error {
	return l.db.flowing(ctx, func(f *flow) error {
		if _, err := f.exec(ctx, `DELETE FROM task_workers WHERE id = ?`, worker); err != nil {
			return err
		}
		_, err := f.requeue(ctx, sqlf(`status = 'running' AND worker_id = ?`, worker), now)
		return err
	})
}

// inPausedQueue is true of tasks whose queue is paused.
const inPausedQueue = `EXISTS (SELECT 1 FROM queues WHERE queues.id = tasks.queue_id AND paused = 1)`

func (l ledger) Start(ctx context.Context, t queue.Ticket, worker string, now time.Time) (queue.Task, queue.Claim, error) {
	list, err := all(ctx, l.db.writer(), sqlf(`UPDATE tasks SET status = 'running', worker_id = ?, started_at = ?, cancel = NULL
		WHERE id = ? AND turn = ? AND status = 'queued' AND EXISTS (SELECT 1 FROM task_workers WHERE id = ?)
			AND NOT `+inPausedQueue+` RETURNING `+taskColumns,
		worker, now.UnixMicro(), t.TaskID, t.Turn, worker), scanTask)
	if err != nil {
		return queue.Task{}, 0, err
	}
	if len(list) == 1 {
		return list[0], queue.Claimed, nil
	}
	claim, err := l.park(ctx, t)
	return queue.Task{}, claim, err
}

// park looks why a task could not be claimed. When its queue was paused just
// after its job was made, it is paused now.
func (l ledger) park(ctx context.Context, t queue.Ticket) (queue.Claim, error) {
	_, err := l.db.writer().exec(ctx, `UPDATE tasks SET status = 'paused'
		WHERE id = ? AND turn = ? AND status = 'queued' AND `+inPausedQueue, t.TaskID, t.Turn)
	if err != nil {
		return 0, err
	}
	good, err := one[int](ctx, l.db.reader(),
		sqlf(`SELECT count(*) FROM tasks WHERE id = ? AND turn = ? AND status = 'queued'`, t.TaskID, t.Turn))
	if err != nil || good == 0 {
		return queue.Stale, err
	}
	return queue.ClaimSoon, nil
}

func (l ledger) Finish(ctx context.Context, e queue.Ending) (finished bool, err error) {
	err = l.db.flowing(ctx, func(f *flow) error {
		if !e.RetryAt.IsZero() {
			n, err := f.exec(ctx, `UPDATE tasks SET status = 'pending', attempt = attempt + 1, rescues = 0, due_at = ?,
					worker_id = NULL, error = ?, output = ?
				WHERE id = ? AND turn = ? AND status = 'running' AND cancel IS NULL`,
				e.RetryAt.UnixMicro(), []byte(e.Error), maybeText(e.Output), e.TaskID, e.Turn)
			if finished = n > 0; err != nil || finished {
				return err
			}
		}
		finished, err = f.finish(ctx, e)
		return err
	})
	return finished && err == nil, err
}

func (f *flow) finish(ctx context.Context, e queue.Ending) (bool, error) {
	now := sqlf(`id = ? AND turn = ? AND status = 'running'`, e.TaskID, e.Turn)
	if e.Status != queue.Completed {
		n, err := f.end(ctx, queue.Cancelled, sqlf(`error = cancel, output = ?`, maybeText(e.Output)),
			now.and(`AND cancel IS NOT NULL`), e.EndedAt)
		if err != nil || n > 0 {
			return n > 0, err
		}
	}
	n, err := f.end(ctx, e.Status, sqlf(`error = ?, output = ?`, []byte(e.Error), maybeText(e.Output)), now, e.EndedAt)
	return n > 0, err
}

func (l ledger) Held(ctx context.Context, worker string) ([]queue.Hold, error) {
	return all(ctx, l.db.reader(),
		sqlf(`SELECT id, turn, CASE WHEN cancel IS NULL THEN 0 ELSE 1 END FROM tasks WHERE status = 'running' AND worker_id = ?`, worker),
		func(rows *sql.Rows) (h queue.Hold, err error) {
			var cancelled int
			err = rows.Scan(&h.TaskID, &h.Turn, &cancelled)
			h.Cancelled = cancelled == 1
			return h, err
		})
}

func (l ledger) GiveBack(ctx context.Context, worker string, tickets []queue.Ticket, now time.Time) (n int, err error) {
	err = l.db.flowing(ctx, func(f *flow) error {
		n = 0
		for _, t := range tickets {
			one, err := f.requeue(ctx, sqlf(`id = ? AND turn = ? AND status = 'running' AND worker_id = ?`, t.TaskID, t.Turn, worker), now)
			if err != nil {
				return err
			}
			n += one
		}
		return nil
	})
	return n, err
}

func (l ledger) Redeliver(ctx context.Context, tickets []queue.Ticket) (n int, err error) {
	err = l.db.flowing(ctx, func(f *flow) error {
		n = 0
		for _, t := range tickets {
			one, err := f.ready(ctx, sqlf(`id = ? AND turn = ? AND status = 'queued'`, t.TaskID, t.Turn))
			if err != nil {
				return err
			}
			n += one
		}
		return nil
	})
	return n, err
}
