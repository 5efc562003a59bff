-- +goose Up

-- A task belongs to a workspace; only processes that work this workspace run
-- it. depth counts the tasks that led to it; definition is a digest of the
-- agent as of submission; interruptions counts runs that were cut off. turn
-- counts how often the task was started: only the run with the present turn
-- may record its end. The queue is no foreign key: ended tasks outlive it.
CREATE TABLE new_tasks (
    id            TEXT PRIMARY KEY,
    queue_id      TEXT NOT NULL,
    status        TEXT NOT NULL,
    priority      INTEGER NOT NULL,
    turn          INTEGER NOT NULL,
    waiting       INTEGER NOT NULL,
    due_at        INTEGER NOT NULL,
    attempt       INTEGER NOT NULL,
    max_attempts  INTEGER NOT NULL,
    rescues       INTEGER NOT NULL DEFAULT 0, -- of this attempt
    interruptions INTEGER NOT NULL DEFAULT 0,
    timeout_ms    INTEGER NOT NULL,           -- 0 = none
    worker_id     TEXT,
    created_at    INTEGER NOT NULL,
    scheduled_at  INTEGER,
    started_at    INTEGER,
    ended_at      INTEGER,
    type          TEXT NOT NULL,
    workspace     BLOB NOT NULL DEFAULT x'',
    depth         INTEGER NOT NULL DEFAULT 0,
    definition    TEXT NOT NULL DEFAULT '',   -- of no agent: empty
    agent_id      BLOB NOT NULL,
    name          BLOB NOT NULL,
    description   BLOB NOT NULL,
    tags          BLOB NOT NULL, -- JSON
    dependencies  BLOB NOT NULL, -- JSON
    cancel        BLOB,
    error         BLOB NOT NULL,
    input         BLOB,          -- JSON
    output        BLOB           -- JSON
);

CREATE TABLE new_task_dependencies (
    depends_on TEXT NOT NULL,
    task_id    TEXT NOT NULL REFERENCES new_tasks (id),
    PRIMARY KEY (depends_on, task_id)
) WITHOUT ROWID;

CREATE TABLE new_task_tags (
    tag     BLOB NOT NULL,
    task_id TEXT NOT NULL REFERENCES new_tasks (id),
    PRIMARY KEY (tag, task_id)
) WITHOUT ROWID;

INSERT INTO new_tasks (id, queue_id, status, priority, turn, waiting, due_at, attempt, max_attempts, rescues, timeout_ms, worker_id,
        created_at, scheduled_at, started_at, ended_at, type, agent_id, name, description, tags, dependencies, cancel, error, input, output)
    SELECT id, queue_id, status, priority, turn, waiting, due_at, attempt, max_attempts, rescues, timeout_ms, worker_id,
        created_at, scheduled_at, started_at, ended_at, type, agent_id, name, description, tags, dependencies, cancel, error, input, output
    FROM tasks;
INSERT INTO new_task_dependencies SELECT * FROM task_dependencies;
INSERT INTO new_task_tags SELECT * FROM task_tags;

DROP TABLE task_dependencies;
DROP TABLE task_tags;
DROP TABLE tasks;
ALTER TABLE new_tasks RENAME TO tasks;
ALTER TABLE new_task_dependencies RENAME TO task_dependencies;
ALTER TABLE new_task_tags RENAME TO task_tags;

-- Whose folder such a task was meant for is not known, so none runs it until
-- task.retry says so.
UPDATE tasks SET status = 'pending', worker_id = NULL, started_at = NULL
    WHERE status IN ('pending', 'queued', 'running', 'paused');

-- Tasks of a paused queue stay queued in their row.
CREATE INDEX tasks_newest ON tasks (created_at, id);
CREATE INDEX tasks_line ON tasks (queue_id, workspace, status, priority, created_at, id);
CREATE INDEX tasks_agent ON tasks (agent_id, created_at, id);
CREATE INDEX tasks_running ON tasks (worker_id) WHERE status = 'running';
CREATE INDEX tasks_due ON tasks (due_at) WHERE status = 'pending' AND waiting = 0;
CREATE INDEX tasks_open ON tasks (workspace) WHERE status IN ('pending', 'queued', 'running');

ALTER TABLE task_workers ADD COLUMN workspace BLOB NOT NULL DEFAULT x'';

-- The default queue is always there; it has no time of its making.
INSERT INTO queues (id, name, description, max_concurrency, default_priority, created_at)
    VALUES ('default', CAST('default' AS BLOB), x'', 5, 3, 0) ON CONFLICT DO NOTHING;

-- Jobs do not name a task any more.
DELETE FROM river_job WHERE kind = 'toolfold_task';
