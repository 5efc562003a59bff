-- +goose Up

-- tags is a JSON list; NULL, as workspace, where there is none. An entry that
-- has expired is gone for every reader, and removed some time later. The table
-- is copied, so that words and value stay behind the columns that lists read.
-- The index of words holds on to the ids, which stay the same.
CREATE TABLE new_memory (
    id         INTEGER PRIMARY KEY,
    namespace  BLOB NOT NULL,
    key        BLOB NOT NULL,
    stored_at  INTEGER NOT NULL, -- microseconds since 1970
    expires_at INTEGER,
    revision   INTEGER NOT NULL DEFAULT 1,
    workspace  BLOB,
    tags       BLOB,
    words      TEXT NOT NULL,
    value      BLOB NOT NULL,
    UNIQUE (namespace, key)
);

INSERT INTO new_memory (id, namespace, key, stored_at, revision, words, value)
    SELECT id, namespace, key, stored_at, revision, words, value FROM memory;

DROP TRIGGER memory_inserted;
DROP TRIGGER memory_deleted;
DROP TRIGGER memory_updated;
DROP TABLE memory;
ALTER TABLE new_memory RENAME TO memory;

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
