-- +goose Up

-- The whole of answers that were cut, for all servers on the store. Nobody has lost work if a crash empties it.
CREATE TABLE cut_answers (
    id     TEXT PRIMARY KEY, -- SHA-256 of the answer's id, in hexadecimal digits
    reader TEXT NOT NULL,    -- SHA-256 of the caller and its rights, in hexadecimal digits; may be empty
    answer BLOB NOT NULL,    -- JSON
    bytes  INTEGER NOT NULL,
    until  INTEGER NOT NULL  -- in microseconds since 1970
);

CREATE INDEX cut_answers_until ON cut_answers (until, id, bytes);
