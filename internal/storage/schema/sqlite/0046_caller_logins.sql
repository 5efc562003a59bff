-- +goose Up

-- Logins of callers at upstreams, encrypted with keys that are not in the store. The key of the row is part of what is
-- encrypted, so that no row stands in for another.
CREATE TABLE caller_logins (
    caller     BLOB NOT NULL,
    upstream   BLOB NOT NULL,              -- its name
    key_id     TEXT,                       -- of the key that encrypted login
    login      BLOB,                       -- nonce and ciphertext of AES-256-GCM; NULL = none, while a process changes it
    changed_at INTEGER NOT NULL DEFAULT 0, -- microseconds since 1970
    holder     TEXT NOT NULL,              -- the process that changes it now; empty = none
    held_until INTEGER NOT NULL,           -- microseconds since 1970
    PRIMARY KEY (caller, upstream)
);
