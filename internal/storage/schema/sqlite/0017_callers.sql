-- +goose Up

-- The rights of who submitted a task, as package permission reads them; empty =
-- all that the server has.
ALTER TABLE tasks ADD COLUMN rights TEXT NOT NULL DEFAULT '';

-- Calls by legacy names, counted by the client that makes them.
CREATE TABLE legacy_calls (
    name    TEXT NOT NULL,
    client  BLOB NOT NULL,    -- empty = one that does not say what it is
    calls   INTEGER NOT NULL,
    last_at INTEGER NOT NULL, -- microseconds since 1970
    PRIMARY KEY (name, client)
) WITHOUT ROWID;
