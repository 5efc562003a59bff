-- +goose Up

-- What kept calls have asked their clients, by the key of the answer: a method of the
-- protocol with its params, JSON, and the client's result, NULL until it has come.
-- asked_at is in microseconds since 1970.
CREATE TABLE task_questions (
    task_id  text COLLATE "C" NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    key      text COLLATE "C" NOT NULL,
    method   text COLLATE "C" NOT NULL,
    params   bytea NOT NULL,
    answer   bytea,
    asked_at bigint NOT NULL,
    PRIMARY KEY (task_id, key)
);
