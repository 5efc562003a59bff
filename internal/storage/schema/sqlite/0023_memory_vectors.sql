-- +goose Up

-- The vector of an entry as it was stored at a time, in microseconds since 1970,
-- made by a model. It is empty for what has none.
CREATE TABLE memory_vectors (
    id        INTEGER PRIMARY KEY REFERENCES memory (id) ON DELETE CASCADE,
    stored_at INTEGER NOT NULL,
    model     TEXT NOT NULL,
    vector    BLOB NOT NULL
);
