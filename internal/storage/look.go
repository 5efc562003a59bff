package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/stdlib"
)

// Look says how the store at a URL is, without making or upgrading it. The error says why
// a call could not use it.
func Look(ctx context.Context, at string, options ...Option) (string, error) {
	var s settings
	for _, set := range options {
		set(&s)
	}
	where, err := parseURL(at)
	if err != nil {
		return "", err
	}
	switch where.kind {
	case kindMemory:
		return "ends with the process", nil
	case kindPostgres:
		config, err := postgresConfig(at, s.ambientCredentials)
		if err != nil {
			return "", err
		}
		pool := stdlib.OpenDB(*config)
		defer pool.Close()
		state, err := postgresDialect.state(ctx, pool, `SELECT to_regclass('`+schemaTable+`') IS NOT NULL`)
		return state, postgresDialect.explain(err)
	}
	info, err := os.Stat(where.path)
	if errors.Is(err, os.ErrNotExist) {
		if folder, err := os.Stat(filepath.Dir(where.path)); err == nil && !folder.IsDir() {
			return "", fmt.Errorf("%s is no folder", filepath.Dir(where.path))
		}
		return "not made yet: the first call that keeps something makes it", nil
	}
	if err == nil {
		err = checkOurs(ctx, where.path)
	}
	if err != nil {
		return "", sqliteDialect.explain(err)
	}
	pool, err := sqlitePool(where.path, url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(2000)"}}, 1)
	if err != nil {
		return "", sqliteDialect.explain(err)
	}
	defer pool.Close()
	state, err := sqliteDialect.state(ctx, pool, `SELECT count(*) > 0 FROM sqlite_master WHERE name = '`+schemaTable+`'`)
	return fmt.Sprintf("%s, %.1f MB", state, float64(info.Size())/1e6), sqliteDialect.explain(err)
}

// state says which schema step a database is at. The query says whether it has any.
func (d dialect) state(ctx context.Context, pool *sql.DB, hasSteps string) (string, error) {
	var has bool
	if err := pool.QueryRowContext(ctx, hasSteps).Scan(&has); err != nil || !has {
		return "answers, and is empty", err
	}
	var step, latest int64
	if err := pool.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0) FROM `+schemaTable).Scan(&step); err != nil {
		return "", err
	}
	files, err := fs.ReadDir(schema, d.schema)
	if err != nil {
		return "", err
	}
	for _, file := range files {
		number, _, _ := strings.Cut(file.Name(), "_")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			latest = max(latest, n)
		}
	}
	switch {
	case step > latest:
		return "", fmt.Errorf("it was written by a newer toolfold (schema step %d, this one knows %d): use that one, or another store",
			step, latest)
	case step < latest:
		return fmt.Sprintf("answers; its first use upgrades it from schema step %d to %d", step, latest), nil
	}
	return "answers", nil
}
