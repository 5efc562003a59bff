-- +goose Up

-- River's tables are brought up to date before, see upgrade.
SELECT 1;
