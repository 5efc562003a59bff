-- +goose Up

-- Scans of code and what they found. Data is the JSON of a finding; the other
-- columns are what lists pick by. Positions are those of the list, from 1.
CREATE TABLE scans (
    id         text COLLATE "C" PRIMARY KEY,
    workspace  bytea NOT NULL,
    purpose    text NOT NULL, -- bugfix or refactor
    created_at bigint NOT NULL -- microseconds since 1970
);

CREATE INDEX scans_newest ON scans (workspace, purpose, created_at, id);

CREATE TABLE findings (
    scan_id  text COLLATE "C" NOT NULL REFERENCES scans (id) ON DELETE CASCADE,
    position bigint NOT NULL,
    id       text NOT NULL, -- the same in every scan that has the finding
    kind     text NOT NULL,
    level    text NOT NULL,
    data     bytea NOT NULL,
    PRIMARY KEY (scan_id, position)
);

CREATE INDEX findings_id ON findings (id);
