-- +goose Up

-- The caller and the workspace of the first root of a trace, empty if unknown.
-- Traces that were stored before have neither, and no terms and errors.
ALTER TABLE traces ADD COLUMN caller bytea NOT NULL DEFAULT '';
ALTER TABLE traces ADD COLUMN workspace bytea NOT NULL DEFAULT '';

-- The sessions and tasks that a trace belongs to: "session ID" or "task ID".
CREATE TABLE trace_terms (
    term     text COLLATE "C" NOT NULL,
    trace_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (term, trace_id)
);

CREATE INDEX trace_terms_trace ON trace_terms (trace_id);

-- The code and the message of each span that failed, in lower case.
CREATE TABLE trace_errors (
    trace_id text COLLATE "C" NOT NULL,
    span_id  text COLLATE "C" NOT NULL,
    error    bytea NOT NULL,
    PRIMARY KEY (trace_id, span_id)
);
