-- +goose Up

-- tags is a JSON list; NULL, as workspace, where there is none. An entry that
-- has expired is gone for every reader, and removed some time later.
ALTER TABLE memory ADD COLUMN expires_at bigint;
ALTER TABLE memory ADD COLUMN workspace bytea;
ALTER TABLE memory ADD COLUMN tags bytea;

CREATE INDEX memory_newest ON memory (stored_at, id);
CREATE INDEX memory_expiring ON memory (expires_at) WHERE expires_at IS NOT NULL;
