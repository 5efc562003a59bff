package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
)

// maxAttempts is how often a transaction is tried that the database gave up
// on because of another one.
const maxAttempts = 5

// querier is a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// tx is a transaction, or a pool whose every statement is a transaction of
// its own, with the dialect of its database.
type tx struct {
	querier
	dialect dialect
	ready   *prepared
}

func newTx(q querier, d dialect) tx {
	return tx{querier: q, dialect: d, ready: &prepared{statements: map[string]*sql.Stmt{}}}
}

// prepared keeps statements that are ready to run again, for as long as their
// pool or transaction lasts. There are as many as there are different texts
// in this package, and those are few.
type prepared struct {
	mu         sync.Mutex
	statements map[string]*sql.Stmt
}

func (p *prepared) statement(ctx context.Context, q querier, text string) (*sql.Stmt, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, ok := p.statements[text]; ok {
		return s, nil
	}
	s, err := q.PrepareContext(ctx, text)
	if err == nil {
		p.statements[text] = s
	}
	return s, err
}

// reader reads outside of a transaction.
func (db *DB) reader() tx { return db.reads }

// writer runs single statements, each of which is its own transaction.
func (db *DB) writer() tx { return db.writes }

// transact runs do in a transaction, again when the database chose it to
// resolve a deadlock: do must have no other effects.
func (db *DB) transact(ctx context.Context, do func(tx) error) error {
	var err error
	for range maxAttempts {
		err = db.attempt(ctx, do)
		if err == nil || !db.dialect.again(err) {
			return err
		}
	}
	return err
}

func (db *DB) attempt(ctx context.Context, do func(tx) error) error {
	t, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("beginning transaction: %w", err)
	}
	if err := do(newTx(t, db.dialect)); err != nil {
		return errors.Join(err, t.Rollback())
	}
	return t.Commit()
}

// exec runs a statement and returns how many rows it changed.
func (t tx) exec(ctx context.Context, text string, args ...any) (int, error) {
	result, err := t.run(ctx, sqlf(text, args...))
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

func (t tx) run(ctx context.Context, q query) (sql.Result, error) {
	if t.dialect.preparesItself {
		return t.ExecContext(ctx, t.dialect.rebind(q.text), q.args...)
	}
	s, err := t.ready.statement(ctx, t.querier, q.text)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(ctx, q.args...)
}

func (t tx) rows(ctx context.Context, q query) (*sql.Rows, error) {
	if t.dialect.preparesItself {
		return t.QueryContext(ctx, t.dialect.rebind(q.text), q.args...)
	}
	s, err := t.ready.statement(ctx, t.querier, q.text)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, q.args...)
}

// all runs a query and reads every row with scan. No rows are an empty list,
// never nil. It always reads to the end: SQLite reports that a statement with
// RETURNING could not be committed only there.
func all[T any](ctx context.Context, t tx, q query, scan func(*sql.Rows) (T, error)) ([]T, error) {
	rows, err := t.rows(ctx, q)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []T{}
	for rows.Next() {
		item, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, rows.Err()
}

// one runs a query for a single value. No row is the error sql.ErrNoRows.
func one[T any](ctx context.Context, t tx, q query) (value T, err error) {
	list, err := all(ctx, t, q, func(rows *sql.Rows) (v T, err error) {
		return v, rows.Scan(&v)
	})
	if err == nil && len(list) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return value, err
	}
	return list[0], nil
}

// query is a statement that is put together of fixed pieces, with the
// arguments of each.
type query struct {
	text string
	args []any
}

func sqlf(text string, args ...any) query {
	return query{text, args}
}

// and adds a piece.
func (q query) and(text string, args ...any) query {
	return query{q.text + " " + text, append(q.args[:len(q.args):len(q.args)], args...)}
}
