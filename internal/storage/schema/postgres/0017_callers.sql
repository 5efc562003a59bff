-- +goose Up

-- The rights of who submitted a task, as package permission reads them; empty =
-- all that the server has.
ALTER TABLE tasks ADD COLUMN rights text NOT NULL DEFAULT '';

-- Calls by legacy names, counted by the client that makes them.
CREATE TABLE legacy_calls (
    name    text COLLATE "C" NOT NULL,
    client  bytea NOT NULL,  -- empty = one that does not say what it is
    calls   bigint NOT NULL,
    last_at bigint NOT NULL, -- microseconds since 1970
    PRIMARY KEY (name, client)
);
