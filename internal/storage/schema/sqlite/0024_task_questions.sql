-- +goose Up

-- What kept calls have asked their clients, by the key of the answer: a method of the
-- protocol with its params, JSON, and the client's result, NULL until it has come.
-- asked_at is in microseconds since 1970.
CREATE TABLE task_questions (
    task_id  TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    key      TEXT NOT NULL,
    method   TEXT NOT NULL,
    params   BLOB NOT NULL,
    answer   BLOB,
    asked_at INTEGER NOT NULL,
    PRIMARY KEY (task_id, key)
);
