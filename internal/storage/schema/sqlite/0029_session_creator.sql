-- +goose Up

-- The workspace of the caller that made a session, which ends it; workspace is the one
-- that it names. Of sessions from before only the latter is known.
ALTER TABLE sessions ADD COLUMN creator_workspace BLOB NOT NULL DEFAULT x'';
UPDATE sessions SET creator_workspace = workspace;
