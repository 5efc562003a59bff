-- +goose Up

-- version counts how often the session was changed: a change is made to the
-- version that it looked at, or not at all.
CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    status     TEXT NOT NULL,
    created_at INTEGER NOT NULL, -- microseconds since 1970, as all times
    updated_at INTEGER NOT NULL,
    ended_at   INTEGER,
    version    INTEGER NOT NULL DEFAULT 0,
    initiator  BLOB NOT NULL,
    task       BLOB NOT NULL,
    workspace  BLOB NOT NULL,
    summary    BLOB NOT NULL,
    metadata   BLOB, -- JSON
    failure    BLOB  -- JSON
);

CREATE INDEX sessions_newest ON sessions (created_at, id);
CREATE INDEX sessions_status ON sessions (status, created_at, id);
CREATE INDEX sessions_initiator ON sessions (initiator, created_at, id);

-- place is the order in which agents first joined.
CREATE TABLE session_participants (
    session_id TEXT NOT NULL REFERENCES sessions (id),
    agent_id   BLOB NOT NULL,
    place      INTEGER NOT NULL,
    role       TEXT NOT NULL,
    joined_at  INTEGER NOT NULL,
    left_at    INTEGER,
    PRIMARY KEY (session_id, agent_id)
);
