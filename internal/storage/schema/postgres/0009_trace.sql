-- +goose Up

-- A row sums up the spans of a trace. open counts its running roots, failed
-- those that failed.
CREATE TABLE traces (
    id         text COLLATE "C" PRIMARY KEY,
    label      bytea NOT NULL, -- of the first root; empty before one is stored
    label_at   bigint,       -- when that root began
    open       bigint NOT NULL,
    failed     bigint NOT NULL,
    started_at bigint NOT NULL, -- microseconds since 1970, as all times
    ended_at   bigint,          -- of the last span that ended
    heard_at   bigint NOT NULL, -- when its process last stored something
    spans      bigint NOT NULL,
    bytes      bigint NOT NULL
);

CREATE INDEX traces_newest ON traces (started_at, id);
CREATE INDEX traces_label ON traces (label, started_at);

CREATE TABLE trace_spans (
    trace_id   text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    started_at bigint NOT NULL,
    span       bytea NOT NULL, -- JSON
    answer     bytea,          -- JSON
    PRIMARY KEY (trace_id, id)
);
