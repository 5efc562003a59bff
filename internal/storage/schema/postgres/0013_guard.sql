-- +goose Up

-- The policies of sessions, as they were when they were applied. Areas are the
-- folders or packages that calls of the session have begun to write in.
CREATE TABLE session_policies (
    session_id text COLLATE "C" NOT NULL REFERENCES sessions (id),
    policy_id  text COLLATE "C" NOT NULL,
    applied_at bigint NOT NULL, -- microseconds since 1970
    policy     bytea NOT NULL, -- JSON
    areas      bytea NOT NULL, -- JSON
    PRIMARY KEY (session_id, policy_id)
);

-- The sessions that the submitter of a task was part of, as JSON.
ALTER TABLE tasks ADD COLUMN sessions bytea NOT NULL DEFAULT 'null';
