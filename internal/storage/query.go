package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/toolfold/toolfold"
)

// maxAttempts limits the attempts of a transaction or query that fails because of another
// transaction or a lost connection.
const maxAttempts = 5

// answerWithin limits the time of a query or transaction.
const answerWithin = time.Minute

// querier is a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// executor runs statements in a transaction, or on a pool, each as a transaction of its own.
type executor struct {
	querier
	dialect    dialect
	statements *statements
	repeats    bool         // queries are repeated, because they change nothing
	there      func() error // fails if written data would be lost, see [openStore]; nil = no check
}

func newExecutor(q querier, d dialect) executor {
	return executor{querier: q, dialect: d, statements: &statements{}}
}

// statements caches prepared SQL statements for as long as their pool or
// transaction lasts. There are as many as there are different texts in this
// package, and those are few.
type statements struct {
	mu     sync.Mutex
	byText sync.Map    // *sql.Stmt by text
	ready  *statements // of the pool, also used by its transactions; nil for a pool
}

func (s *statements) get(ctx context.Context, q querier, text string) (*sql.Stmt, error) {
	if statement, ok := s.byText.Load(text); ok {
		return statement.(*sql.Stmt), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if statement, ok := s.byText.Load(text); ok {
		return statement.(*sql.Stmt), nil
	}
	statement, err := s.prepare(ctx, q, text)
	if err == nil {
		s.byText.Store(text, statement)
	}
	return statement, err
}

func (s *statements) prepare(ctx context.Context, q querier, text string) (*sql.Stmt, error) {
	if s.ready != nil {
		if statement, ok := s.ready.byText.Load(text); ok {
			return q.(*sql.Tx).StmtContext(ctx, statement.(*sql.Stmt)), nil
		}
	}
	return q.PrepareContext(ctx, strings.ReplaceAll(text, "LIMIT ?", hiddenLimit))
}

// keep prepares the statements of a finished transaction for later transactions: preparing takes
// longer than running most of them. Statements with a list are left out: they have a text for each
// length.
func (s *statements) keep(ctx context.Context, pool *sql.DB, of *statements) {
	of.byText.Range(func(text, _ any) bool {
		if strings.Contains(text.(string), listBegin) {
			return true
		}
		_, err := s.get(ctx, pool, text.(string))
		return err == nil // if this fails, the next transaction prepares them
	})
}

// hiddenLimit hides the value of a limit from SQLite's planner. SQLite looks at that
// of a bare parameter, and then prepares the statement anew for each execution, which
// takes longer than most of ours.
const hiddenLimit = "LIMIT CAST(? AS INTEGER)"

// reader returns the executor for queries outside of a transaction.
func (db *DB) reader() executor { return db.reads }

// writer returns the executor for single statements, each a transaction of its own.
func (db *DB) writer() executor { return db.writes }

// transact runs do in a transaction. It repeats it after a failure because of another transaction
// or a lost connection, so do must have no other effects. A commit with a lost answer is not
// repeated.
func (db *DB) transact(ctx context.Context, do func(executor) error) error {
	return repeat(ctx, db.dialect, true, func(ctx context.Context) error {
		t, err := db.write.BeginTx(ctx, nil)
		if err != nil {
			return fmt.Errorf("beginning transaction: %w", err)
		}
		e := newExecutor(t, db.dialect)
		e.statements.ready = db.writes.statements
		if err = do(e); err == nil && db.writes.there != nil {
			err = db.writes.there()
		}
		if err != nil {
			return errors.Join(err, t.Rollback())
		}
		if err := t.Commit(); err != nil {
			return commitError{err}
		}
		db.writes.statements.keep(ctx, db.write, e.statements)
		return nil
	})
}

// commitError is the error of a commit. If the connection was lost, the commit may have taken
// effect.
type commitError struct{ error }

func (e commitError) Unwrap() error { return e.error }

// repeat calls do within answerWithin, and repeats it if again is true and that may help. It
// converts errors that a user can fix to errors for callers.
func repeat(ctx context.Context, d dialect, again bool, do func(context.Context) error) error {
	limited, done := ctx, func() {}
	if !d.inProcess || ctx.Done() != nil {
		limited, done = context.WithTimeout(ctx, answerWithin)
	}
	defer done()
	var err error
	for attempt := range maxAttempts {
		if err = do(limited); err == nil || !again || !d.repeatable(err) || limited.Err() != nil {
			break
		}
		select { // a restarting server needs a moment
		case <-limited.Done():
		case <-time.After(time.Duration(attempt) * 100 * time.Millisecond):
		}
	}
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return &fault{unavailable("the store did not answer within a minute").WithHint("look whether the change was made, then call again"), err}
	}
	return d.explain(err)
}

// exec runs a statement and returns the number of rows that it changed.
func (e executor) exec(ctx context.Context, text string, args ...any) (changed int, err error) {
	if err := checkTexts(args); err != nil {
		return 0, err
	}
	if e.there != nil {
		if err := e.there(); err != nil {
			return 0, err
		}
	}
	err = repeat(ctx, e.dialect, false, func(ctx context.Context) (err error) {
		var result sql.Result
		if e.dialect.cachesStatements {
			result, err = e.ExecContext(ctx, e.dialect.rebind(text), args...)
		} else {
			var s *sql.Stmt
			if s, err = e.statements.get(ctx, e.querier, text); err == nil {
				result, err = s.ExecContext(ctx, args...)
			}
		}
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		changed = int(n)
		return err
	})
	return changed, err
}

func (e executor) query(ctx context.Context, q query) (*sql.Rows, error) {
	if e.dialect.cachesStatements {
		return e.QueryContext(ctx, e.dialect.rebind(q.text), q.args...)
	}
	s, err := e.statements.get(ctx, e.querier, q.text)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, q.args...)
}

// checkTexts rejects texts that PostgreSQL cannot store, on both databases. Only ids and positions
// in lists are texts; freely chosen values are passed as bytes.
func checkTexts(args []any) error {
	for _, arg := range args {
		if text, ok := arg.(string); ok && (!utf8.ValidString(text) || strings.ContainsRune(text, 0)) {
			return toolfold.Errorf(toolfold.InvalidInput, "an id or a cursor has characters that no id or cursor has").
				WithHint("pass ids and cursors as they were returned")
		}
	}
	return nil
}

// all runs a query and reads every row with scan. The list is never nil. It always reads to the
// end: SQLite reports that a statement with RETURNING could not be committed only there.
func all[T any](ctx context.Context, e executor, q query, scan func(*sql.Rows) (T, error)) (list []T, err error) {
	if err := checkTexts(q.args); err != nil {
		return nil, err
	}
	if e.there != nil {
		if err := e.there(); err != nil {
			return nil, err
		}
	}
	err = repeat(ctx, e.dialect, e.repeats, func(ctx context.Context) error {
		rows, err := e.query(ctx, q)
		if err != nil {
			return err
		}
		defer rows.Close()
		list = []T{}
		for rows.Next() {
			item, err := scan(rows)
			if err != nil {
				return err
			}
			list = append(list, item)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// first runs a query and reads its first row; found is false if there is no row.
func first[T any](ctx context.Context, e executor, q query, scan func(*sql.Rows) (T, error)) (item T, found bool, err error) {
	list, err := all(ctx, e, q, scan)
	if err != nil || len(list) == 0 {
		return item, false, err
	}
	return list[0], true, nil
}

// byKey reads the row with a key, outside of a transaction; found is false if there is no row. An
// in-process database is read to the end even if ctx ends.
func byKey[T any](ctx context.Context, db *DB, q query, scan func(*sql.Rows) (T, error)) (item T, found bool, err error) {
	if err := ctx.Err(); err != nil {
		return item, false, err
	}
	if db.dialect.inProcess {
		ctx = context.WithoutCancel(ctx)
	}
	return first(ctx, db.reader(), q, scan)
}

// scalar runs a query for a single value. It returns sql.ErrNoRows if there is no row.
func scalar[T any](ctx context.Context, e executor, q query) (value T, err error) {
	value, found, err := first(ctx, e, q, only[T])
	if err == nil && !found {
		err = sql.ErrNoRows
	}
	return value, err
}

// only reads a row of one column.
func only[T any](rows *sql.Rows) (value T, err error) {
	err = rows.Scan(&value)
	return value, err
}

// into reads rows into the destinations that columns returns: a pointer for each column, or
// [micros], [orZero] or [fromJSON].
func into[T any](columns func(*T) []any) func(*sql.Rows) (T, error) {
	return func(rows *sql.Rows) (item T, err error) {
		err = rows.Scan(columns(&item)...)
		return item, err
	}
}

// micros is the destination of a time in microseconds. NULL is the zero time.
type micros struct{ to *time.Time }

// Scan implements [sql.Scanner].
func (m micros) Scan(column any) error {
	var n sql.Null[int64]
	err := n.Scan(column)
	if *m.to = (time.Time{}); n.Valid {
		*m.to = fromMicros(n.V)
	}
	return err
}

// zeroable is the destination of a column that may be NULL.
type zeroable[T any] struct{ to *T }

// orZero returns a destination in which NULL is the zero value.
func orZero[T any](to *T) zeroable[T] { return zeroable[T]{to} }

// Scan implements [sql.Scanner].
func (z zeroable[T]) Scan(column any) error {
	var n sql.Null[T]
	err := n.Scan(column)
	*z.to = n.V
	return err
}

// fromJSON is the destination of a value stored as JSON. NULL leaves the value unchanged.
type fromJSON struct{ to any }

// Scan implements [sql.Scanner].
func (f fromJSON) Scan(column any) error {
	switch text := column.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(text), f.to)
	case []byte:
		return json.Unmarshal(text, f.to)
	}
	return fmt.Errorf("%T is not JSON", column)
}

// query is a statement built from fixed pieces, with their arguments.
type query struct {
	text string
	args []any
}

func sqlf(text string, args ...any) query { return query{text, args} }

// and adds a piece.
func (q query) and(text string, args ...any) query {
	return query{q.text + " " + text, append(q.args[:len(q.args):len(q.args)], args...)}
}

// with adds another query.
func (q query) with(other query) query { return q.and(other.text, other.args...) }

// listBegin begins the list of a condition of among.
const listBegin = " IN (?"

// among is the condition that a column has one of the values. There must be at least one value.
func among[V any](column string, values []V) query {
	q := query{text: column + listBegin + strings.Repeat(", ?", len(values)-1) + ")"}
	for _, v := range values {
		q.args = append(q.args, v)
	}
	return q
}

// Values in the form that both databases store.

func bytesOf(texts []string) [][]byte {
	list := make([][]byte, len(texts))
	for i, text := range texts {
		list[i] = []byte(text)
	}
	return list
}

// number returns 1 for true and 0 for false.
func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func fromMicros(t int64) time.Time { return time.UnixMicro(t).UTC() }

// maybeText returns nil, which is NULL, for nil: drivers treat nil slices differently.
func maybeText(text []byte) any {
	if text == nil {
		return nil
	}
	return text
}

// maybeBytes returns nil, which is NULL, for no text.
func maybeBytes(text string) any {
	if text == "" {
		return nil
	}
	return []byte(text)
}

// maybeID returns nil, which is NULL, for no id.
func maybeID(id string) any {
	if id == "" {
		return nil
	}
	return id
}

// maybeMicros returns nil for the zero time.
func maybeMicros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}
