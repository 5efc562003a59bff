-- +goose Up

-- Servers that receive letters now. A server that was not seen for ten seconds has ended.
CREATE TABLE letter_servers (
    id      TEXT PRIMARY KEY, -- of a process, made at its start
    seen_at INTEGER NOT NULL  -- microseconds since 1970, by the clock of the database
);

-- Messages between servers, such as the retry of a call that waits at another server. The server that receives one
-- removes it.
CREATE TABLE letters (
    server  TEXT NOT NULL,    -- the one that receives it
    id      TEXT NOT NULL,
    message BLOB NOT NULL,    -- JSON
    at      INTEGER NOT NULL, -- microseconds since 1970, by the clock of the database
    PRIMARY KEY (server, id)
);
