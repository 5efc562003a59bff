-- +goose Up

-- profile is the whole of an agent; team and enabled are in it too, and lists
-- filter by them.
CREATE TABLE agents (
    agent_id   bytea PRIMARY KEY,
    team       bytea NOT NULL,
    enabled    bigint NOT NULL, -- 0 or 1
    created_at bigint NOT NULL, -- microseconds since 1970
    profile    bytea NOT NULL   -- JSON
);

CREATE INDEX agents_team ON agents (team, agent_id);
