-- +goose Up

-- number is the version of the session that the note made.
CREATE TABLE session_notes (
    session_id text COLLATE "C" NOT NULL REFERENCES sessions (id),
    number     bigint NOT NULL,
    agent_id   bytea NOT NULL,
    created_at bigint NOT NULL, -- microseconds since 1970
    note       bytea NOT NULL,
    PRIMARY KEY (session_id, number)
);

CREATE INDEX session_participants_agent ON session_participants (agent_id, session_id) WHERE left_at IS NULL;
