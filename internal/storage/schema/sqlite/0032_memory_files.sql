-- +goose Up

-- What a note and its file in a folder had in common when they were last the same:
-- whichever differs from it was changed since. folder is a hash of machine, path and
-- workspace.
CREATE TABLE memory_files (
    folder    BLOB NOT NULL,
    namespace BLOB NOT NULL,
    key       BLOB NOT NULL,
    digest    TEXT NOT NULL, -- of value, tags and expiry
    stamp     TEXT NOT NULL, -- of the note with this digest
    PRIMARY KEY (folder, namespace, key)
);
