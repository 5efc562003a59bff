-- +goose Up

-- A note is identified by its workspace too. Entries whose workspace is unknown
-- belong to all workspaces, which is the name user; their words lack it. author
-- names the client that stored an entry, NULL if that is unknown.
INSERT INTO memory_outdated (id) SELECT id FROM memory WHERE workspace IS NULL ON CONFLICT DO NOTHING;
UPDATE memory SET workspace = 'user'::bytea WHERE workspace IS NULL;
ALTER TABLE memory ALTER COLUMN workspace SET NOT NULL;
ALTER TABLE memory ADD COLUMN author bytea;

-- An index has room for the longest namespace and key, and a hash of the
-- workspace.
ALTER TABLE memory DROP CONSTRAINT memory_namespace_key_key;
CREATE UNIQUE INDEX memory_identity ON memory (namespace, key, sha256(workspace));
