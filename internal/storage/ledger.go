package storage

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/toolfold/toolfold/internal/engine/queue"
	"github.com/toolfold/toolfold/tools/task"
)

// Work returns what workers of the queue need: the ledger, and River on the
// same database.
func (db *DB) Work() (queue.Ledger, *queue.Jobs, error) {
	jobs, err := db.river()
	if err != nil {
		return nil, nil, fmt.Errorf("preparing the queue: %w", err)
	}
	return ledger{db}, jobs, nil
}

// ledger implements [queue.Ledger].
type ledger struct{ db *DB }

func (l ledger) Enter(ctx context.Context, worker, workspace string, lease time.Duration) error {
	_, err := l.db.writer().exec(ctx, `INSERT INTO task_workers (id, workspace, expires_at) VALUES (?, ?, `+l.db.dialect.clock+` + ?)
		ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at`, worker, []byte(workspace), lease.Microseconds())
	return err
}

func (l ledger) Renew(ctx context.Context, worker string, lease time.Duration) (bool, error) {
	n, err := l.db.writer().exec(ctx, `UPDATE task_workers SET expires_at = `+l.db.dialect.clock+` + ? WHERE id = ?`,
		lease.Microseconds(), worker)
	return n > 0, err
}

func (l ledger) Leave(ctx context.Context, worker string, now time.Time) error {
	return l.db.transition(ctx, func(t *transition) error {
		if _, err := t.exec(ctx, `DELETE FROM task_workers WHERE id = ?`, worker); err != nil {
			return err
		}
		_, err := t.requeue(ctx, sqlf(`status = 'running' AND worker_id = ?`, worker), now)
		return err
	})
}

// readyTasks are the ready tasks of a queue, the most urgent first; busySlots
// counts the tasks that run. Both take the workspace, and name the queue q.id.
const (
	readyTasks = `FROM tasks n WHERE n.queue_id = q.id AND n.workspace = ? AND n.status = 'queued' ORDER BY n.priority, n.created_at, n.id`
	busySlots  = `(SELECT count(*) FROM tasks r WHERE r.queue_id = q.id AND r.workspace = ? AND r.status = 'running')`
)

// Claim looks for a queue first, without a lock, as most claims find nothing.
// Claims of one queue wait for each other, so that they count right.
func (l ledger) Claim(ctx context.Context, worker, workspace string, limit int, now time.Time) (claimed []task.Task, err error) {
	place := []byte(workspace)
	for {
		// Times are less than 10^16.
		id, some, err := first(ctx, l.db.reader(), sqlf(`SELECT h.id FROM (
				SELECT q.id, (SELECT n.priority * 10000000000000000 + n.created_at `+readyTasks+` LIMIT 1) AS head
				FROM queues q WHERE q.paused = 0 AND `+busySlots+` < q.max_concurrency) h
			WHERE h.head IS NOT NULL ORDER BY h.head, h.id LIMIT 1`, place, place), scanText)
		if err != nil || !some {
			return nil, err
		}
		err = l.db.transact(ctx, func(e executor) error {
			if lock := l.db.dialect.lockNoKey; lock != "" {
				if _, err := all(ctx, e, sqlf(`SELECT id FROM queues WHERE id = ?`+lock, id), scanText); err != nil {
					return err
				}
			}
			room, found, err := first(ctx, e, sqlf(`SELECT q.max_concurrency - `+busySlots+` FROM queues q WHERE q.id = ? AND q.paused = 0`, place, id),
				func(rows *sql.Rows) (n int, err error) { return n, rows.Scan(&n) })
			if err != nil || !found || room <= 0 {
				return err
			}
			claimed, err = all(ctx, e, sqlf(`UPDATE tasks SET status = 'running', turn = turn + 1, worker_id = ?, started_at = ?, cancel = NULL
				WHERE status = 'queued' AND EXISTS (SELECT 1 FROM task_workers WHERE id = ?)
					AND id IN (SELECT id FROM tasks WHERE queue_id = ? AND workspace = ? AND status = 'queued' ORDER BY priority, created_at, id LIMIT ?)
				RETURNING `+taskColumns, worker, now.UnixMicro(), worker, id, place, min(room, limit)), scanTask)
			return err
		})
		if err != nil || len(claimed) > 0 {
			slices.SortFunc(claimed, func(a, b task.Task) int {
				return cmp.Or(cmp.Compare(rankOf(a.Priority), rankOf(b.Priority)), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
			})
			return claimed, err
		}
		alive, err := one[int](ctx, l.db.reader(), sqlf(`SELECT count(*) FROM task_workers WHERE id = ?`, worker))
		if err != nil || alive == 0 {
			return nil, err
		}
	}
}

func (l ledger) Outcomes(ctx context.Context, ids []string) ([]task.Outcome, error) {
	return taskStore{l.db}.Outcomes(ctx, ids, true)
}

func (l ledger) Finish(ctx context.Context, e queue.Ending) (finished bool, err error) {
	err = l.db.transition(ctx, func(t *transition) error {
		output := maybeText(e.Output)
		run := sqlf(`id = ? AND turn = ? AND status = 'running'`, e.TaskID, e.Turn)
		if !e.RetryAt.IsZero() {
			n, err := t.exec(ctx, `UPDATE tasks SET status = 'pending', attempt = attempt + 1, rescues = 0, due_at = ?,
					worker_id = NULL, error = ?, output = ?
				WHERE id = ? AND turn = ? AND status = 'running' AND cancel IS NULL`,
				e.RetryAt.UnixMicro(), []byte(e.Error), output, e.TaskID, e.Turn)
			if finished = n > 0; err != nil || finished {
				return err
			}
		}
		if e.Status != task.Completed {
			n, err := t.end(ctx, task.Cancelled, sqlf(`error = cancel, output = ?`, output), run.and(`AND cancel IS NOT NULL`), e.EndedAt)
			if finished = n > 0; err != nil || finished {
				return err
			}
		}
		n, err := t.end(ctx, e.Status, sqlf(`error = ?, output = ?`, []byte(e.Error), output), run, e.EndedAt)
		finished = n > 0
		return err
	})
	return finished && err == nil, err
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

func (l ledger) GiveBack(ctx context.Context, worker string, runs []queue.Run, now time.Time) (n int, err error) {
	err = l.db.transition(ctx, func(t *transition) error {
		n = 0
		for _, run := range runs {
			one, err := t.requeue(ctx, sqlf(`id = ? AND turn = ? AND status = 'running' AND worker_id = ?`, run.TaskID, run.Turn, worker), now)
			if err != nil {
				return err
			}
			n += one
		}
		return nil
	})
	return n, err
}

// releasedAtOnce bounds how many tasks Release queues in one transaction, so
// that others get their turn to write.
const releasedAtOnce = 500

func (l ledger) Release(ctx context.Context, now time.Time) (n int, err error) {
	const due = `FROM tasks WHERE status = 'pending' AND waiting = 0 AND due_at <= ?`
	some, err := one[int](ctx, l.db.reader(), sqlf(`SELECT count(*) FROM (SELECT 1 `+due+` LIMIT 1) d`, now.UnixMicro()))
	if err != nil || some == 0 {
		return 0, err
	}
	err = l.db.transition(ctx, func(t *transition) error {
		n, err = t.queue(ctx, sqlf(`status = 'pending' AND id IN (SELECT id `+due+` ORDER BY due_at, id LIMIT ?)`, now.UnixMicro(), releasedAtOnce))
		return err
	})
	return n, err
}

// maxRescues bounds the processes in a row that may die while they run a task.
const maxRescues = 5

func (l ledger) Rescue(ctx context.Context, now time.Time) (n int, err error) {
	// These are running tasks whose worker has no lease any more.
	const orphaned = `status = 'running' AND NOT EXISTS (SELECT 1 FROM task_workers WHERE task_workers.id = tasks.worker_id)`
	some, err := one[int](ctx, l.db.reader(), sqlf(`SELECT
		(SELECT count(*) FROM task_workers WHERE expires_at < `+l.db.dialect.clock+`) +
		(SELECT count(*) FROM tasks WHERE `+orphaned+`)`))
	if err != nil || some == 0 {
		return 0, err
	}
	err = l.db.transition(ctx, func(t *transition) error {
		if _, err := t.exec(ctx, `DELETE FROM task_workers WHERE expires_at < `+t.dialect.clock); err != nil {
			return err
		}
		died := fmt.Appendf(nil, "the process that ran it died, %d times in a row", maxRescues+1)
		failed, err := t.end(ctx, task.Failed, sqlf(`error = ?, interruptions = interruptions + 1`, died),
			sqlf(orphaned).and(`AND cancel IS NULL AND rescues >= ?`, maxRescues), now)
		if err != nil {
			return err
		}
		if _, err := t.exec(ctx, `UPDATE tasks SET rescues = rescues + 1 WHERE `+orphaned); err != nil {
			return err
		}
		queued, err := t.requeue(ctx, sqlf(orphaned), now)
		n = failed + queued
		return err
	})
	return n, err
}

func (l ledger) Wake(ctx context.Context, workspace string) (n int, err error) {
	place := []byte(workspace)
	startable, err := all(ctx, l.db.reader(), sqlf(`SELECT q.max_concurrency - `+busySlots+`,
			(SELECT count(*) FROM (SELECT 1 FROM tasks n WHERE n.queue_id = q.id AND n.workspace = ? AND n.status = 'queued' LIMIT 100) w)
		FROM queues q WHERE q.paused = 0`, place, place),
		func(rows *sql.Rows) (int, error) {
			var room, waiting int
			err := rows.Scan(&room, &waiting)
			return max(0, min(room, waiting)), err
		})
	for _, tasks := range startable {
		n += tasks
	}
	if err != nil || n == 0 {
		return 0, err
	}
	return n, l.db.transition(ctx, func(t *transition) error {
		t.ready[workspace] = n
		return nil
	})
}
