-- +goose Up

-- What servers on the store know of an upstream: its list, what was accepted of it, its plan.
CREATE TABLE upstream_records (
    name       BLOB NOT NULL,    -- the upstream in the settings
    source     TEXT NOT NULL,    -- digest of its command or URL
    record     BLOB NOT NULL,    -- as in a file of records
    version    INTEGER NOT NULL, -- counts the changes of the record
    changed_at INTEGER NOT NULL, -- in microseconds since 1970
    PRIMARY KEY (name, source)
);
