package storage

import (
	"context"

	"github.com/toolfold/toolfold/engine/queue"
	"github.com/toolfold/toolfold/tools/task"
)

func (s taskStore) Cancel(ctx context.Context, c task.Cancellation) (before string, found bool, err error) {
	err = s.db.flowing(ctx, func(f *flow) error {
		t, ok, err := f.hold(ctx, c.TaskID)
		before, found = t.Status, ok
		if err != nil || !ok || queue.Final(t.Status) {
			return err
		}
		if t.Status == queue.Running && !c.Force {
			_, err := f.exec(ctx, `UPDATE tasks SET cancel = ? WHERE id = ?`, []byte(c.Reason), c.TaskID)
			return err
		}
		_, err = f.end(ctx, queue.Cancelled, sqlf(`error = ?`, []byte(c.Reason)), sqlf(`id = ?`, c.TaskID), c.At)
		return err
	})
	return before, found, err
}

// hold reads a task that nobody else changes while the transaction lasts.
func (f *flow) hold(ctx context.Context, id string) (t queue.Task, found bool, err error) {
	list, err := all(ctx, f.tx, sqlf(`SELECT `+taskColumns+` FROM tasks WHERE id = ?`+f.dialect.lock, id), scanTask)
	if err != nil || len(list) == 0 {
		return queue.Task{}, false, err
	}
	return list[0], true, nil
}

func (s taskStore) Retry(ctx context.Context, r task.Retrial) (t queue.Task, blocked []task.Obstacle, err error) {
	err = s.db.flowing(ctx, func(f *flow) error {
		var found bool
		t, found, err = f.hold(ctx, r.TaskID)
		if err != nil || !found || !queue.Final(t.Status) || t.Status == queue.Completed {
			return err
		}
		waiting, obstacles, err := f.dependencies(ctx, t.Dependencies)
		if blocked = obstacles; err != nil || len(blocked) > 0 {
			return err
		}
		return f.restart(ctx, &t, r, waiting)
	})
	return t, blocked, err
}

func (f *flow) restart(ctx context.Context, t *queue.Task, r task.Retrial, waiting int) error {
	t.Attempt++
	if r.Reset {
		t.Attempt = 1
	}
	_, err := f.exec(ctx, `UPDATE tasks SET status = 'pending', attempt = ?, waiting = ?, due_at = 0, rescues = 0,
			error = ?, cancel = NULL, output = NULL, started_at = NULL, ended_at = NULL WHERE id = ?`,
		t.Attempt, waiting, []byte{}, t.ID)
	if err != nil {
		return err
	}
	if waiting == 0 {
		if _, err := f.ready(ctx, sqlf(`id = ?`, t.ID)); err != nil {
			return err
		}
	}
	t.Status, err = one[string](ctx, f.tx, sqlf(`SELECT status FROM tasks WHERE id = ?`, t.ID))
	return err
}
