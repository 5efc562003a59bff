package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/pressly/goose/v3"

	"github.com/toolfold/toolfold/tools/script"
)

// Script returns the store of the script family.
func (db *DB) Script() script.Store { return scriptStore{db} }

// scriptStore implements [script.Store].
type scriptStore struct{ db *DB }

// scriptRow is the JSON of a script without its code and rights.
type scriptRow struct {
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	Digest      string          `json:"digest"`
}

// lockScripts lets one transaction at a time change scripts, so that it can count them.
var lockScripts = map[goose.Dialect]string{goose.DialectPostgres: `LOCK TABLE scripts IN EXCLUSIVE MODE`}

func (s scriptStore) Put(ctx context.Context, workspace, name string,
	decide func(old *script.Script, count int) (script.Script, error)) error {
	return s.db.transact(ctx, func(t executor) error {
		if lock := lockScripts[t.dialect.name]; lock != "" {
			if _, err := t.exec(ctx, lock); err != nil {
				return err
			}
		}
		count, err := scalar[int](ctx, t, sqlf(`SELECT count(*) FROM scripts WHERE workspace = ?`, []byte(workspace)))
		if err != nil {
			return err
		}
		old, found, err := first(ctx, t, sqlf(selectScripts+` WHERE workspace = ? AND name = ?`, []byte(workspace), name), scanScript)
		if err != nil {
			return err
		}
		var present *script.Script
		if found {
			present = &old
		}
		next, err := decide(present, count)
		if err != nil {
			return err
		}
		details, err := json.Marshal(scriptRow{next.Description, next.InputSchema, next.Digest})
		if err != nil {
			return fmt.Errorf("encoding script: %w", err)
		}
		_, err = t.exec(ctx, `INSERT INTO scripts (workspace, name, details, code, rights, saved_at) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (workspace, name) DO UPDATE
				SET details = excluded.details, code = excluded.code, rights = excluded.rights, saved_at = excluded.saved_at`,
			[]byte(workspace), name, details, []byte(next.Code), next.Rights, next.SavedAt.UnixMicro())
		return err
	})
}

const selectScripts = `SELECT name, details, code, rights, saved_at FROM scripts`

func scanScript(rows *sql.Rows) (s script.Script, err error) {
	var row scriptRow
	err = rows.Scan(&s.Name, fromJSON{&row}, &s.Code, &s.Rights, micros{&s.SavedAt})
	s.Description, s.InputSchema, s.Digest = row.Description, row.InputSchema, row.Digest
	return s, err
}

func (s scriptStore) Get(ctx context.Context, workspace, name string) (found script.Script, has bool, err error) {
	return byKey(ctx, s.db, sqlf(selectScripts+` WHERE workspace = ? AND name = ?`, []byte(workspace), name), scanScript)
}

func (s scriptStore) All(ctx context.Context, workspace string) ([]script.Script, error) {
	return all(ctx, s.db.reader(), sqlf(selectScripts+` WHERE workspace = ?`, []byte(workspace)), scanScript)
}

func (s scriptStore) Remove(ctx context.Context, workspace, name string) (removed bool, err error) {
	n, err := s.db.writer().exec(ctx, `DELETE FROM scripts WHERE workspace = ? AND name = ?`, []byte(workspace), name)
	return n > 0, err
}
