-- +goose Up

-- Servers that receive letters now. A server that was not seen for ten seconds has ended.
CREATE UNLOGGED TABLE letter_servers (
    id      text COLLATE "C" PRIMARY KEY, -- of a process, made at its start
    seen_at bigint NOT NULL               -- microseconds since 1970, by the clock of the database
);

-- Messages between servers, such as the retry of a call that waits at another server. The server that receives one
-- removes it.
CREATE UNLOGGED TABLE letters (
    server  text COLLATE "C" NOT NULL, -- the one that receives it
    id      text COLLATE "C" NOT NULL,
    message bytea NOT NULL,            -- JSON
    at      bigint NOT NULL,           -- microseconds since 1970, by the clock of the database
    PRIMARY KEY (server, id)
);

-- They live for moments: compressing them would take longer than writing them.
ALTER TABLE letters ALTER COLUMN message SET STORAGE EXTERNAL;
