-- +goose Up

-- The words of the entries named here are not yet those of today's
-- memory.IndexText: the family replaces them before the first search.
CREATE TABLE memory_outdated (id INTEGER PRIMARY KEY);

INSERT INTO memory_outdated (id) SELECT id FROM memory;
