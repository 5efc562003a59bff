-- +goose Up

-- What a task runs, as it was when the task was submitted, JSON; it was a digest
-- before. Empty = as it is when the task starts.
UPDATE tasks SET definition = '';

-- The steps of tasks that have not completed, by their path; record is JSON with
-- what came of a step, NULL for one that was begun and may not be begun again.
CREATE TABLE task_steps (
    task_id text COLLATE "C" NOT NULL REFERENCES tasks (id),
    path    bytea NOT NULL,
    record  bytea,
    PRIMARY KEY (task_id, path)
);

-- The rights that all who registered or changed an agent had, as package
-- permission reads them; empty = all.
ALTER TABLE agents ADD COLUMN rights text NOT NULL DEFAULT '';
