-- +goose Up

-- The estimated tokens of the arguments and results of the roots of a trace that have ended. Traces that were
-- stored before have none.
ALTER TABLE traces ADD COLUMN tokens_in bigint NOT NULL DEFAULT 0;
ALTER TABLE traces ADD COLUMN tokens_out bigint NOT NULL DEFAULT 0;

-- Has every column that calls are counted by: an hour's calls are read from it alone.
DROP INDEX traces_activity;
CREATE INDEX traces_activity ON traces (started_at, label, failed, open, heard_at, ended_at, tokens_in, tokens_out);
