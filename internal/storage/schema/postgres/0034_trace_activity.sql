-- +goose Up

-- Has every column that calls are counted by: an hour's calls are read from it alone.
CREATE INDEX traces_activity ON traces (started_at, label, failed, open, heard_at, ended_at);
