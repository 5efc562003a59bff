-- +goose Up

-- A task runs an agent, a workflow (workflow_id) or a call. Of an open task's
-- dedup_key there is no other in its workspace. A task with a schedule, a cron
-- expression, is never run: whenever it is due, a task whose schedule_id is
-- its id is made, unless the one before has not ended. rescues, which counts the
-- runs of an attempt that were cut off, may not exceed max_interruptions.
ALTER TABLE tasks ADD COLUMN workflow_id BLOB NOT NULL DEFAULT x'';
ALTER TABLE tasks ADD COLUMN dedup_key BLOB;
ALTER TABLE tasks ADD COLUMN schedule TEXT NOT NULL DEFAULT '';
ALTER TABLE tasks ADD COLUMN schedule_id TEXT;
ALTER TABLE tasks ADD COLUMN max_interruptions INTEGER NOT NULL DEFAULT 5;

CREATE UNIQUE INDEX tasks_key ON tasks (workspace, dedup_key) WHERE dedup_key IS NOT NULL AND status IN ('pending', 'queued', 'running');
CREATE INDEX tasks_schedule ON tasks (schedule_id) WHERE schedule_id IS NOT NULL AND status IN ('pending', 'queued', 'running');
CREATE INDEX tasks_ended ON tasks (ended_at, id) WHERE ended_at IS NOT NULL;
CREATE INDEX task_dependents ON task_dependencies (task_id);
CREATE INDEX task_tags_task ON task_tags (task_id);

-- How far the run with this turn is, as JSON.
CREATE TABLE task_progress (
    task_id  TEXT PRIMARY KEY REFERENCES tasks (id),
    turn     INTEGER NOT NULL,
    progress BLOB NOT NULL
) WITHOUT ROWID;

-- Whether max_concurrency holds for each process instead of over all, 0 or 1.
ALTER TABLE queues ADD COLUMN per_process INTEGER NOT NULL DEFAULT 0;
