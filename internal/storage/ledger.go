package storage

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold/internal/storage/queue"
	"github.com/toolfold/toolfold/tools/task"
)

// Work returns the ledger, and River on the same database, for workers of the queue.
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

// busySlots counts the running tasks of a queue q, only those of the worker's process if the queue
// limits each process. Its parameters are the workspace and the worker.
const busySlots = `(SELECT count(*) FROM tasks r WHERE r.queue_id = q.id AND r.workspace = ? AND r.status = 'running'
	AND (q.per_process = 0 OR r.worker_id = ?))`

// rateWindow is the period of a queue's rate in SQL, in microseconds.
const rateWindow = `60000000`

// unusedRate is the number of tasks that a queue q may start at present by its rate,
// beyond every concurrency if it has none. Starts are dated by the clock of the database,
// because clocks of workers differ. A start that is dated a minute ahead or more does not
// count: that clock was set back, and the start would hold the queue until its time.
func (d dialect) unusedRate() string {
	return `(CASE WHEN q.rate_per_minute = 0 THEN 1000000 ELSE q.rate_per_minute -
		(SELECT CAST(COALESCE(sum(s.tasks), 0) AS bigint) FROM queue_starts s
			WHERE s.queue_id = q.id AND abs(s.at - ` + d.clock + `) < ` + rateWindow + `) END)`
}

// noteStarts notes that tasks of a queue with a rate start now. The caller holds the
// lock of the queue. Starts are dated no earlier than the last, so that the queue keeps
// its rate after the clock was set back a little.
func noteStarts(ctx context.Context, e executor, queueID string, tasks int) error {
	limited, err := scalar[int](ctx, e, sqlf(`SELECT count(*) FROM queues WHERE id = ? AND rate_per_minute > 0`, queueID))
	if err != nil || limited == 0 || tasks == 0 {
		return err
	}
	clock := e.dialect.clock
	if _, err := e.exec(ctx, `DELETE FROM queue_starts WHERE queue_id = ? AND abs(at - `+clock+`) >= `+rateWindow, queueID); err != nil {
		return err
	}
	_, err = e.exec(ctx, `INSERT INTO queue_starts (queue_id, at, tasks) SELECT ?, CASE WHEN latest > present THEN latest ELSE present END, ?
		FROM (SELECT `+clock+` AS present, (SELECT max(at) FROM queue_starts WHERE queue_id = ?) AS latest) AS times`, queueID, tasks, queueID)
	return err
}

// readyTasks selects ready tasks n, except tasks that the worker refused a short time ago. Its
// parameters are the workspace and the worker.
func (d dialect) readyTasks() string {
	return `FROM tasks n WHERE n.workspace = ? AND n.status = 'queued'
		AND NOT EXISTS (SELECT 1 FROM task_refusals f WHERE f.task_id = n.id AND f.worker_id = ? AND f.until > ` + d.clock + `)`
}

// inLine orders tasks n by urgency.
const inLine = ` ORDER BY n.priority, n.created_at, n.id`

// Claim first looks for a queue without a lock, because most claims find no task. Claims of one
// queue are serialized, so that their counts are exact.
func (l ledger) Claim(ctx context.Context, worker, workspace string, limit int, now time.Time) (claimed []task.Task, err error) {
	place, ready := []byte(workspace), l.db.dialect.readyTasks()
	for {
		// Times are less than 10^16.
		id, some, err := first(ctx, l.db.reader(), sqlf(`SELECT h.id FROM (
				SELECT q.id, (SELECT n.priority * 10000000000000000 + n.created_at `+ready+` AND n.queue_id = q.id`+inLine+` LIMIT 1) AS head
				FROM queues q WHERE q.paused = 0 AND `+busySlots+` < q.max_concurrency AND `+l.db.dialect.unusedRate()+` > 0) h
			WHERE h.head IS NOT NULL ORDER BY h.head, h.id LIMIT 1`, place, worker, place, worker), only[string])
		if err != nil || !some {
			return nil, err
		}
		err = l.db.transact(ctx, func(e executor) error {
			if lock := l.db.dialect.lockNoKey; lock != "" {
				if _, err := all(ctx, e, sqlf(`SELECT id FROM queues WHERE id = ?`+lock, id), only[string]); err != nil {
					return err
				}
			}
			claimed = nil
			var unused int
			room, found, err := first(ctx, e, sqlf(`SELECT q.max_concurrency - `+busySlots+`, `+l.db.dialect.unusedRate()+`
				FROM queues q WHERE q.id = ? AND q.paused = 0`, place, worker, id),
				into(func(room *int) []any { return []any{room, &unused} }))
			if room = min(room, unused); err != nil || !found || room <= 0 {
				return err
			}
			claimed, err = all(ctx, e, sqlf(`UPDATE tasks SET status = 'running', turn = turn + 1, worker_id = ?, started_at = ?, cancel = NULL
				WHERE status = 'queued' AND EXISTS (SELECT 1 FROM task_workers WHERE id = ?)
					AND id IN (SELECT n.id `+ready+` AND n.queue_id = ?`+inLine+` LIMIT ?)
				RETURNING `+taskColumns, worker, now.UnixMicro(), worker, place, worker, id, min(room, limit)), scanTask)
			if err != nil {
				return err
			}
			return noteStarts(ctx, e, id, len(claimed))
		})
		if err != nil || len(claimed) > 0 {
			slices.SortFunc(claimed, func(a, b task.Task) int {
				return cmp.Or(cmp.Compare(rankOf(a.Priority), rankOf(b.Priority)), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
			})
			return claimed, err
		}
		alive, err := scalar[int](ctx, l.db.reader(), sqlf(`SELECT count(*) FROM task_workers WHERE id = ?`, worker))
		if err != nil || alive == 0 {
			return nil, err
		}
	}
}

func (l ledger) Outcomes(ctx context.Context, ids []string) ([]task.Outcome, error) {
	return taskStore(l).Outcomes(ctx, ids, true)
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
		if finished = n > 0; err != nil || !finished || e.Status != task.Completed || !e.Recorded {
			return err
		}
		_, err = t.exec(ctx, `DELETE FROM task_steps WHERE task_id = ?`, e.TaskID)
		return err
	})
	return finished && err == nil, err
}

// present locks the row of a task until the transaction ends. It returns false if the run is not
// the current one.
func present(ctx context.Context, e executor, run queue.Run) (bool, error) {
	_, found, err := first(ctx, e, sqlf(`SELECT id FROM tasks WHERE id = ? AND turn = ? AND status = 'running'`+e.dialect.share, run.TaskID,
		run.Turn), only[string])
	return found, err
}

func (l ledger) Define(ctx context.Context, run queue.Run, definition string) error {
	_, err := l.db.writer().exec(ctx, `UPDATE tasks SET definition = ? WHERE id = ? AND turn = ? AND status = 'running'`, definition,
		run.TaskID, run.Turn)
	return err
}

func (l ledger) Steps(ctx context.Context, taskID string) ([]queue.Step, error) {
	return all(ctx, l.db.reader(), sqlf(`SELECT path, record FROM task_steps WHERE task_id = ?`, taskID),
		into(func(s *queue.Step) []any { return []any{&s.Path, (*[]byte)(&s.Record)} }))
}

func (l ledger) KeepSteps(ctx context.Context, run queue.Run, steps ...queue.Step) (saved bool, err error) {
	err = l.db.transact(ctx, func(e executor) error {
		if saved, err = present(ctx, e, run); err != nil || !saved {
			return err
		}
		for _, s := range steps {
			below, beyond := []byte(s.Path+"/"), []byte(s.Path+"0") // '0' follows '/'
			if _, err := e.exec(ctx, `DELETE FROM task_steps WHERE task_id = ? AND path > ? AND path < ?`, run.TaskID, below, beyond); err != nil {
				return err
			}
			if _, err := e.exec(ctx, `INSERT INTO task_steps (task_id, path, record) VALUES (?, ?, ?)
				ON CONFLICT (task_id, path) DO UPDATE SET record = excluded.record`, run.TaskID, []byte(s.Path), maybeText(s.Record)); err != nil {
				return err
			}
		}
		return nil
	})
	return saved && err == nil, err
}

func (l ledger) DropStep(ctx context.Context, run queue.Run, path string) error {
	_, err := l.db.writer().exec(ctx, `DELETE FROM task_steps WHERE task_id = ? AND path = ?
		AND EXISTS (SELECT 1 FROM tasks WHERE id = ? AND turn = ? AND status = 'running')`, run.TaskID, []byte(path), run.TaskID, run.Turn)
	return err
}

func (l ledger) Questions(ctx context.Context, taskID string) ([]task.Question, error) {
	return taskStore(l).Questions(ctx, taskID)
}

func (l ledger) KeepQuestion(ctx context.Context, run queue.Run, q task.Question) (saved bool, err error) {
	err = l.db.transact(ctx, func(e executor) error {
		if saved, err = present(ctx, e, run); err != nil || !saved {
			return err
		}
		_, err := e.exec(ctx, `INSERT INTO task_questions (task_id, key, method, params, asked_at) VALUES (?, ?, ?, ?, ?)`,
			run.TaskID, q.Key, q.Method, []byte(q.Params), q.AskedAt.UnixMicro())
		return err
	})
	return saved && err == nil, err
}

func (l ledger) DropQuestion(ctx context.Context, run queue.Run, key string) error {
	_, err := l.db.writer().exec(ctx, `DELETE FROM task_questions WHERE task_id = ? AND key = ?
		AND EXISTS (SELECT 1 FROM tasks WHERE id = ? AND turn = ? AND status = 'running')`, run.TaskID, key, run.TaskID, run.Turn)
	return err
}

func (l ledger) KeepOutput(ctx context.Context, run queue.Run, output json.RawMessage) error {
	_, err := l.db.writer().exec(ctx, `UPDATE tasks SET output = ? WHERE id = ? AND turn = ? AND status IN ('cancelled',`+
		` 'timeout') AND output IS NULL`,
		maybeText(output), run.TaskID, run.Turn)
	return err
}

func (l ledger) Report(ctx context.Context, run queue.Run, p task.Progress) error {
	raw, err := json.Marshal(storedProgress(p))
	if err != nil {
		return fmt.Errorf("encoding progress: %w", err)
	}
	_, err = l.db.writer().exec(ctx, `INSERT INTO task_progress (task_id, turn, progress)
		SELECT id, turn, ? FROM tasks WHERE id = ? AND turn = ? AND status = 'running'
		ON CONFLICT (task_id) DO UPDATE SET turn = excluded.turn, progress = excluded.progress`, raw, run.TaskID, run.Turn)
	return err
}

func (l ledger) Held(ctx context.Context, worker string) ([]queue.Hold, error) {
	return all(ctx, l.db.reader(),
		sqlf(`SELECT id, turn, CASE WHEN cancel IS NULL THEN 0 ELSE 1 END FROM tasks WHERE status = 'running' AND worker_id = ?`, worker),
		into(func(h *queue.Hold) []any { return []any{&h.TaskID, &h.Turn, &h.Cancelled} }))
}

func (l ledger) GiveBack(ctx context.Context, worker string, runs []queue.Run, now time.Time) (n int, err error) {
	err = l.db.transition(ctx, func(t *transition) error {
		n = 0
		for _, run := range runs {
			requeued, err := t.requeue(ctx, sqlf(`id = ? AND turn = ? AND status = 'running' AND worker_id = ?`, run.TaskID, run.Turn, worker), now)
			if err != nil {
				return err
			}
			n += requeued
		}
		return nil
	})
	return n, err
}

func (l ledger) Refuse(ctx context.Context, worker string, run queue.Run, lacks string, again time.Duration, now time.Time) error {
	return l.db.transition(ctx, func(t *transition) error {
		present := sqlf(`id = ? AND turn = ? AND status = 'running' AND worker_id = ?`, run.TaskID, run.Turn, worker)
		if _, err := t.end(ctx, task.Cancelled, sqlf(`error = cancel`), present.and(`AND cancel IS NOT NULL`), now); err != nil {
			return err
		}
		queued, err := t.queue(ctx, present)
		if err != nil || queued == 0 {
			return err
		}
		_, err = t.exec(ctx, `INSERT INTO task_refusals (task_id, worker_id, lacks, until)
			SELECT ?, id, ?, `+t.dialect.clock+` + ? FROM task_workers WHERE id = ?
			ON CONFLICT (task_id, worker_id) DO UPDATE SET lacks = excluded.lacks, until = excluded.until`,
			run.TaskID, []byte(lacks), again.Microseconds(), worker)
		return err
	})
}

// releasedAtOnce limits the tasks that Release queues in one transaction, so that other writers get
// their turn.
const releasedAtOnce = 500

func (l ledger) Release(ctx context.Context, now time.Time) (n int, err error) {
	const due = `FROM tasks WHERE status = 'pending' AND waiting = 0 AND due_at <= ? AND held = 0 AND length(workspace) > 0`
	some, err := scalar[int](ctx, l.db.reader(), sqlf(`SELECT count(*) FROM (SELECT 1 `+due+` LIMIT 1) d`, now.UnixMicro()))
	if err != nil || some == 0 {
		return 0, err
	}
	err = l.db.transition(ctx, func(t *transition) error {
		these := sqlf(`status = 'pending' AND id IN (SELECT id `+due+` AND schedule = '' ORDER BY due_at, id LIMIT ?)`,
			now.UnixMicro(), releasedAtOnce)
		// An archive has them of tasks that ran when it was written.
		cancelled, err := t.end(ctx, task.Cancelled, sqlf(`error = cancel`), these.and(`AND cancel IS NOT NULL`), now)
		if err != nil {
			return err
		}
		queued, err := t.queue(ctx, these)
		if n = cancelled + queued; err != nil {
			return err
		}
		// Under the lock of the row, a time of a schedule is due once for all processes.
		schedules, err := all(ctx, t.executor,
			sqlf(`SELECT `+taskColumns+` `+due+` AND schedule <> '' ORDER BY due_at, id LIMIT ?`+t.dialect.lock,
				now.UnixMicro(), releasedAtOnce), scanTask)
		for _, s := range schedules {
			if err := t.repeat(ctx, s, now); err != nil {
				return err
			}
		}
		n += len(schedules)
		return err
	})
	return n, err
}

// repeat creates a task of a due schedule, unless the previous task is open, and sets the next
// time. Several missed times count as one.
func (t *transition) repeat(ctx context.Context, s task.Task, now time.Time) error {
	latest := now
	if s.NextAt.After(now) {
		latest = s.NextAt
	}
	next, err := task.Next(s.Schedule, s.NextAt, latest)
	if err != nil {
		_, err := t.end(ctx, task.Failed, sqlf(`error = ?`, fmt.Appendf(nil, "schedule: %v", err)), sqlf(`id = ?`, s.ID), now)
		return err
	}
	if _, err := t.exec(ctx, `UPDATE tasks SET due_at = ? WHERE id = ?`, next.UnixMicro(), s.ID); err != nil {
		return err
	}
	once := uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%s %d", s.ID, s.NextAt.UnixMicro())) // one id for each time
	_, err = t.makeOf(ctx, s, once.String(), s.NextAt, now)
	return err
}

// makeOf creates a task of a schedule for a time, unless the schedule has an open task, which it
// returns as existing.
func (t *transition) makeOf(ctx context.Context, s task.Task, id string, at, now time.Time) (made task.Submission, err error) {
	open, some, err := first(ctx, t.executor, sqlf(`SELECT id, `+taskStatus+` FROM tasks WHERE schedule_id = ? AND `+openTasks, s.ID),
		func(rows *sql.Rows) (open task.Submission, err error) {
			return open, rows.Scan(&open.Existing, &open.Status)
		})
	if err != nil || some {
		return open, err
	}
	run := s
	run.ID = id
	run.Schedule, run.ScheduleID, run.Key, run.Status = "", s.ID, "", task.Queued
	run.CreatedAt, run.ScheduledAt, run.NextAt = now, at, time.Time{}
	_, err = t.keep(ctx, run, rankOf(run.Priority), 0)
	return task.Submission{TaskID: run.ID, Status: run.Status}, err
}

func (l ledger) Rescue(ctx context.Context, now time.Time, longest time.Duration) (n int, err error) {
	if err := l.shorten(ctx, longest); err != nil {
		return 0, err
	}
	// Running tasks whose worker has no lease.
	const orphaned = `status = 'running' AND NOT EXISTS (SELECT 1 FROM task_workers WHERE task_workers.id = tasks.worker_id)`
	some, err := scalar[int](ctx, l.db.reader(), sqlf(`SELECT
		(SELECT count(*) FROM task_workers WHERE expires_at < `+l.db.dialect.clock+`) +
		(SELECT count(*) FROM tasks WHERE `+orphaned+`)`))
	if err != nil || some == 0 {
		return 0, err
	}
	err = l.db.transition(ctx, func(t *transition) error {
		if _, err := t.exec(ctx, `DELETE FROM task_workers WHERE expires_at < `+t.dialect.clock); err != nil {
			return err
		}
		// River does not rescue jobs without a time limit.
		if _, err := t.exec(ctx, `DELETE FROM river_job WHERE state = 'running' AND NOT EXISTS
			(SELECT 1 FROM task_workers WHERE task_workers.id = `+t.dialect.jobWorker+`)`); err != nil {
			return err
		}
		n, err = t.requeue(ctx, sqlf(orphaned), now)
		return err
	})
	return n, err
}

// shorten shortens leases and refusals that end later than any new one would: after a clock was set
// back, those of a dead worker would last too long.
func (l ledger) shorten(ctx context.Context, longest time.Duration) error {
	end, most := l.db.dialect.clock+` + CAST(? AS bigint)`, longest.Microseconds()
	some, err := scalar[int](ctx, l.db.reader(), sqlf(`SELECT (SELECT count(*) FROM task_workers WHERE expires_at > `+end+`) +
		(SELECT count(*) FROM task_refusals WHERE until > `+end+`)`, most, most))
	if err != nil || some == 0 {
		return err
	}
	if _, err := l.db.writer().exec(ctx, `UPDATE task_workers SET expires_at = `+end+` WHERE expires_at > `+end, most, most); err != nil {
		return err
	}
	_, err = l.db.writer().exec(ctx, `UPDATE task_refusals SET until = `+end+` WHERE until > `+end, most, most)
	return err
}

// prunedAtOnce limits the tasks that Prune removes in one call.
const prunedAtOnce = 500

func (l ledger) Prune(ctx context.Context, before time.Time) (n int, err error) {
	const old = `ended_at < ? AND NOT EXISTS (SELECT 1 FROM task_dependencies d JOIN tasks o ON o.id = d.task_id
		WHERE d.depends_on = tasks.id AND o.ended_at IS NULL)`
	find := sqlf(`SELECT id FROM tasks WHERE `+old+` ORDER BY ended_at, id LIMIT ?`, before.UnixMicro(), prunedAtOnce)
	if some, err := all(ctx, l.db.reader(), find, only[string]); err != nil || len(some) == 0 {
		return 0, err
	}
	err = l.db.transact(ctx, func(e executor) error {
		n = 0
		ids, err := all(ctx, e, find.and(l.db.dialect.lock), only[string])
		if err != nil || len(ids) == 0 {
			return err
		}
		// Before the lock, a new task may have been submitted that depends on one of them; now this
		// is impossible.
		ids, err = all(ctx, e, sqlf(`SELECT id FROM tasks WHERE `+old, before.UnixMicro()).and(`AND`).with(among("id", ids)), only[string])
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, q := range []query{
			sqlf(`DELETE FROM task_dependencies WHERE`).with(among("task_id", ids)),
			sqlf(`DELETE FROM task_dependencies WHERE`).with(among("depends_on", ids)),
			sqlf(`DELETE FROM task_tags WHERE`).with(among("task_id", ids)),
			sqlf(`DELETE FROM task_progress WHERE`).with(among("task_id", ids)),
			sqlf(`DELETE FROM task_steps WHERE`).with(among("task_id", ids)),
			sqlf(`DELETE FROM tasks WHERE`).with(among("id", ids)),
		} {
			if n, err = e.exec(ctx, q.text, q.args...); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

func (l ledger) Wake(ctx context.Context, worker, workspace string) (n int, err error) {
	place := []byte(workspace)
	startable, err := all(ctx, l.db.reader(), sqlf(`SELECT q.max_concurrency - `+busySlots+`, `+l.db.dialect.unusedRate()+`,
			(SELECT count(*) FROM (SELECT 1 `+l.db.dialect.readyTasks()+` AND n.queue_id = q.id LIMIT 100) w)
		FROM queues q WHERE q.paused = 0`, place, worker, place, worker),
		func(rows *sql.Rows) (int, error) {
			var room, unused, ready int
			err := rows.Scan(&room, &unused, &ready)
			return max(0, min(room, unused, ready)), err
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
