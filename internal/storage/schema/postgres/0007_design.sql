-- +goose Up

-- The hashes are the SHA-256 of the texts: a file whose hash is here was
-- written by toolfold, and its text can be read back.
-- Ids are in the order of their bytes whatever the database's locale, because
-- lists page by them.
CREATE TABLE designs (
    id                 text COLLATE "C" PRIMARY KEY,
    type               text NOT NULL,
    format             text NOT NULL,
    name               bytea NOT NULL,
    content            bytea NOT NULL,
    documentation      bytea NOT NULL,
    content_hash       bytea NOT NULL,
    documentation_hash bytea, -- NULL = there is no documentation
    created_at         bigint NOT NULL -- microseconds since 1970
);

CREATE INDEX designs_newest ON designs (created_at, id);
CREATE INDEX designs_type ON designs (type, created_at, id);
CREATE INDEX designs_content ON designs (content_hash);
CREATE INDEX designs_documentation ON designs (documentation_hash);
