-- +goose Up

-- Logins of callers at upstreams, encrypted with keys that are not in the store. The key of the row is part of what is
-- encrypted, so that no row stands in for another.
CREATE TABLE caller_logins (
    caller     bytea NOT NULL,
    upstream   bytea NOT NULL,             -- its name
    key_id     text COLLATE "C",           -- of the key that encrypted login
    login      bytea,                      -- nonce and ciphertext of AES-256-GCM; NULL = none, while a process changes it
    changed_at bigint NOT NULL DEFAULT 0,  -- microseconds since 1970
    holder     text COLLATE "C" NOT NULL,  -- the process that changes it now; empty = none
    held_until bigint NOT NULL,            -- microseconds since 1970
    PRIMARY KEY (caller, upstream)
);
