-- +goose Up

-- Saved scripts. details is all of a script but code and rights. rights are those of the caller that
-- saved it, empty for all.
CREATE TABLE scripts (
    workspace bytea NOT NULL,
    name      text COLLATE "C" NOT NULL,
    details   bytea NOT NULL, -- JSON
    code      bytea NOT NULL,
    rights    text NOT NULL,
    saved_at  bigint NOT NULL, -- microseconds since 1970
    PRIMARY KEY (workspace, name)
);
