-- +goose Up

-- details is all of an ability but its content. Nothing is looked up by what
-- is in it: abilities are picked by relevance, and files are among them.
-- revision counts how often the id was registered.
CREATE TABLE abilities (
    id       TEXT PRIMARY KEY,
    revision INTEGER NOT NULL DEFAULT 1,
    details  BLOB NOT NULL, -- JSON
    content  BLOB NOT NULL
);
