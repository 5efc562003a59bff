-- +goose Up

-- The hand-over of a session that no agent has taken up, as JSON.
ALTER TABLE sessions ADD COLUMN handover bytea;
