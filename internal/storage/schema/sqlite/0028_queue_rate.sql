-- +goose Up

-- The most tasks of a queue that start in a minute, over all workspaces; 0 = no limit.
ALTER TABLE queues ADD COLUMN rate_per_minute INTEGER NOT NULL DEFAULT 0;

-- The starts of the last minute in queues with such a limit. at never falls within a
-- queue, whatever the clocks of its workers say.
CREATE TABLE queue_starts (
    queue_id TEXT NOT NULL,
    at       INTEGER NOT NULL, -- microseconds since 1970
    tasks    INTEGER NOT NULL
);

CREATE INDEX queue_starts_at ON queue_starts (queue_id, at);
