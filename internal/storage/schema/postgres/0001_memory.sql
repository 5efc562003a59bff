-- +goose Up

-- words is what memory.IndexText returns; revision counts how often the key
-- was stored. The words are lexemes already, so no parser or dictionary of
-- the server's locale has a say in them.
CREATE TABLE memory (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace bytea NOT NULL,
    key       bytea NOT NULL,
    stored_at bigint NOT NULL, -- microseconds since 1970
    revision  bigint NOT NULL DEFAULT 1,
    words     text NOT NULL,
    value     bytea NOT NULL,
    lexemes   tsvector NOT NULL GENERATED ALWAYS AS (array_to_tsvector(string_to_array(words, ' '))) STORED,
    UNIQUE (namespace, key)
);

CREATE INDEX memory_lexemes ON memory USING gin (lexemes);
