-- +goose Up

-- The earlier versions of notes, also of deleted ones. version is the revision that
-- the note had. replaced_at is when it was replaced or deleted.
CREATE TABLE memory_versions (
    id          INTEGER PRIMARY KEY,
    namespace   BLOB NOT NULL,
    key         BLOB NOT NULL,
    workspace   BLOB NOT NULL,
    version     INTEGER NOT NULL,
    stored_at   INTEGER NOT NULL, -- microseconds since 1970
    replaced_at INTEGER NOT NULL,
    expires_at  INTEGER,
    author      BLOB,
    tags        BLOB,
    value       BLOB NOT NULL,
    UNIQUE (namespace, key, workspace, version)
);

CREATE INDEX memory_versions_replaced ON memory_versions (replaced_at, id);
CREATE INDEX memory_versions_expiring ON memory_versions (expires_at) WHERE expires_at IS NOT NULL;

-- The version that a note was restored from, and nothing was stored since.
ALTER TABLE memory ADD COLUMN restored INTEGER;
