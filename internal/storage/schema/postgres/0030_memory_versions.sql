-- +goose Up

-- The earlier versions of notes, also of deleted ones. version is the revision that
-- the note had. replaced_at is when it was replaced or deleted.
CREATE TABLE memory_versions (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace   bytea NOT NULL,
    key         bytea NOT NULL,
    workspace   bytea NOT NULL,
    version     bigint NOT NULL,
    stored_at   bigint NOT NULL, -- microseconds since 1970
    replaced_at bigint NOT NULL,
    expires_at  bigint,
    author      bytea,
    tags        bytea,
    value       bytea NOT NULL
);

-- An index has room for the longest namespace and key, and a hash of the
-- workspace.
CREATE UNIQUE INDEX memory_versions_identity ON memory_versions (namespace, key, sha256(workspace), version);
CREATE INDEX memory_versions_replaced ON memory_versions (replaced_at, id);
CREATE INDEX memory_versions_expiring ON memory_versions (expires_at) WHERE expires_at IS NOT NULL;

-- The version that a note was restored from, and nothing was stored since.
ALTER TABLE memory ADD COLUMN restored bigint;
