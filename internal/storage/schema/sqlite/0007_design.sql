-- +goose Up

-- The hashes are the SHA-256 of the texts: a file whose hash is here was
-- written by toolfold, and its text can be read back.
CREATE TABLE designs (
    id                 TEXT PRIMARY KEY,
    type               TEXT NOT NULL,
    format             TEXT NOT NULL,
    name               BLOB NOT NULL,
    content            BLOB NOT NULL,
    documentation      BLOB NOT NULL,
    content_hash       BLOB NOT NULL,
    documentation_hash BLOB, -- NULL = there is no documentation
    created_at         INTEGER NOT NULL -- microseconds since 1970
);

CREATE INDEX designs_newest ON designs (created_at, id);
CREATE INDEX designs_type ON designs (type, created_at, id);
CREATE INDEX designs_content ON designs (content_hash);
CREATE INDEX designs_documentation ON designs (documentation_hash);
