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

// Look returns the state of the store at a URL in words, without creating or upgrading it. The
// error is the reason for which a call could not use the store.
func Look(ctx context.Context, at string, options ...Option) (string, error) {
	where, err := parseURL(at)
	if err != nil {
		return "", err
	}
	if where.kind == kindMemory {
		return "ends with the process", nil
	}
	var state string
	there, err := look(ctx, at, where, options, func(d dialect, pool *sql.DB, has bool) (err error) {
		state, err = d.state(ctx, pool, has)
		return err
	})
	if err == nil && !there {
		return "not made yet: the first call that keeps something makes it", nil
	}
	if info, statErr := os.Stat(where.path); err == nil && where.kind == kindSQLite && statErr == nil {
		state += fmt.Sprintf(", %.1f MB", float64(info.Size())/1e6)
	}
	return state, err
}

// Exists reports whether there is a store with schema steps at a URL, without creating or upgrading
// it.
func Exists(ctx context.Context, at string, options ...Option) (exists bool, err error) {
	where, err := parseURL(at)
	if err != nil || where.kind == kindMemory {
		return false, err
	}
	_, err = look(ctx, at, where, options, func(_ dialect, _ *sql.DB, has bool) error {
		exists = has
		return nil
	})
	return exists, err
}

// look calls do with a database for reading; has reports whether it has schema steps. If there is
// no file, look returns false without calling do.
func look(ctx context.Context, at string, where location, options []Option,
	do func(d dialect, pool *sql.DB, has bool) error) (bool, error) {
	var s settings
	for _, set := range options {
		set(&s)
	}
	if where.kind == kindPostgres {
		config, err := postgresConfig(at, s.ambientCredentials)
		if err != nil {
			return false, err
		}
		pool := stdlib.OpenDB(*config)
		defer pool.Close()
		return true, postgresDialect.lookInto(ctx, pool, `SELECT to_regclass('`+schemaTable+`') IS NOT NULL`, do)
	}
	_, err := os.Stat(where.path)
	if errors.Is(err, os.ErrNotExist) {
		if folder, err := os.Stat(filepath.Dir(where.path)); err == nil && !folder.IsDir() {
			return false, fmt.Errorf("%s is no folder", filepath.Dir(where.path))
		}
		return false, nil
	}
	if err == nil {
		err = checkOurs(ctx, where.path)
	}
	if err != nil {
		return true, sqliteDialect.explain(err)
	}
	pool, err := sqlitePool(where.path, url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(2000)"}}, 1)
	if err != nil {
		return true, sqliteDialect.explain(err)
	}
	defer pool.Close()
	return true, sqliteDialect.lookInto(ctx, pool, `SELECT count(*) > 0 FROM sqlite_master WHERE name = '`+schemaTable+`'`, do)
}

// lookInto calls do with the result of hasSteps, a query for whether the database has schema steps.
func (d dialect) lookInto(ctx context.Context, pool *sql.DB, hasSteps string, do func(d dialect, pool *sql.DB, has bool) error) error {
	var has bool
	err := pool.QueryRowContext(ctx, hasSteps).Scan(&has)
	if err == nil {
		err = do(d, pool, has)
	}
	return d.explain(err)
}

// state describes a database and its schema step. A newer step than this program knows is an error.
func (d dialect) state(ctx context.Context, pool *sql.DB, has bool) (string, error) {
	if !has {
		return "answers, and is empty", nil
	}
	step, latest, err := d.steps(ctx, pool)
	switch {
	case err != nil:
		return "", err
	case step < latest:
		return fmt.Sprintf("answers; its first use upgrades it from schema step %d to %d", step, latest), nil
	}
	return "answers", nil
}

// steps returns the schema step of a database, and the latest one. A newer step than this program
// knows is an error.
func (d dialect) steps(ctx context.Context, pool *sql.DB) (step, latest int64, err error) {
	if err := pool.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0) FROM `+schemaTable).Scan(&step); err != nil {
		return 0, 0, err
	}
	files, err := fs.ReadDir(schema, d.schema)
	if err != nil {
		return 0, 0, err
	}
	for _, file := range files {
		number, _, _ := strings.Cut(file.Name(), "_")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			latest = max(latest, n)
		}
	}
	if step > latest {
		return 0, 0, fmt.Errorf("it was written by a newer toolfold (schema step %d, this one knows %d): use that one, or another store",
			step, latest)
	}
	return step, latest, nil
}

// CheckCurrent returns an error if opening the store at a URL would upgrade it. It changes nothing.
func CheckCurrent(ctx context.Context, at string, options ...Option) error {
	where, err := parseURL(at)
	if err != nil || where.kind == kindMemory {
		return err
	}
	_, err = look(ctx, at, where, options, func(d dialect, pool *sql.DB, has bool) error {
		if !has {
			return nil
		}
		step, latest, err := d.steps(ctx, pool)
		if err == nil && step < latest {
			err = fmt.Errorf("the store has schema step %d, and its first use upgrades it to %d", step, latest)
		}
		return err
	})
	return err
}
