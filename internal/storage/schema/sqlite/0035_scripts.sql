-- +goose Up

-- Saved scripts. details is all of a script but code and rights. rights are those of the caller that
-- saved it, empty for all.
CREATE TABLE scripts (
    workspace BLOB NOT NULL,
    name      TEXT NOT NULL,
    details   BLOB NOT NULL, -- JSON
    code      BLOB NOT NULL,
    rights    TEXT NOT NULL,
    saved_at  INTEGER NOT NULL, -- microseconds since 1970
    PRIMARY KEY (workspace, name)
);
