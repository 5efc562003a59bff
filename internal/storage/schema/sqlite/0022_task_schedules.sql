-- +goose Up

-- Whether a schedule is paused, 0 or 1: its row stays pending. The tasks of a
-- schedule are listed.
ALTER TABLE tasks ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
CREATE INDEX tasks_runs ON tasks (schedule_id, created_at, id) WHERE schedule_id IS NOT NULL;
