-- +goose Up

-- number is the version of the session that the note made.
CREATE TABLE session_notes (
    session_id TEXT NOT NULL REFERENCES sessions (id),
    number     INTEGER NOT NULL,
    agent_id   BLOB NOT NULL,
    created_at INTEGER NOT NULL, -- microseconds since 1970
    note       BLOB NOT NULL,
    PRIMARY KEY (session_id, number)
);

CREATE INDEX session_participants_agent ON session_participants (agent_id, session_id) WHERE left_at IS NULL;
