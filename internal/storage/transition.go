package storage

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/toolfold/toolfold/tools/task"
)

// transition is a transaction in which tasks change their state. It counts the tasks that become
// ready, to insert a job for each. Dependents of an ended task become ready or fail.
type transition struct {
	executor
	ready map[string]int // by workspace
}

// transition runs do in a transaction, and inserts jobs for the tasks that became ready.
func (db *DB) transition(ctx context.Context, do func(*transition) error) error {
	jobs, err := db.river()
	if err != nil {
		return fmt.Errorf("preparing the queue: %w", err)
	}
	return db.transact(ctx, func(e executor) error {
		t := &transition{e, map[string]int{}}
		if err := do(t); err != nil {
			return err
		}
		for workspace, n := range t.ready {
			if err := jobs.Insert(ctx, e.querier.(*sql.Tx), workspace, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// wake runs a query whose rows are the workspaces of ready tasks, and returns
// their number.
func (t *transition) wake(ctx context.Context, q query) (int, error) {
	list, err := all(ctx, t.executor, q, only[string])
	for _, workspace := range list {
		t.ready[workspace]++
	}
	return len(list), err
}

// queue makes tasks ready, and returns their number.
func (t *transition) queue(ctx context.Context, which query) (int, error) {
	return t.wake(ctx, sqlf(`UPDATE tasks SET status = 'queued', worker_id = NULL WHERE`).with(which).and(`RETURNING workspace`))
}

// requeue takes running tasks from their worker, and returns their number. Tasks with a requested
// cancellation end as cancelled; tasks that were interrupted too often fail.
func (t *transition) requeue(ctx context.Context, which query, now time.Time) (int, error) {
	cancelled, err := t.end(ctx, task.Cancelled, sqlf(`error = cancel`), which.and(`AND cancel IS NOT NULL`), now)
	if err != nil {
		return 0, err
	}
	failed, err := t.end(ctx, task.Failed, sqlf(`interruptions = interruptions + 1, error = ?`, []byte(cutOff)),
		which.and(`AND rescues >= max_interruptions`), now)
	if err != nil {
		return 0, err
	}
	if _, err := t.exec(ctx, `UPDATE tasks SET interruptions = interruptions + 1, rescues = rescues + 1 WHERE `+which.text,
		which.args...); err != nil {
		return 0, err
	}
	queued, err := t.queue(ctx, which)
	return cancelled + failed + queued, err
}

// cutOff is the error of a task with too many interruptions.
const cutOff = "its process stopped or died while it ran, more often than the setting maxInterruptions allows: see " +
	"interruptions; task.retry runs it again"

// taskEnd is an ended task, or a dependent that ends with it.
type taskEnd struct{ id, status string }

// dependents selects the tasks that depend on a task.
const dependents = `id IN (SELECT task_id FROM task_dependencies WHERE depends_on = ?)`

// end ends tasks, with the changes in set, and returns their number. Tasks whose dependencies have
// all completed become ready. Tasks with a dependency that ended differently fail, and so do their
// dependents.
func (t *transition) end(ctx context.Context, status string, set, which query, now time.Time) (int, error) {
	ids, err := all(ctx, t.executor, sqlf(`UPDATE tasks SET status = ?, ended_at = ?, worker_id = NULL,`, status, now.UnixMicro()).
		with(set).and(`WHERE`).with(which).and(`RETURNING id`), only[string])
	if err != nil {
		return 0, err
	}
	var failed []taskEnd
	for _, id := range ids {
		if status != task.Completed {
			failed = append(failed, taskEnd{id, status})
			continue
		}
		some, err := scalar[int](ctx, t.executor, sqlf(`SELECT count(*) FROM (SELECT 1 FROM task_dependencies WHERE depends_on = ? LIMIT 1) d`,
			id))
		if err != nil {
			return 0, err
		}
		if some == 0 {
			continue
		}
		if _, err := t.exec(ctx, `UPDATE tasks SET waiting = waiting - 1 WHERE status = 'pending' AND waiting > 0 AND `+dependents,
			id); err != nil {
			return 0, err
		}
		ready := sqlf(`status = 'pending' AND waiting = 0 AND due_at <= ? AND held = 0 AND length(workspace) > 0 AND `+dependents,
			now.UnixMicro(), id)
		if _, err := t.queue(ctx, ready); err != nil {
			return 0, err
		}
	}
	how := map[string]string{task.Failed: "failed", task.Cancelled: "was cancelled", task.TimedOut: "timed out"}
	for len(failed) > 0 {
		e := failed[0]
		failed = failed[1:]
		with, err := all(ctx, t.executor, sqlf(`UPDATE tasks SET status = 'failed', error = ?,`+
			` ended_at = ? WHERE status = 'pending' AND `+dependents+` RETURNING id`,
			fmt.Appendf(nil, "its dependency %s %s", e.id, how[e.status]), now.UnixMicro(), e.id), only[string])
		if err != nil {
			return 0, err
		}
		for _, id := range with {
			failed = append(failed, taskEnd{id, task.Failed})
		}
	}
	return len(ids), nil
}
