-- +goose Up

-- Priorities are their rank, 1 = critical to 5 = background.
CREATE TABLE queues (
    id               TEXT PRIMARY KEY,
    name             BLOB NOT NULL UNIQUE,
    description      BLOB NOT NULL,
    max_concurrency  INTEGER NOT NULL,
    default_priority INTEGER NOT NULL,
    paused           INTEGER NOT NULL DEFAULT 0, -- 0 or 1
    created_at       INTEGER NOT NULL -- microseconds since 1970, as all times
);

-- turn counts how often the task became ready: a job may start it that names
-- the present turn. waiting is how many dependencies have not completed.
-- due_at is when the task may be queued, 0 = at once. cancel is the reason
-- why its worker is to stop it.
CREATE TABLE tasks (
    id           TEXT PRIMARY KEY,
    queue_id     TEXT NOT NULL REFERENCES queues (id),
    status       TEXT NOT NULL,
    priority     INTEGER NOT NULL,
    turn         INTEGER NOT NULL,
    waiting      INTEGER NOT NULL,
    due_at       INTEGER NOT NULL,
    attempt      INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    rescues      INTEGER NOT NULL DEFAULT 0, -- of this attempt
    timeout_ms   INTEGER NOT NULL,           -- 0 = none
    worker_id    TEXT,
    created_at   INTEGER NOT NULL,
    scheduled_at INTEGER,
    started_at   INTEGER,
    ended_at     INTEGER,
    type         TEXT NOT NULL,
    agent_id     BLOB NOT NULL,
    name         BLOB NOT NULL,
    description  BLOB NOT NULL,
    tags         BLOB NOT NULL, -- JSON
    dependencies BLOB NOT NULL, -- JSON
    cancel       BLOB,
    error        BLOB NOT NULL,
    input        BLOB,          -- JSON
    output       BLOB           -- JSON
);

CREATE INDEX tasks_newest ON tasks (created_at, id);
CREATE INDEX tasks_queue ON tasks (queue_id, status, priority);
CREATE INDEX tasks_agent ON tasks (agent_id, created_at, id);
CREATE INDEX tasks_running ON tasks (worker_id) WHERE status = 'running';
CREATE INDEX tasks_due ON tasks (due_at) WHERE status = 'pending' AND waiting = 0;

CREATE TABLE task_dependencies (
    depends_on TEXT NOT NULL,
    task_id    TEXT NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (depends_on, task_id)
) WITHOUT ROWID;

CREATE TABLE task_tags (
    tag     BLOB NOT NULL,
    task_id TEXT NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (tag, task_id)
) WITHOUT ROWID;

-- A worker's lease on all that it runs.
CREATE TABLE task_workers (
    id         TEXT PRIMARY KEY,
    expires_at INTEGER NOT NULL
);
