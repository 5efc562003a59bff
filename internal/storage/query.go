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

// maxAttempts bounds how often a transaction or a query is tried that failed
// because of another transaction or of a connection that was lost.
const maxAttempts = 5

// answerWithin bounds how long the database may take for a query or a
// transaction.
const answerWithin = time.Minute

// querier is a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// executor runs statements: in a transaction, or on a pool, where each one is
// a transaction of its own.
type executor struct {
	querier
	dialect    dialect
	statements *statements
	repeats    bool         // queries are tried again, as none of them changes anything
	there      func() error // fails where what is written would be lost, see [kept]; nil = it is not
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
	ready  *statements // of the pool, which a transaction uses too; nil for a pool
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

// keep prepares the statements of a transaction that is done for the next ones:
// preparing one takes longer than most of them do. Those with a list are not kept, as
// they have a text for each of its lengths.
func (s *statements) keep(ctx context.Context, pool *sql.DB, of *statements) {
	of.byText.Range(func(text, _ any) bool {
		if strings.Contains(text.(string), listBegin) {
			return true
		}
		_, err := s.get(ctx, pool, text.(string))
		return err == nil // the next transaction prepares them where this did not
	})
}

// hiddenLimit hides the value of a limit from SQLite's planner. SQLite looks at that
// of a bare parameter, and then prepares the statement anew for each execution, which
// takes longer than most of ours.
const hiddenLimit = "LIMIT CAST(? AS INTEGER)"

// reader reads outside of a transaction.
func (db *DB) reader() executor { return db.reads }

// writer runs single statements, each of which is its own transaction.
func (db *DB) writer() executor { return db.writes }

// transact runs do in a transaction, again when it failed because of another
// one or of a connection that was lost: do must have no other effects. A
// commit whose answer was lost is not repeated.
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

// commitError is the error of a commit: whether it took effect is unknown
// when the connection was lost.
type commitError struct{ error }

func (e commitError) Unwrap() error { return e.error }

// repeat calls do within the time that the database has to answer, and again
// where that may help. It returns errors that a user can mend in words that a
// caller may see.
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
		select { // a server that restarts needs a moment
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

// checkTexts refuses texts that PostgreSQL cannot keep, on both databases.
// Only ids and positions in lists are texts; what callers choose freely is
// passed as bytes.
func checkTexts(args []any) error {
	for _, arg := range args {
		if text, ok := arg.(string); ok && (!utf8.ValidString(text) || strings.ContainsRune(text, 0)) {
			return toolfold.Errorf(toolfold.InvalidInput, "an id or a cursor has characters that no id or cursor has").
				WithHint("pass ids and cursors as they were returned")
		}
	}
	return nil
}

// all runs a query and reads every row with scan. No rows are an empty list,
// never nil. It always reads to the end: SQLite reports that a statement with
// RETURNING could not be committed only there.
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

// first runs a query and reads its first row; found is false where there is
// none.
func first[T any](ctx context.Context, e executor, q query, scan func(*sql.Rows) (T, error)) (item T, found bool, err error) {
	list, err := all(ctx, e, q, scan)
	if err != nil || len(list) == 0 {
		return item, false, err
	}
	return list[0], true, nil
}

// byKey reads the row of a whole key, outside of a transaction; found is false
// where there is none. In this process it is read to the end, whatever becomes
// of ctx meanwhile.
func byKey[T any](ctx context.Context, db *DB, q query, scan func(*sql.Rows) (T, error)) (item T, found bool, err error) {
	if err := ctx.Err(); err != nil {
		return item, false, err
	}
	if db.dialect.inProcess {
		ctx = context.WithoutCancel(ctx)
	}
	return first(ctx, db.reader(), q, scan)
}

// scalar runs a query for a single value. No row is the error sql.ErrNoRows.
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

// into reads rows into the places that columns lists of an item: a pointer for
// each column, or [micros], [orZero] or [fromJSON].
func into[T any](columns func(*T) []any) func(*sql.Rows) (T, error) {
	return func(rows *sql.Rows) (item T, err error) {
		err = rows.Scan(columns(&item)...)
		return item, err
	}
}

// micros is the place of a time that is kept in microseconds. NULL is the zero time.
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

// zeroable is the place of a column that may be NULL.
type zeroable[T any] struct{ to *T }

// orZero returns a place in which NULL is the zero value.
func orZero[T any](to *T) zeroable[T] { return zeroable[T]{to} }

// Scan implements [sql.Scanner].
func (z zeroable[T]) Scan(column any) error {
	var n sql.Null[T]
	err := n.Scan(column)
	*z.to = n.V
	return err
}

// fromJSON is the place of a value that is kept as JSON. NULL leaves it as it is.
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

// query is a statement that is put together of fixed pieces, with the
// arguments of each.
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

// among is a condition that a column has one of the values, of which there is
// at least one.
func among[V any](column string, values []V) query {
	q := query{text: column + listBegin + strings.Repeat(", ?", len(values)-1) + ")"}
	for _, v := range values {
		q.args = append(q.args, v)
	}
	return q
}

// Values as both databases keep them.

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

// maybeText returns nil, which is NULL, for nil: drivers differ in how they
// take a nil slice.
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
