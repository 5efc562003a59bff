-- +goose Up

CREATE TABLE metrics (
    id       INTEGER PRIMARY KEY,
    name     BLOB NOT NULL UNIQUE,
    type     TEXT NOT NULL,
    category TEXT NOT NULL -- empty = none was declared
);

-- written counts the points ever written, sum adds them up; kept counts those
-- that are still there, tail those of them that are in metric_points.
CREATE TABLE metric_series (
    id        INTEGER PRIMARY KEY,
    metric_id INTEGER NOT NULL REFERENCES metrics (id),
    labels    BLOB NOT NULL, -- JSON object with sorted names
    written   INTEGER NOT NULL,
    sum       REAL NOT NULL,
    kept      INTEGER NOT NULL,
    tail      INTEGER NOT NULL,
    last      REAL NOT NULL,
    last_at   INTEGER NOT NULL, -- microseconds since 1970, as all times
    UNIQUE (metric_id, labels)
);

-- The newest points of a series have a row each; n counts them from its first.
CREATE TABLE metric_points (
    series_id INTEGER NOT NULL,
    n         INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    value     REAL NOT NULL,
    PRIMARY KEY (series_id, n)
) WITHOUT ROWID;

-- Older points are packed: data holds time and value of each, 8 bytes each.
CREATE TABLE metric_blocks (
    series_id INTEGER NOT NULL,
    n         INTEGER NOT NULL, -- of the first point
    points    INTEGER NOT NULL,
    first_at  INTEGER NOT NULL, -- the earliest time
    last_at   INTEGER NOT NULL, -- the latest time
    sum       REAL NOT NULL,
    min       REAL NOT NULL,
    max       REAL NOT NULL,
    data      BLOB NOT NULL,
    PRIMARY KEY (series_id, n)
);

CREATE TABLE timers (
    id         TEXT PRIMARY KEY,
    name       BLOB NOT NULL,
    labels     BLOB NOT NULL,
    started_at INTEGER NOT NULL
);

CREATE INDEX timers_oldest ON timers (started_at, id);
