-- +goose Up

-- version counts how often the session was changed: a change is made to the
-- version that it looked at, or not at all. Ids are in the order of their
-- bytes whatever the database's locale, because lists page by them.
CREATE TABLE sessions (
    id         text COLLATE "C" PRIMARY KEY,
    status     text NOT NULL,
    created_at bigint NOT NULL, -- microseconds since 1970, as all times
    updated_at bigint NOT NULL,
    ended_at   bigint,
    version    bigint NOT NULL DEFAULT 0,
    initiator  bytea NOT NULL,
    task       bytea NOT NULL,
    workspace  bytea NOT NULL,
    summary    bytea NOT NULL,
    metadata   bytea, -- JSON
    failure    bytea  -- JSON
);

CREATE INDEX sessions_newest ON sessions (created_at, id);
CREATE INDEX sessions_status ON sessions (status, created_at, id);
CREATE INDEX sessions_initiator ON sessions (initiator, created_at, id);

-- place is the order in which agents first joined.
CREATE TABLE session_participants (
    session_id text COLLATE "C" NOT NULL REFERENCES sessions (id),
    agent_id   bytea NOT NULL,
    place      bigint NOT NULL,
    role       text NOT NULL,
    joined_at  bigint NOT NULL,
    left_at    bigint,
    PRIMARY KEY (session_id, agent_id)
);
