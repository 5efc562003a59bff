-- +goose Up

-- Priorities are their rank, 1 = critical to 5 = background.
CREATE TABLE queues (
    id               text COLLATE "C" PRIMARY KEY,
    name             bytea NOT NULL UNIQUE,
    description      bytea NOT NULL,
    max_concurrency  bigint NOT NULL,
    default_priority bigint NOT NULL,
    paused           bigint NOT NULL DEFAULT 0, -- 0 or 1
    created_at       bigint NOT NULL -- microseconds since 1970, as all times
);

-- turn counts how often the task became ready: a job may start it that names
-- the present turn. waiting is how many dependencies have not completed.
-- due_at is when the task may be queued, 0 = at once. cancel is the reason
-- why its worker is to stop it. The queue is no foreign key: queues are never
-- removed, and checking it would have all tasks of a queue contend for its row.
CREATE TABLE tasks (
    id           text COLLATE "C" PRIMARY KEY,
    queue_id     text COLLATE "C" NOT NULL,
    status       text NOT NULL,
    priority     bigint NOT NULL,
    turn         bigint NOT NULL,
    waiting      bigint NOT NULL,
    due_at       bigint NOT NULL,
    attempt      bigint NOT NULL,
    max_attempts bigint NOT NULL,
    rescues      bigint NOT NULL DEFAULT 0, -- of this attempt
    timeout_ms   bigint NOT NULL,           -- 0 = none
    worker_id    text,
    created_at   bigint NOT NULL,
    scheduled_at bigint,
    started_at   bigint,
    ended_at     bigint,
    type         text NOT NULL,
    agent_id     bytea NOT NULL,
    name         bytea NOT NULL,
    description  bytea NOT NULL,
    tags         bytea NOT NULL, -- JSON
    dependencies bytea NOT NULL, -- JSON
    cancel       bytea,
    error        bytea NOT NULL,
    input        bytea,          -- JSON
    output       bytea           -- JSON
);

CREATE INDEX tasks_newest ON tasks (created_at, id);
CREATE INDEX tasks_queue ON tasks (queue_id, status, priority);
CREATE INDEX tasks_agent ON tasks (agent_id, created_at, id);
CREATE INDEX tasks_running ON tasks (worker_id) WHERE status = 'running';
CREATE INDEX tasks_due ON tasks (due_at) WHERE status = 'pending' AND waiting = 0;

CREATE TABLE task_dependencies (
    depends_on text COLLATE "C" NOT NULL,
    task_id    text COLLATE "C" NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (depends_on, task_id)
);

CREATE TABLE task_tags (
    tag     bytea NOT NULL,
    task_id text COLLATE "C" NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (tag, task_id)
);

-- A worker's lease on all that it runs.
CREATE TABLE task_workers (
    id         text PRIMARY KEY,
    expires_at bigint NOT NULL
);
