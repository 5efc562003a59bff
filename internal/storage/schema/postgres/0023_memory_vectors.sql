-- +goose Up

-- The vector of an entry as it was stored at a time, in microseconds since 1970,
-- made by a model. It is empty for what has none.
CREATE TABLE memory_vectors (
    id        bigint PRIMARY KEY REFERENCES memory (id) ON DELETE CASCADE,
    stored_at bigint NOT NULL,
    model     text NOT NULL,
    vector    bytea NOT NULL
);
