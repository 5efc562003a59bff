-- +goose Up

-- Sessions of clients over HTTP up to protocol 2025-11-25: any server on the store continues them. A row goes
-- when its session ends, or was not used for a while.
CREATE TABLE client_sessions (
    id         text COLLATE "C" PRIMARY KEY, -- SHA-256 of the session id, in hexadecimal digits
    owner      text COLLATE "C" NOT NULL,    -- SHA-256 of the caller, in hexadecimal digits; empty without a caller
    hello      bytea NOT NULL,               -- JSON: the params of initialize
    loaded     text NOT NULL DEFAULT '',     -- names of loaded tools, each with a line end; may repeat
    entered    text NOT NULL DEFAULT '',     -- ids of work sessions that it is part of, each with a line end
    log_level  text NOT NULL DEFAULT '',
    seen_at    bigint NOT NULL,              -- when it was last used, in microseconds since 1970
    holder     text NOT NULL DEFAULT '',     -- the server that has processes for the session
    held_until bigint NOT NULL DEFAULT 0
);

CREATE INDEX client_sessions_seen ON client_sessions (seen_at);
