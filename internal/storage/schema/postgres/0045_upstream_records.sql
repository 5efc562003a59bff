-- +goose Up

-- What servers on the store know of an upstream: its list, what was accepted of it, its plan.
CREATE TABLE upstream_records (
    name       bytea NOT NULL,            -- the upstream in the settings
    source     text COLLATE "C" NOT NULL, -- digest of its command or URL
    record     bytea NOT NULL,            -- as in a file of records
    version    bigint NOT NULL,           -- counts the changes of the record
    changed_at bigint NOT NULL,           -- in microseconds since 1970
    PRIMARY KEY (name, source)
);
