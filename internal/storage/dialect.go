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

	// inProcess says that a row is read by its key in microseconds, less than it
	// takes to watch a context.
	inProcess bool

	// numbered parameters are $1, $2 instead of ?.
	numbered bool

	// cachesStatements says that the driver remembers statements by their
	// text.
	cachesStatements bool

	// repeatable reports whether a transaction failed only because of another
	// one, or of a connection that was lost, and changed nothing.
	repeatable func(error) bool

	// fault returns what a caller may be told of an error of the database, nil
	// for one that is none of the caller's business.
	fault func(error) *fault

	// clock is the time of the database, in microseconds since 1970. It is
	// one for all processes, whatever their own clocks say.
	clock string

	// Clauses after a query that keep its rows from being changed by others
	// while the transaction lasts, from the weakest to the strongest. They are
	// empty where a transaction that writes is alone.
	keepKey, share, lockNoKey, lock string

	// jobWorker is the worker that took a job of the durable queue last.
	jobWorker string

	// migrateQueue brings the tables of the durable queue up to date.
	migrateQueue func(context.Context, *sql.DB) error
}

// rebind writes the parameters of a statement the way the database takes
// them. No statement has a question mark that is something else.
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
