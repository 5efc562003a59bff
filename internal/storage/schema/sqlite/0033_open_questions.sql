-- +goose Up

-- Finds the questions that wait for an answer, without reading the others.
CREATE INDEX task_questions_open ON task_questions (asked_at) WHERE answer IS NULL;
