package storage

import (
	"context"
	"fmt"
	"time"

	"github.com/toolfold/toolfold/engine/queue"
)

// releasedAtOnce is how many tasks Release queues in one transaction, so that
// others get their turn to write.
const releasedAtOnce = 500

const (
	due     = `status = 'pending' AND waiting = 0 AND due_at <= ?`
	resumed = `status = 'paused' AND queue_id IN (SELECT id FROM queues WHERE paused = 0)`
)

func (l ledger) Release(ctx context.Context, now time.Time) (n int, err error) {
	some, err := one[int](ctx, l.db.reader(), sqlf(`SELECT
		(SELECT count(*) FROM (SELECT 1 FROM tasks WHERE `+due+` LIMIT 1) d) +
		(SELECT count(*) FROM (SELECT 1 FROM tasks WHERE `+resumed+` LIMIT 1) r)`, now.UnixMicro()))
	if err != nil || some == 0 {
		return 0, err
	}
	err = l.db.flowing(ctx, func(f *flow) error {
		n, err = f.release(ctx, now)
		return err
	})
	return n, err
}

func (f *flow) release(ctx context.Context, now time.Time) (int, error) {
	dueNow, err := f.ready(ctx, sqlf(`status = 'pending' AND id IN (SELECT id FROM tasks WHERE `+due+` ORDER BY due_at, id LIMIT ?)`,
		now.UnixMicro(), releasedAtOnce))
	if err != nil {
		return 0, err
	}
	again, err := f.ready(ctx, sqlf(`status = 'paused' AND id IN (SELECT id FROM tasks WHERE `+resumed+` ORDER BY created_at, id LIMIT ?)`,
		releasedAtOnce))
	return dueNow + again, err
}

// maxRescues is how many processes a task may take down with it.
const maxRescues = 5

// orphaned are running tasks whose worker has no lease any more.
const orphaned = `status = 'running' AND NOT EXISTS (SELECT 1 FROM task_workers WHERE task_workers.id = tasks.worker_id)`

func (l ledger) Rescue(ctx context.Context, now time.Time) (n int, err error) {
	some, err := one[int](ctx, l.db.reader(), sqlf(`SELECT
		(SELECT count(*) FROM task_workers WHERE expires_at < `+l.db.dialect.clock+`) +
		(SELECT count(*) FROM tasks WHERE `+orphaned+`)`))
	if err != nil || some == 0 {
		return 0, err
	}
	err = l.db.flowing(ctx, func(f *flow) error {
		n, err = f.rescue(ctx, now)
		return err
	})
	return n, err
}

func (f *flow) rescue(ctx context.Context, now time.Time) (int, error) {
	if _, err := f.exec(ctx, `DELETE FROM task_workers WHERE expires_at < `+f.dialect.clock); err != nil {
		return 0, err
	}
	died := fmt.Sprintf("the process that ran it died, %d times in a row", maxRescues+1)
	n, err := f.end(ctx, queue.Failed, sqlf(`error = ?`, []byte(died)),
		sqlf(orphaned).and(`AND cancel IS NULL AND rescues >= ?`, maxRescues), now)
	if err != nil {
		return 0, err
	}
	if _, err := f.exec(ctx, `UPDATE tasks SET rescues = rescues + 1 WHERE `+orphaned); err != nil {
		return 0, err
	}
	queued, err := f.requeue(ctx, sqlf(orphaned), now)
	return n + queued, err
}
