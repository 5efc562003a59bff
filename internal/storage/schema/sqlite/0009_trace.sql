-- +goose Up

-- A row sums up the spans of a trace. open counts its running roots, failed
-- those that failed.
CREATE TABLE traces (
    id         TEXT PRIMARY KEY,
    label      BLOB NOT NULL, -- of the first root; empty before one is stored
    label_at   INTEGER,       -- when that root began
    open       INTEGER NOT NULL,
    failed     INTEGER NOT NULL,
    started_at INTEGER NOT NULL, -- microseconds since 1970, as all times
    ended_at   INTEGER,          -- of the last span that ended
    heard_at   INTEGER NOT NULL, -- when its process last stored something
    spans      INTEGER NOT NULL,
    bytes      INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX traces_newest ON traces (started_at, id);
CREATE INDEX traces_label ON traces (label, started_at);

CREATE TABLE trace_spans (
    trace_id   TEXT NOT NULL,
    id         TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    span       BLOB NOT NULL, -- JSON
    answer     BLOB,          -- JSON
    PRIMARY KEY (trace_id, id)
);
