-- +goose Up

-- profile is the whole of an agent; team and enabled are in it too, and lists
-- filter by them.
CREATE TABLE agents (
    agent_id   BLOB PRIMARY KEY,
    team       BLOB NOT NULL,
    enabled    INTEGER NOT NULL, -- 0 or 1
    created_at INTEGER NOT NULL, -- microseconds since 1970
    profile    BLOB NOT NULL     -- JSON
) WITHOUT ROWID;

CREATE INDEX agents_team ON agents (team, agent_id);
