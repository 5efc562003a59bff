package storage

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
)

// dialect holds the differences between the databases. Statements of one family that
// differ are in that family's file, by the dialect's name.
type dialect struct {
	name   goose.Dialect
	schema string // folder of the schema steps

	// inProcess is true if reading a row by its key takes microseconds, less than watching a
	// context.
	inProcess bool

	// numbered parameters are $1, $2 instead of ?.
	numbered bool

	// cachesStatements is true if the driver caches statements by their text.
	cachesStatements bool

	// repeatable reports whether a transaction failed only because of another transaction or a lost
	// connection, and changed nothing.
	repeatable func(error) bool

	// fault returns the error for callers of a database error, nil if callers must not see it.
	fault func(error) *fault

	// clock is the time of the database, in microseconds since 1970, which is the same for all
	// processes.
	clock string

	// mark are the queries of [DB.Mark], in their order.
	mark []string

	// Clauses that lock the rows of a query until the transaction ends, from the weakest to the
	// strongest. They are empty if there is only one writing transaction at a time.
	keepKey, share, lockNoKey, lock string

	// jobWorker is the worker that last took a job of the durable queue.
	jobWorker string

	// migrateQueue brings the tables of the durable queue up to date.
	migrateQueue func(context.Context, *sql.DB) error
}

// rebind writes the parameters of a statement in the form of the database. Question marks in
// statements are always parameters.
func (d dialect) rebind(query string) string {
	if !d.numbered {
		return query
	}
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, found := strings.Cut(query, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("$" + strconv.Itoa(n))
		query = after
	}
}

// bytesHave is the place of the bytes of a parameter in the bytes of a column, from 1;
// 0 if the column does not have them.
var bytesHave = map[goose.Dialect]func(column string) string{
	goose.DialectSQLite3:  func(column string) string { return `instr(` + column + `, ?)` },
	goose.DialectPostgres: func(column string) string { return `position(? in ` + column + `)` },
}

// wordIn is the condition that a column has the bytes of a parameter; A to Z are equal to a to z.
var wordIn = map[goose.Dialect]func(column string) string{
	goose.DialectSQLite3: func(column string) string {
		return `instr(lower(CAST(` + column + ` AS TEXT)), lower(CAST(? AS TEXT))) > 0`
	},
	// A text cannot hold all bytes, so it has them escaped while it is made lower case: as digits, which have no case.
	goose.DialectPostgres: func(column string) string {
		lower := func(bytes string) string {
			return `decode(lower(encode(` + bytes + `, 'escape') COLLATE "C"), 'escape')`
		}
		return `position(` + lower(`CAST(? AS bytea)`) + ` in ` + lower(column) + `) > 0`
	},
}
