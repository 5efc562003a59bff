package storage

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/toolfold/toolfold/engine/queue"
)

// flow is a transaction in which tasks change their state: whoever becomes
// ready gets a job, and whoever depends on a task that ended is told.
type flow struct {
	tx
	jobs *queue.Jobs
	made []queue.Job
}

// flowing runs do in a transaction, and announces the jobs it made.
func (db *DB) flowing(ctx context.Context, do func(*flow) error) error {
	jobs, err := db.river()
	if err != nil {
		return err
	}
	var made []queue.Job
	err = db.transact(ctx, func(t tx) error {
		f := &flow{tx: t, jobs: jobs}
		if err := do(f); err != nil {
			return err
		}
		made = f.made
		return jobs.Insert(ctx, t.querier.(*sql.Tx), made)
	})
	if err == nil {
		jobs.Announce(made)
	}
	return err
}

// readied is a task that got its next turn.
type readied struct {
	queue.Job
	status    string
	createdAt int64
}

// ready gives tasks their next turn and tells how many there were. They are
// queued, each with a job, or paused when their queue is.
func (f *flow) ready(ctx context.Context, which query) (int, error) {
	list, err := all(ctx, f.tx, sqlf(`UPDATE tasks SET turn = turn + 1, worker_id = NULL,
			status = CASE WHEN (SELECT paused FROM queues WHERE queues.id = tasks.queue_id) = 1 THEN 'paused' ELSE 'queued' END
		WHERE`).with(which).and(`RETURNING id, turn, queue_id, priority, status, created_at`), scanReadied)
	if err != nil {
		return 0, err
	}
	slices.SortStableFunc(list, func(a, b readied) int { return int(a.createdAt - b.createdAt) })
	for _, r := range list {
		if r.status == queue.Queued {
			f.made = append(f.made, r.Job)
		}
	}
	return len(list), nil
}

func scanReadied(rows *sql.Rows) (r readied, err error) {
	var rank int64
	err = rows.Scan(&r.TaskID, &r.Turn, &r.QueueID, &rank, &r.status, &r.createdAt)
	if err == nil {
		r.Priority = priorityOf(rank)
	}
	return r, err
}

// ended is a task that ended, or one that depends on it and ends with it.
type ended struct{ id, status string }

// settle tells the dependents of a task that it ended.
func (f *flow) settle(ctx context.Context, e ended, now time.Time) error {
	if e.status != queue.Completed {
		return f.failDependents(ctx, []ended{e}, now)
	}
	some, err := one[int](ctx, f.tx, sqlf(`SELECT count(*) FROM (SELECT 1 FROM task_dependencies WHERE depends_on = ? LIMIT 1) d`, e.id))
	if err != nil || some == 0 {
		return err
	}
	if _, err := f.exec(ctx, `UPDATE tasks SET waiting = waiting - 1 WHERE status = 'pending' AND waiting > 0 AND `+dependents, e.id); err != nil {
		return err
	}
	_, err = f.ready(ctx, sqlf(`status = 'pending' AND waiting = 0 AND due_at <= ? AND `+dependents, now.UnixMicro(), e.id))
	return err
}

// dependents are the tasks that wait for one, or did.
const dependents = `id IN (SELECT task_id FROM task_dependencies WHERE depends_on = ?)`

// failDependents fails what waits for tasks that ended badly, and what waits
// for that.
func (f *flow) failDependents(ctx context.Context, list []ended, now time.Time) error {
	for len(list) > 0 {
		e := list[0]
		failed, err := all(ctx, f.tx, sqlf(`UPDATE tasks SET status = 'failed', error = ?, ended_at = ?
			WHERE status = 'pending' AND `+dependents+` RETURNING id`,
			[]byte(blame(e)), now.UnixMicro(), e.id), scanText)
		if err != nil {
			return err
		}
		list = list[1:]
		for _, id := range failed {
			list = append(list, ended{id, queue.Failed})
		}
	}
	return nil
}

// blame says why a task cannot run any more.
func blame(e ended) string {
	how := map[string]string{queue.Failed: "failed", queue.Cancelled: "was cancelled", queue.TimedOut: "timed out"}[e.status]
	return fmt.Sprintf("its dependency %s %s", e.id, how)
}

// end ends tasks and tells their dependents. set is what else to change.
func (f *flow) end(ctx context.Context, status string, set, which query, now time.Time) (int, error) {
	change := sqlf(`UPDATE tasks SET status = ?, ended_at = ?, worker_id = NULL,`, status, now.UnixMicro()).
		with(set).and(`WHERE`).with(which).and(`RETURNING id`)
	list, err := all(ctx, f.tx, change, scanText)
	if err != nil {
		return 0, err
	}
	for _, id := range list {
		if err := f.settle(ctx, ended{id, status}, now); err != nil {
			return 0, err
		}
	}
	return len(list), nil
}

// requeue takes running tasks from their worker and tells how many there
// were. Those that somebody wanted to stop are cancelled.
func (f *flow) requeue(ctx context.Context, which query, now time.Time) (int, error) {
	cancelled, err := f.end(ctx, queue.Cancelled, sqlf(`error = cancel`), which.and(`AND cancel IS NOT NULL`), now)
	if err != nil {
		return 0, err
	}
	queued, err := f.ready(ctx, which)
	return cancelled + queued, err
}
