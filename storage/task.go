package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"

	"github.com/toolfold/toolfold/engine/queue"
	"github.com/toolfold/toolfold/tools/task"
)

// Task returns the store of the task family.
func (db *DB) Task() task.Store { return taskStore{queueStore{db}} }

// taskStore implements [task.Store].
type taskStore struct{ queueStore }

func (s taskStore) Queue(ctx context.Context, idOrName string) (task.Queue, bool, error) {
	q, found, err := findQueue(ctx, s.db.reader(), idOrName)
	return task.Queue{ID: q.ID, DefaultPriority: q.DefaultPriority}, found, err
}

func (s taskStore) Submit(ctx context.Context, t queue.Task, now time.Time) (placed task.Placed, blocked []task.Obstacle, err error) {
	err = s.db.flowing(ctx, func(f *flow) error {
		waiting, obstacles, err := f.dependencies(ctx, t.Dependencies)
		if blocked = obstacles; err != nil || len(blocked) > 0 {
			return err
		}
		placed.Status, err = f.insertTask(ctx, t, waiting, now)
		return err
	})
	if err != nil || len(blocked) > 0 || placed.Status != queue.Queued {
		return placed, blocked, err
	}
	placed.Position, err = one[int](ctx, s.db.reader(), sqlf(`SELECT count(*) FROM tasks
		WHERE queue_id = ? AND status = 'queued' AND (priority < ? OR priority = ? AND (created_at, id) <= (?, ?))`,
		t.QueueID, rankOf(t.Priority), rankOf(t.Priority), t.CreatedAt.UnixMicro(), t.ID))
	return placed, nil, err
}

// dependencies counts those that have not completed yet, and lists those that
// never will. They do not end while the transaction lasts.
func (f *flow) dependencies(ctx context.Context, ids []string) (waiting int, blocked []task.Obstacle, err error) {
	if len(ids) == 0 {
		return 0, nil, nil
	}
	found, err := all(ctx, f.tx, sqlf(`SELECT id, status FROM tasks WHERE`).with(among("id", ids)).and(`ORDER BY id`+f.dialect.share),
		func(rows *sql.Rows) (o task.Obstacle, err error) { return o, rows.Scan(&o.TaskID, &o.Status) })
	if err != nil {
		return 0, nil, err
	}
	for _, id := range ids {
		i := slices.IndexFunc(found, func(o task.Obstacle) bool { return o.TaskID == id })
		switch {
		case i < 0:
			blocked = append(blocked, task.Obstacle{TaskID: id})
		case found[i].Status == queue.Completed:
		case queue.Final(found[i].Status):
			blocked = append(blocked, found[i])
		default:
			waiting++
		}
	}
	return waiting, blocked, nil
}

const insertTask = `INSERT INTO tasks (` + taskColumns + `, waiting, due_at)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

func (f *flow) insertTask(ctx context.Context, t queue.Task, waiting int, now time.Time) (status string, err error) {
	tags, _ := json.Marshal(t.Tags) // a list of texts
	dependencies, _ := json.Marshal(t.Dependencies)
	due := int64(0)
	if !t.ScheduledAt.IsZero() {
		due = t.ScheduledAt.UnixMicro()
	}
	turn := 0
	if status = queue.Pending; waiting == 0 && due <= now.UnixMicro() {
		if status, err = f.readyState(ctx, t.QueueID); err != nil {
			return "", err
		}
		turn = 1
	}
	_, err = f.exec(ctx, insertTask, t.ID, t.QueueID, status, rankOf(t.Priority), turn, t.Attempt, t.MaxAttempts,
		t.Timeout.Milliseconds(), t.CreatedAt.UnixMicro(), maybeMicros(t.ScheduledAt), nil, nil, t.Type,
		[]byte(t.AgentID), []byte(t.Name), []byte(t.Description), tags, dependencies, []byte(t.Error),
		maybeText(t.Input), nil, waiting, due)
	if err != nil {
		return "", err
	}
	if status == queue.Queued {
		f.made = append(f.made, queue.Job{Ticket: queue.Ticket{TaskID: t.ID, Turn: turn}, QueueID: t.QueueID, Priority: t.Priority})
	}
	return status, f.insertLinks(ctx, t)
}

// readyState is the state of a ready task in a queue.
func (f *flow) readyState(ctx context.Context, queueID string) (string, error) {
	paused, err := one[int](ctx, f.tx, sqlf(`SELECT paused FROM queues WHERE id = ?`, queueID))
	if paused == 1 {
		return queue.Paused, err
	}
	return queue.Queued, err
}

func (f *flow) insertLinks(ctx context.Context, t queue.Task) error {
	for _, id := range t.Dependencies {
		if _, err := f.exec(ctx, `INSERT INTO task_dependencies (depends_on, task_id) VALUES (?, ?)`, id, t.ID); err != nil {
			return err
		}
	}
	for _, tag := range t.Tags {
		if _, err := f.exec(ctx, `INSERT INTO task_tags (tag, task_id) VALUES (?, ?)`, []byte(tag), t.ID); err != nil {
			return err
		}
	}
	return nil
}

func (s taskStore) Get(ctx context.Context, id string) (t queue.Task, found bool, err error) {
	list, err := all(ctx, s.db.reader(), sqlf(`SELECT `+taskColumns+` FROM tasks WHERE id = ?`, id), scanTask)
	if err != nil || len(list) == 0 {
		return queue.Task{}, false, err
	}
	return list[0], true, nil
}

func (s taskStore) List(ctx context.Context, q task.Query) (page task.Page, err error) {
	page.Total, err = one[int](ctx, s.db.reader(), pickingTasks(`SELECT count(*) FROM tasks`, q))
	if err != nil {
		return task.Page{}, err
	}
	list := pickingTasks(`SELECT `+taskColumns+` FROM tasks`, q)
	if q.After != nil {
		list = list.and(`AND (created_at, id) < (?, ?)`, q.After.CreatedAt.UnixMicro(), q.After.ID)
	}
	list = list.and(`ORDER BY created_at DESC, id DESC LIMIT ?`, q.Limit)
	page.Tasks, err = all(ctx, s.db.reader(), list, scanTask)
	return page, err
}

// pickingTasks adds the WHERE clause of a query.
func pickingTasks(selection string, q task.Query) query {
	picked := sqlf(selection + ` WHERE true`)
	if q.QueueID != "" {
		picked = picked.and(`AND queue_id = ?`, q.QueueID)
	}
	if q.AgentID != "" {
		picked = picked.and(`AND agent_id = ?`, []byte(q.AgentID))
	}
	if len(q.Statuses) > 0 {
		picked = picked.and(`AND`).with(among("status", q.Statuses))
	}
	if len(q.Priorities) > 0 {
		ranks := make([]int, len(q.Priorities))
		for i, p := range q.Priorities {
			ranks[i] = rankOf(p)
		}
		picked = picked.and(`AND`).with(among("priority", ranks))
	}
	if len(q.Tags) > 0 {
		tagged := among("tag", bytesOf(q.Tags))
		picked = picked.and(`AND id IN (SELECT task_id FROM task_tags WHERE`).with(tagged).and(`)`)
	}
	return picked
}
