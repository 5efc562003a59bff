-- +goose Up

-- Who called what. A call that may change something has a row from before it ran, and one with its end.
-- Rows do not change; old ones are removed.
CREATE TABLE audit (
    call    TEXT NOT NULL,
    ended   INTEGER NOT NULL, -- 1 for the row with the end
    at      INTEGER NOT NULL, -- when the call began, in microseconds since 1970
    caller  BLOB NOT NULL,
    details BLOB NOT NULL,    -- JSON
    PRIMARY KEY (call, ended)
);

CREATE INDEX audit_at ON audit (at, call);

-- +goose StatementBegin
CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'rows of the table audit do not change');
END;
-- +goose StatementEnd
