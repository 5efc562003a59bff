-- +goose Up

-- details is all of an ability but its content. Nothing is looked up by what
-- is in it: abilities are picked by relevance, and files are among them.
-- revision counts how often the id was registered.
CREATE TABLE abilities (
    id       text COLLATE "C" PRIMARY KEY,
    revision bigint NOT NULL DEFAULT 1,
    details  bytea NOT NULL, -- JSON
    content  bytea NOT NULL
);
