-- +goose Up

-- A task belongs to a workspace; only processes that work this workspace run
-- it. depth counts the tasks that led to it; definition is a digest of the
-- agent as of submission; interruptions counts runs that were cut off. turn
-- counts how often the task was started: only the run with the present turn
-- may record its end.
ALTER TABLE tasks
    ADD COLUMN workspace     bytea  NOT NULL DEFAULT '',
    ADD COLUMN depth         bigint NOT NULL DEFAULT 0,
    ADD COLUMN definition    text   NOT NULL DEFAULT '', -- of no agent: empty
    ADD COLUMN interruptions bigint NOT NULL DEFAULT 0;

-- Whose folder such a task was meant for is not known, so none runs it until
-- task.retry says so.
UPDATE tasks SET status = 'pending', worker_id = NULL, started_at = NULL
    WHERE status IN ('pending', 'queued', 'running', 'paused');

-- Tasks of a paused queue stay queued in their row.
DROP INDEX tasks_queue;
CREATE INDEX tasks_line ON tasks (queue_id, workspace, status, priority, created_at, id);
CREATE INDEX tasks_open ON tasks (workspace) WHERE status IN ('pending', 'queued', 'running');

ALTER TABLE task_workers ADD COLUMN workspace bytea NOT NULL DEFAULT '';

-- The default queue is always there; it has no time of its making.
INSERT INTO queues (id, name, description, max_concurrency, default_priority, created_at)
    VALUES ('default', 'default', '', 5, 3, 0) ON CONFLICT DO NOTHING;

-- Jobs do not name a task any more.
DELETE FROM river_job WHERE kind = 'toolfold_task';
