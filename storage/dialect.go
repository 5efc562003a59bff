package storage

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/toolfold/toolfold/tools/memory"
)

// dialect is what differs between the databases.
type dialect struct {
	goose  goose.Dialect
	schema string // folder of the schema steps

	// numbered parameters are $1, $2 instead of ?.
	numbered bool

	// preparesItself says that the driver remembers statements by their text.
	preparesItself bool

	// again tells whether a transaction failed only because of another one
	// that ran at the same time.
	again func(error) bool

	// clock is the time of the database, in microseconds since 1970. It is
	// one for all processes, whatever their own clocks say.
	clock string

	// share and lock, after a query, keep its rows from being changed by
	// others while the transaction lasts. They are empty where a transaction
	// that writes is alone.
	share, lock string

	// migrateQueue brings the tables of the durable queue up to date.
	migrateQueue func(context.Context, *sql.DB) error

	// memoryMatches selects the id of each memory entry that matches what
	// matchText returns, its parameter.
	memoryMatches string

	// matchText writes a condition on words the way memoryMatches takes it.
	matchText func(memory.Match) string
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

// joinWords writes words with a mark after the beginnings of words. Words have
// no quotes in them, see [memory.Word].
func joinWords(m memory.Match, quote, prefix, and string) string {
	parts := make([]string, len(m))
	for i, w := range m {
		parts[i] = quote + w.Text + quote
		if w.Prefix {
			parts[i] += prefix
		}
	}
	return strings.Join(parts, and)
}
