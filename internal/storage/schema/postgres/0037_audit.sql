-- +goose Up

-- Who called what. A call that may change something has a row from before it ran, and one with its end.
-- Rows do not change; old ones are removed.
CREATE TABLE audit (
    call    text COLLATE "C" NOT NULL,
    ended   bigint NOT NULL, -- 1 for the row with the end
    at      bigint NOT NULL, -- when the call began, in microseconds since 1970
    caller  bytea NOT NULL,
    details bytea NOT NULL,  -- JSON
    PRIMARY KEY (call, ended)
);

CREATE INDEX audit_at ON audit (at, call);

-- +goose StatementBegin
CREATE FUNCTION audit_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows of the table audit do not change';
END
$$;
-- +goose StatementEnd

CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit FOR EACH ROW EXECUTE FUNCTION audit_is_final();
