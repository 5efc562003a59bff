-- +goose Up

-- Resources that sessions of clients watch.
CREATE TABLE client_subscriptions (
    session TEXT NOT NULL, -- as the id of client_sessions
    uri     TEXT NOT NULL,
    PRIMARY KEY (session, uri)
);
