package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/tools/task"
)

// Task returns the store of the task family.
func (db *DB) Task() task.Store { return taskStore{db} }

// taskStore implements [task.Store].
type taskStore struct{ db *DB }

const (
	// openTasks selects the tasks that have not ended.
	openTasks = `status IN ('pending', 'queued', 'running')`

	// taskStatus is the state of a task for callers. In their rows, tasks of a paused queue stay
	// queued, and paused schedules stay pending.
	taskStatus = `CASE WHEN status = 'queued' AND queue_id IN (SELECT id FROM queues WHERE paused = 1) THEN 'paused'
		WHEN status = 'pending' AND held > 0 THEN 'paused' ELSE status END`

	// States of a pending task that is held, in the column held: by its user, as a schedule is that is paused, or by an
	// import until that is activated.
	heldByUser   = 1
	heldByImport = 2
)

var (
	// taskImported is 1 for a task that an import holds.
	taskImported = fmt.Sprintf(`CASE WHEN status = 'pending' AND held = %d THEN 1 ELSE 0 END`, heldByImport)

	// taskColumns are read by scanTask.
	taskColumns = taskListColumns + `, definition, input, output`

	// taskListColumns are all columns except the definition, the input and the output, for which
	// a list may read NULL.
	taskListColumns = `id, queue_id, ` + taskStatus + `, priority, turn, attempt, max_attempts, interruptions, timeout_ms,
		created_at, scheduled_at, started_at, ended_at, type, workspace, depth, sessions, rights,
		due_at, ` + taskImported + `, schedule, schedule_id, max_interruptions, agent_id, workflow_id, dedup_key,
		name, description, tags, dependencies, error, length(input), length(output)`
)

func scanTask(rows *sql.Rows) (t task.Task, err error) {
	var timeout, due int64
	err = rows.Scan(&t.ID, &t.QueueID, &t.Status, priority{&t.Priority}, &t.Turn, &t.Attempt, &t.MaxAttempts, &t.Interruptions, &timeout,
		micros{&t.CreatedAt}, micros{&t.ScheduledAt}, micros{&t.StartedAt}, micros{&t.EndedAt}, &t.Type, &t.Workspace, &t.Depth,
		fromJSON{&t.Sessions}, &t.Rights, &due, &t.Imported, &t.Schedule, orZero(&t.ScheduleID), &t.MaxInterruptions, &t.AgentID, &t.WorkflowID,
		orZero(&t.Key), &t.Name, &t.Description, fromJSON{&t.Tags}, fromJSON{&t.Dependencies}, &t.Error,
		orZero(&t.InputBytes), orZero(&t.OutputBytes), orZero(&t.Definition), (*[]byte)(&t.Input), (*[]byte)(&t.Output))
	t.Timeout = time.Duration(timeout) * time.Millisecond
	if due > 0 && t.Status == task.Pending {
		t.NextAt = fromMicros(due)
	}
	return t, err
}

// rankOf returns the stored form of a priority; the most urgent is the smallest.
func rankOf(priority string) int { return 1 + slices.Index(work.Priorities(), priority) }

// priority is the destination of a priority stored as its rank.
type priority struct{ to *string }

// Scan implements [sql.Scanner].
func (p priority) Scan(column any) error {
	var rank sql.Null[int]
	err := rank.Scan(column)
	if err == nil {
		*p.to = work.Priorities()[rank.V-1]
	}
	return err
}

func (s taskStore) QueueID(ctx context.Context, idOrName string) (id string, found bool, err error) {
	return byKey(ctx, s.db, queueByName(`id`, idOrName), only[string])
}

func (s taskStore) Questions(ctx context.Context, id string) ([]task.Question, error) {
	return all(ctx, s.db.reader(), sqlf(`SELECT key, method, params, answer, asked_at FROM task_questions WHERE task_id = ?
		ORDER BY asked_at, key`, id), into(func(q *task.Question) []any {
		return []any{&q.Key, &q.Method, (*[]byte)(&q.Params), (*[]byte)(&q.Answer), micros{&q.AskedAt}}
	}))
}

func (s taskStore) Answer(ctx context.Context, id string, answers map[string]json.RawMessage) error {
	return s.db.transact(ctx, func(e executor) error {
		for key, answer := range answers {
			if _, err := e.exec(ctx, `UPDATE task_questions SET answer = ? WHERE task_id = ? AND key = ? AND answer IS NULL`,
				[]byte(answer), id, key); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s taskStore) Worked(ctx context.Context, workspace string) (bool, error) {
	n, err := scalar[int](ctx, s.db.reader(),
		sqlf(`SELECT count(*) FROM task_workers WHERE workspace = ? AND expires_at >= `+s.db.dialect.clock, []byte(workspace)))
	return n > 0, err
}

func (s taskStore) Lacking(ctx context.Context, id string) (what string, err error) {
	lacks, _, err := byKey(ctx, s.db, sqlf(`SELECT lacks FROM task_refusals WHERE task_id = ? ORDER BY until DESC LIMIT 1`, id),
		func(rows *sql.Rows) (raw []byte, err error) { return raw, rows.Scan(&raw) })
	return string(lacks), err
}

// callsAtOnce limits the concurrent calls of a process in a queue made by AddQueue.
const callsAtOnce = 64

func (s taskStore) AddQueue(ctx context.Context, id string, now time.Time) error {
	_, err := s.db.writer().exec(ctx, `INSERT INTO queues (`+queueColumns+`) VALUES (?, ?, ?, ?, 1, ?, 0, ?, 0) ON CONFLICT DO NOTHING`,
		id, []byte(id), []byte("Calls that clients took a task for."), callsAtOnce, rankOf(task.High), now.UnixMicro())
	return err
}

func (s taskStore) Submit(ctx context.Context, submitted task.Task, now time.Time, limit int) (submission task.Submission, err error) {
	var rank int
	err = s.db.transition(ctx, func(t *transition) (err error) {
		submission, rank, err = t.submit(ctx, submitted, now, limit)
		return err
	})
	if err != nil || submission.Status != task.Queued || submission.Existing != "" {
		return submission, err
	}
	submission.Position, err = scalar[int](ctx, s.db.reader(), sqlf(`SELECT count(*) FROM tasks
		WHERE queue_id = ? AND workspace = ? AND status = 'queued' AND (priority < ? OR priority = ? AND (created_at, id) <= (?, ?))`,
		submission.QueueID, []byte(submitted.Workspace), rank, rank, submitted.CreatedAt.UnixMicro(), submitted.ID))
	return submission, err
}

const insertTask = `INSERT INTO tasks (id, queue_id, status, priority, turn, waiting, due_at, attempt, max_attempts, timeout_ms,
		created_at, scheduled_at, type, workspace, depth, sessions, definition, rights, schedule, schedule_id, max_interruptions,
		agent_id, workflow_id, dedup_key,
		name, description, tags, dependencies, error, input)
	VALUES (?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

func (t *transition) submit(ctx context.Context, s task.Task, now time.Time, limit int) (submission task.Submission, rank int, err error) {
	var paused int
	id, found, err := first(ctx, t.executor, queueByName(`id, default_priority, paused`, s.QueueID).and(t.dialect.keepKey),
		into(func(id *string) []any { return []any{id, &rank, &paused} }))
	if err != nil || !found {
		return submission, rank, err
	}
	submission.QueueID = id
	if s.Priority != "" {
		rank = rankOf(s.Priority)
	}
	if s.Key != "" {
		existing, found, err := t.openOfKey(ctx, s.Workspace, s.Key)
		if err != nil || found {
			return existing, rank, err
		}
	}
	open, err := scalar[int](ctx, t.executor,
		sqlf(`SELECT count(*) FROM (SELECT 1 FROM tasks WHERE workspace = ? AND `+openTasks+` LIMIT ?) o`,
			[]byte(s.Workspace), limit))
	if submission.Full = open >= limit; err != nil || submission.Full {
		return submission, rank, err
	}
	unmet, blocked, err := t.dependencies(ctx, s.Dependencies)
	if submission.Blocked = blocked; err != nil || len(blocked) > 0 {
		return submission, rank, err
	}
	due, status := s.ScheduledAt, task.Pending
	if s.Schedule != "" {
		due = s.NextAt
	}
	if submission.Status = status; unmet == 0 && !due.After(now) {
		status, submission.Status = task.Queued, task.Queued
		if paused == 1 {
			submission.Status = task.Paused
		}
	}
	s.QueueID, s.Status, s.NextAt = id, status, due
	saved, err := t.keep(ctx, s, rank, unmet)
	if err == nil && !saved { // another task with the same key was submitted meanwhile
		submission, found, err = t.openOfKey(ctx, s.Workspace, s.Key)
		if err == nil && !found {
			err = fmt.Errorf("the task of key %q ended as another was submitted", s.Key)
		}
	}
	return submission, rank, err
}

// keep inserts a task with its state. It returns false if a task with its id, or an open one with
// its key, exists.
func (t *transition) keep(ctx context.Context, s task.Task, rank, unmet int) (saved bool, err error) {
	due := int64(0)
	if !s.NextAt.IsZero() {
		due = s.NextAt.UnixMicro()
	}
	tags, _ := json.Marshal(s.Tags) // lists of texts
	sessions, _ := json.Marshal(s.Sessions)
	dependencies, _ := json.Marshal(s.Dependencies)
	n, err := t.exec(ctx, insertTask, s.ID, s.QueueID, s.Status, rank, unmet, due, s.Attempt, s.MaxAttempts, s.Timeout.Milliseconds(),
		s.CreatedAt.UnixMicro(), maybeMicros(s.ScheduledAt), s.Type, []byte(s.Workspace), s.Depth, sessions, s.Definition, s.Rights,
		s.Schedule, maybeID(s.ScheduleID), s.MaxInterruptions,
		[]byte(s.AgentID), []byte(s.WorkflowID), maybeBytes(s.Key), []byte(s.Name), []byte(s.Description), tags, dependencies, []byte(s.Error),
		maybeText(s.Input))
	if err != nil || n == 0 {
		return false, err
	}
	for _, on := range s.Dependencies {
		if _, err := t.exec(ctx, `INSERT INTO task_dependencies (depends_on, task_id) VALUES (?, ?)`, on, s.ID); err != nil {
			return false, err
		}
	}
	for _, tag := range s.Tags {
		if _, err := t.exec(ctx, `INSERT INTO task_tags (tag, task_id) VALUES (?, ?)`, []byte(tag), s.ID); err != nil {
			return false, err
		}
	}
	if s.Status == task.Queued {
		t.ready[s.Workspace]++
	}
	return true, nil
}

// openOfKey returns the open task with a key as the outcome of a submit.
func (t *transition) openOfKey(ctx context.Context, workspace, key string) (submission task.Submission, found bool, err error) {
	return first(ctx, t.executor, sqlf(`SELECT id, queue_id, `+taskStatus+`, created_at FROM tasks WHERE workspace = ? AND `+
		`dedup_key = ? AND `+openTasks,
		[]byte(workspace), []byte(key)), into(func(submission *task.Submission) []any {
		return []any{&submission.Existing, &submission.QueueID, &submission.Status, micros{&submission.CreatedAt}}
	}))
}

// dependencies counts the tasks that have not completed yet, and lists those that never will.
// They cannot end before the transaction does.
func (t *transition) dependencies(ctx context.Context, ids []string) (unmet int, blocked []task.Obstacle, err error) {
	if len(ids) == 0 {
		return 0, nil, nil
	}
	found, err := all(ctx, t.executor, sqlf(`SELECT id, status, CASE WHEN schedule = '' THEN 0 ELSE 1 END FROM tasks WHERE`).
		with(among("id", ids)).and(`ORDER BY id`+t.dialect.share),
		into(func(o *task.Obstacle) []any { return []any{&o.TaskID, &o.Status, &o.Schedule} }))
	if err != nil {
		return 0, nil, err
	}
	for _, id := range ids {
		i := slices.IndexFunc(found, func(o task.Obstacle) bool { return o.TaskID == id })
		switch {
		case i < 0:
			blocked = append(blocked, task.Obstacle{TaskID: id})
		case found[i].Status == task.Completed:
		case found[i].Schedule:
			blocked = append(blocked, found[i])
		case task.Final(found[i].Status):
			blocked = append(blocked, found[i])
		default:
			unmet++
		}
	}
	return unmet, blocked, nil
}

func (s taskStore) Get(ctx context.Context, id string) (t task.Task, found bool, err error) {
	return byKey(ctx, s.db, sqlf(`SELECT `+taskColumns+` FROM tasks WHERE id = ?`, id), scanTask)
}

func (s taskStore) Outcomes(ctx context.Context, ids []string, output bool) ([]task.Outcome, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	column := "NULL"
	if output {
		column = "output"
	}
	return all(ctx, s.db.reader(), sqlf(`SELECT id, name, `+column+` FROM tasks WHERE`).with(among("id", ids)),
		into(func(o *task.Outcome) []any { return []any{&o.ID, &o.Name, (*[]byte)(&o.Output)} }))
}

// storedProgress is the column progress as JSON.
type storedProgress struct {
	Done  float64  `json:"done"`
	Total float64  `json:"total"`
	Lines []string `json:"lines"`
}

func (s taskStore) Progress(ctx context.Context, id string, turn int) (p task.Progress, found bool, err error) {
	return byKey(ctx, s.db, sqlf(`SELECT progress FROM task_progress WHERE task_id = ? AND turn = ?`, id, turn),
		func(rows *sql.Rows) (p task.Progress, err error) {
			var raw []byte
			if err := rows.Scan(&raw); err != nil {
				return p, err
			}
			var stored storedProgress
			err = json.Unmarshal(raw, &stored)
			return task.Progress(stored), err
		})
}

func (s taskStore) State(ctx context.Context, id string) (state string, found bool, err error) {
	return byKey(ctx, s.db, sqlf(`SELECT `+taskStatus+` FROM tasks WHERE id = ?`, id), only[string])
}

// picks returns the condition of a query.
func picks(q task.Query) query {
	picked := sqlf(`WHERE true`)
	if q.Workspace != nil {
		picked = picked.and(`AND workspace = ?`, []byte(*q.Workspace))
	}
	if q.QueueID != "" {
		picked = picked.and(`AND queue_id = ?`, q.QueueID)
	}
	if q.AgentID != "" {
		picked = picked.and(`AND agent_id = ?`, []byte(q.AgentID))
	}
	if q.ScheduleID != "" {
		picked = picked.and(`AND schedule_id = ?`, q.ScheduleID)
	}
	if len(q.Statuses) > 0 {
		// The index covers the states in rows, not states that follow from the queue.
		rows := slices.Clone(q.Statuses)
		if slices.Contains(rows, task.Paused) {
			rows = append(rows, task.Queued, task.Pending)
		}
		picked = picked.and(`AND`).with(among("status", rows)).and(`AND`).with(among(taskStatus, q.Statuses))
	}
	if len(q.Priorities) > 0 {
		ranks := make([]int, len(q.Priorities))
		for i, p := range q.Priorities {
			ranks[i] = rankOf(p)
		}
		picked = picked.and(`AND`).with(among("priority", ranks))
	}
	if len(q.Tags) > 0 {
		picked = picked.and(`AND id IN (SELECT task_id FROM task_tags WHERE`).with(among("tag", bytesOf(q.Tags))).and(`)`)
	}
	return picked
}

func (s taskStore) Open(ctx context.Context, q task.Query) ([]string, error) {
	return all(ctx, s.db.reader(), sqlf(`SELECT id FROM tasks`).with(picks(q)).
		and(`AND `+openTasks+` AND schedule = '' ORDER BY created_at DESC, id DESC`), only[string])
}

func (s taskStore) CancelAll(ctx context.Context, ids []string, c task.Cancellation) error {
	return s.db.transition(ctx, func(t *transition) error {
		these := among("id", ids)
		lock := sqlf(`SELECT id FROM tasks WHERE`).with(these).and(`ORDER BY id` + t.dialect.lock)
		if _, err := all(ctx, t.executor, lock, only[string]); err != nil {
			return err
		}
		open := openTasks
		if !c.Force {
			open = `status IN ('pending', 'queued')`
			ask := sqlf(`UPDATE tasks SET cancel = ? WHERE status = 'running' AND`, []byte(c.Reason)).with(these)
			if _, err := t.exec(ctx, ask.text, ask.args...); err != nil {
				return err
			}
		}
		_, err := t.end(ctx, task.Cancelled, sqlf(`error = ?`, []byte(c.Reason)), sqlf(open+` AND`).with(these), c.At)
		return err
	})
}

func (s taskStore) States(ctx context.Context, ids []string) (map[string]int, error) {
	type count struct {
		status string
		tasks  int
	}
	counts, err := all(ctx, s.db.reader(), sqlf(`SELECT status, count(*) FROM tasks WHERE`).with(among("id", ids)).and(`GROUP BY status`),
		into(func(c *count) []any { return []any{&c.status, &c.tasks} }))
	states := map[string]int{}
	for _, c := range counts {
		states[c.status] = c.tasks
	}
	return states, err
}

func (s taskStore) List(ctx context.Context, q task.Query) (page task.Page, err error) {
	picked := picks(q)
	count := sqlf(`SELECT count(*) FROM tasks`).with(picked)
	if q.After != nil {
		picked = picked.and(`AND (created_at, id) < (?, ?)`, q.After.CreatedAt.UnixMicro(), q.After.ID)
	}
	columns := taskListColumns + `, NULL`
	for _, c := range []struct {
		name string
		read bool
	}{{"input", q.Input}, {"output", q.Output}} {
		if !c.read {
			c.name = "NULL"
		}
		columns += ", " + c.name
	}
	page.Tasks, err = all(ctx, s.db.reader(), sqlf(`SELECT `+columns+` FROM tasks`).with(picked).
		and(`ORDER BY created_at DESC, id DESC LIMIT ?`, q.Limit), scanTask)
	if page.Total = len(page.Tasks); err == nil && (q.After != nil || page.Total >= q.Limit) { // otherwise the page has all tasks
		page.Total, err = scalar[int](ctx, s.db.reader(), count)
	}
	return page, err
}

func (s taskStore) Change(ctx context.Context, id string, change func(*task.Task) error) (t task.Task, found bool, err error) {
	err = s.db.transition(ctx, func(tr *transition) error {
		if t, found, err = tr.hold(ctx, id); err != nil || !found {
			return err
		}
		if err := change(&t); err != nil {
			return err
		}
		held, due := 0, sqlf(`?`, t.NextAt.UnixMicro())
		switch {
		case t.Imported:
			held = heldByImport
			if t.NextAt.IsZero() {
				due = sqlf(`due_at`) // activation does not set it
			}
		case t.Status == task.Paused:
			held, due = heldByUser, sqlf(`0`)
			t.NextAt = time.Time{}
		}
		q := sqlf(`UPDATE tasks SET name = ?, description = ?, input = ?, priority = ?, schedule = ?, held = ?,
				timeout_ms = ?, max_attempts = ?, rights = ?, due_at =`,
			[]byte(t.Name), []byte(t.Description), maybeText(t.Input), rankOf(t.Priority), t.Schedule, held,
			t.Timeout.Milliseconds(), t.MaxAttempts, t.Rights).with(due).and(`WHERE id = ?`, id)
		_, err := tr.exec(ctx, q.text, q.args...)
		if t.Imported {
			t.NextAt = time.Time{}
		}
		return err
	})
	return t, found && err == nil, err
}

func (s taskStore) Trigger(ctx context.Context, id string, now time.Time) (made task.Submission, err error) {
	err = s.db.transition(ctx, func(t *transition) error {
		made = task.Submission{}
		locked, found, err := t.hold(ctx, id)
		if err != nil || !found || task.Final(locked.Status) {
			return err
		}
		if locked.Schedule != "" {
			made, err = t.makeOf(ctx, locked, uuid.NewString(), now, now)
			return err
		}
		n, err := t.queue(ctx, sqlf(`id = ? AND status = 'pending' AND waiting = 0 AND held = 0`, id))
		if n > 0 {
			made = task.Submission{TaskID: id, Status: task.Queued}
		}
		return err
	})
	return made, err
}

// hold reads a task and locks it until the transaction ends.
func (t *transition) hold(ctx context.Context, id string) (locked task.Task, found bool, err error) {
	return first(ctx, t.executor, sqlf(`SELECT `+taskColumns+` FROM tasks WHERE id = ?`+t.dialect.lock, id), scanTask)
}

func (s taskStore) Cancel(ctx context.Context, c task.Cancellation) (before string, found bool, err error) {
	err = s.db.transition(ctx, func(t *transition) error {
		locked, ok, err := t.hold(ctx, c.TaskID)
		before, found = locked.Status, ok
		if err != nil || !ok || task.Final(before) {
			return err
		}
		if before == task.Running && !c.Force {
			_, err := t.exec(ctx, `UPDATE tasks SET cancel = ? WHERE id = ?`, []byte(c.Reason), c.TaskID)
			return err
		}
		_, err = t.end(ctx, task.Cancelled, sqlf(`error = ?`, []byte(c.Reason)), sqlf(`id = ?`, c.TaskID), c.At)
		return err
	})
	return before, found, err
}

// Retry moves a task whose queue was removed to the default queue.
func (s taskStore) Retry(ctx context.Context, r task.Retrial) (retried task.Task, blocked []task.Obstacle, err error) {
	err = s.db.transition(ctx, func(t *transition) error {
		var found bool
		retried, found, err = t.hold(ctx, r.TaskID)
		adopted := retried.Workspace == "" && !task.Final(retried.Status)
		if err == nil && found && r.Outcomes != nil && (!task.Final(retried.Status) || retried.Status == task.Completed) {
			blocked = []task.Obstacle{{TaskID: retried.ID, Status: retried.Status}}
			return nil
		}
		if err != nil || !found || !adopted && !task.Final(retried.Status) || retried.Status == task.Completed {
			return err
		}
		unmet, obstacles, err := t.dependencies(ctx, retried.Dependencies)
		if blocked = obstacles; err != nil || len(blocked) > 0 {
			return err
		}
		if retried.Key != "" {
			open, found, err := t.openOfKey(ctx, retried.Workspace, retried.Key)
			if err != nil || found {
				blocked = []task.Obstacle{{TaskID: open.Existing, Status: open.Status, Key: true}}
				return err
			}
		}
		attempt := retried.Attempt + 1
		if adopted {
			attempt = retried.Attempt
		}
		if r.Reset {
			attempt = 1
		}
		due := int64(0)
		if adopted && retried.NextAt.After(r.At) {
			due = retried.NextAt.UnixMicro()
		}
		if retried.Schedule != "" {
			next, err := task.Next(retried.Schedule, r.At, r.At)
			if err != nil {
				return fmt.Errorf("reading schedule: %w", err)
			}
			due = next.UnixMicro()
		}
		set := sqlf(`UPDATE tasks SET status = 'pending', attempt = ?, waiting = ?, due_at = ?, rescues = 0, error = ?,
			held = CASE WHEN held = ? THEN held ELSE 0 END, cancel = NULL, output = NULL, started_at = NULL, ended_at = NULL,
			queue_id = CASE WHEN queue_id IN (SELECT id FROM queues) THEN queue_id ELSE ? END`,
			attempt, unmet, due, []byte{}, heldByImport, task.DefaultQueue)
		if r.Workspace != "" {
			set = set.and(`, workspace = ?`, []byte(r.Workspace))
		}
		if r.Definition != "" {
			set = set.and(`, definition = ?`, r.Definition)
		}
		set = set.and(`WHERE id = ?`, r.TaskID)
		if err := t.settle(ctx, r); err != nil {
			return err
		}
		if _, err := t.exec(ctx, set.text, set.args...); err != nil {
			return err
		}
		if unmet == 0 && due == 0 {
			if _, err := t.queue(ctx, sqlf(`id = ? AND held = 0`, r.TaskID)); err != nil {
				return err
			}
		}
		retried, _, err = t.hold(ctx, r.TaskID)
		return err
	})
	return retried, blocked, err
}

// settle records or forgets the interrupted steps of a task, see [task.Retrial]. The outcome of a step
// holds for the interrupted steps below it.
func (t *transition) settle(ctx context.Context, r task.Retrial) error {
	const interrupted = `task_id = ? AND record IS NULL`
	if r.Outcomes == nil {
		_, err := t.exec(ctx, `DELETE FROM task_steps WHERE `+interrupted, r.TaskID)
		return err
	}
	for path, record := range r.Outcomes {
		if record != nil {
			_, err := t.exec(ctx, `UPDATE task_steps SET record = ? WHERE `+interrupted+` AND path = ?`, []byte(record), r.TaskID, []byte(path))
			if err != nil {
				return err
			}
		}
		below, beyond := []byte(path+"/"), []byte(path+"0") // '0' follows '/'
		if _, err := t.exec(ctx, `DELETE FROM task_steps WHERE `+interrupted+` AND (path = ? OR path > ? AND path < ?)`,
			r.TaskID, []byte(path), below, beyond); err != nil {
			return err
		}
	}
	return nil
}
