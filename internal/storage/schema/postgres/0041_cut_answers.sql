-- +goose Up

-- The whole of answers that were cut, for all servers on the store. Nobody has lost work if a crash empties it.
CREATE UNLOGGED TABLE cut_answers (
    id     text COLLATE "C" PRIMARY KEY, -- SHA-256 of the answer's id, in hexadecimal digits
    reader text COLLATE "C" NOT NULL,    -- SHA-256 of the caller and its rights, in hexadecimal digits; may be empty
    answer bytea NOT NULL,               -- JSON
    bytes  bigint NOT NULL,
    until  bigint NOT NULL               -- in microseconds since 1970
);

CREATE INDEX cut_answers_until ON cut_answers (until, id, bytes);
