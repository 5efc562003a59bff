-- +goose Up

-- Answers to questions of calls that reached another server than the one that asked. It takes them.
CREATE TABLE client_answers (
    session  TEXT NOT NULL,    -- as the id of client_sessions
    question TEXT NOT NULL,    -- id of the question, as JSON
    answer   BLOB NOT NULL,    -- JSON
    at       INTEGER NOT NULL, -- microseconds since 1970
    PRIMARY KEY (session, question)
);
