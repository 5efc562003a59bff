-- +goose Up

-- Finds the steps that were begun and have no record, without reading the others.
CREATE INDEX task_steps_begun ON task_steps (task_id) WHERE record IS NULL;
