-- +goose Up

-- A note is identified by its workspace too. Entries whose workspace is unknown
-- belong to all workspaces, which is the name user; their words lack it. author
-- names the client that stored an entry, NULL if that is unknown. The table is
-- copied, so that words and value stay behind the columns that lists read. The
-- index of words holds on to the ids, which stay the same. The vectors are set
-- aside, as they would go with their entries.
INSERT INTO memory_outdated (id) SELECT id FROM memory WHERE workspace IS NULL AND id NOT IN (SELECT id FROM memory_outdated);

CREATE TABLE new_memory (
    id         INTEGER PRIMARY KEY,
    namespace  BLOB NOT NULL,
    key        BLOB NOT NULL,
    stored_at  INTEGER NOT NULL, -- microseconds since 1970
    expires_at INTEGER,
    revision   INTEGER NOT NULL DEFAULT 1,
    workspace  BLOB NOT NULL,
    author     BLOB,
    tags       BLOB,
    words      TEXT NOT NULL,
    value      BLOB NOT NULL,
    UNIQUE (namespace, key, workspace)
);

INSERT INTO new_memory (id, namespace, key, stored_at, expires_at, revision, workspace, tags, words, value)
    SELECT id, namespace, key, stored_at, expires_at, revision, coalesce(workspace, CAST('user' AS BLOB)), tags, words, value FROM memory;

CREATE TABLE old_memory_vectors AS SELECT id, stored_at, model, vector FROM memory_vectors;
DROP TABLE memory_vectors;

DROP TRIGGER memory_inserted;
DROP TRIGGER memory_deleted;
DROP TRIGGER memory_updated;
DROP TABLE memory;
ALTER TABLE new_memory RENAME TO memory;

CREATE TABLE memory_vectors (
    id        INTEGER PRIMARY KEY REFERENCES memory (id) ON DELETE CASCADE,
    stored_at INTEGER NOT NULL,
    model     TEXT NOT NULL,
    vector    BLOB NOT NULL
);
INSERT INTO memory_vectors (id, stored_at, model, vector) SELECT id, stored_at, model, vector FROM old_memory_vectors;
DROP TABLE old_memory_vectors;

CREATE INDEX memory_newest ON memory (stored_at, id);
CREATE INDEX memory_expiring ON memory (expires_at) WHERE expires_at IS NOT NULL;

-- +goose StatementBegin
CREATE TRIGGER memory_inserted AFTER INSERT ON memory BEGIN
    INSERT INTO memory_index (rowid, words) VALUES (new.id, new.words);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER memory_deleted AFTER DELETE ON memory BEGIN
    INSERT INTO memory_index (memory_index, rowid, words) VALUES ('delete', old.id, old.words);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER memory_updated AFTER UPDATE ON memory WHEN old.words <> new.words BEGIN
    INSERT INTO memory_index (memory_index, rowid, words) VALUES ('delete', old.id, old.words);
    INSERT INTO memory_index (rowid, words) VALUES (new.id, new.words);
END;
-- +goose StatementEnd
