-- +goose Up

-- Resources that sessions of clients watch.
CREATE TABLE client_subscriptions (
    session text COLLATE "C" NOT NULL, -- as the id of client_sessions
    uri     text COLLATE "C" NOT NULL,
    PRIMARY KEY (session, uri)
);
