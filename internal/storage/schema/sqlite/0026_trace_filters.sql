-- +goose Up

-- The caller and the workspace of the first root of a trace, empty if unknown.
-- Traces that were stored before have neither, and no terms and errors.
ALTER TABLE traces ADD COLUMN caller BLOB NOT NULL DEFAULT x'';
ALTER TABLE traces ADD COLUMN workspace BLOB NOT NULL DEFAULT x'';

-- The sessions and tasks that a trace belongs to: "session ID" or "task ID".
CREATE TABLE trace_terms (
    term     TEXT NOT NULL,
    trace_id TEXT NOT NULL,
    PRIMARY KEY (term, trace_id)
) WITHOUT ROWID;

CREATE INDEX trace_terms_trace ON trace_terms (trace_id);

-- The code and the message of each span that failed, in lower case.
CREATE TABLE trace_errors (
    trace_id TEXT NOT NULL,
    span_id  TEXT NOT NULL,
    error    BLOB NOT NULL,
    PRIMARY KEY (trace_id, span_id)
) WITHOUT ROWID;
