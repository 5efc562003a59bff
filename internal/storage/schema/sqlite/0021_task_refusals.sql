-- +goose Up

-- Workers that have given a task back because their folder lacks what it runs, and
-- do not claim it until a time, in microseconds since 1970.
CREATE TABLE task_refusals (
    task_id   TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    worker_id TEXT NOT NULL REFERENCES task_workers (id) ON DELETE CASCADE,
    lacks     BLOB NOT NULL,
    until     INTEGER NOT NULL,
    PRIMARY KEY (task_id, worker_id)
);
CREATE INDEX task_refusals_worker ON task_refusals (worker_id);
