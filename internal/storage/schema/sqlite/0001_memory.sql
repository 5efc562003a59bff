-- +goose Up

-- words is what memory.IndexText returns; revision counts how often the key
-- was stored. value comes last, so that reading the rest of a row never walks
-- through a megabyte of it.
CREATE TABLE memory (
    id        INTEGER PRIMARY KEY,
    namespace BLOB NOT NULL,
    key       BLOB NOT NULL,
    stored_at INTEGER NOT NULL, -- microseconds since 1970
    revision  INTEGER NOT NULL DEFAULT 1,
    words     TEXT NOT NULL,
    value     BLOB NOT NULL,
    UNIQUE (namespace, key)
);

-- The index holds no text of its own. Its tokens are the words as they are:
-- the ascii tokenizer splits at spaces and leaves all other scripts alone.
CREATE VIRTUAL TABLE memory_index USING fts5 (
    words, content='memory', content_rowid='id', detail='column', columnsize=0, tokenize="ascii tokenchars '@#'"
);

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
