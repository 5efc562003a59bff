-- +goose Up

-- The policies of sessions, as they were when they were applied. Areas are the
-- folders or packages that calls of the session have begun to write in.
CREATE TABLE session_policies (
    session_id TEXT NOT NULL REFERENCES sessions (id),
    policy_id  TEXT NOT NULL,
    applied_at INTEGER NOT NULL, -- microseconds since 1970
    policy     BLOB NOT NULL, -- JSON
    areas      BLOB NOT NULL, -- JSON
    PRIMARY KEY (session_id, policy_id)
);

-- The sessions that the submitter of a task was part of, as JSON.
ALTER TABLE tasks ADD COLUMN sessions BLOB NOT NULL DEFAULT 'null';
