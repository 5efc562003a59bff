-- +goose Up

-- Scans of code and what they found. Data is the JSON of a finding; the other
-- columns are what lists pick by. Positions are those of the list, from 1.
CREATE TABLE scans (
    id         TEXT PRIMARY KEY,
    workspace  BLOB NOT NULL,
    purpose    TEXT NOT NULL, -- bugfix or refactor
    created_at INTEGER NOT NULL -- microseconds since 1970
);

CREATE INDEX scans_newest ON scans (workspace, purpose, created_at, id);

CREATE TABLE findings (
    scan_id  TEXT NOT NULL REFERENCES scans (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    id       TEXT NOT NULL, -- the same in every scan that has the finding
    kind     TEXT NOT NULL,
    level    TEXT NOT NULL,
    data     BLOB NOT NULL,
    PRIMARY KEY (scan_id, position)
);

CREATE INDEX findings_id ON findings (id);
