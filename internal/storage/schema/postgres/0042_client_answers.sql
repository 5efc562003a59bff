-- +goose Up

-- Answers to questions of calls that reached another server than the one that asked. It takes them.
CREATE UNLOGGED TABLE client_answers (
    session  text COLLATE "C" NOT NULL, -- as the id of client_sessions
    question text COLLATE "C" NOT NULL, -- id of the question, as JSON
    answer   bytea NOT NULL,            -- JSON
    at       bigint NOT NULL,           -- microseconds since 1970
    PRIMARY KEY (session, question)
);
