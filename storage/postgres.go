package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/toolfold/toolfold/engine/queue"
	"github.com/toolfold/toolfold/tools/memory"
)

var postgresDialect = dialect{
	goose:    goose.DialectPostgres,
	schema:   "schema/postgres",
	numbered: true,

	preparesItself: true,

	again: func(err error) bool {
		var told *pgconn.PgError
		return errors.As(err, &told) && (told.Code == deadlock || told.Code == serialization)
	},

	clock:        `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`,
	share:        ` FOR SHARE`,
	lock:         ` FOR UPDATE`,
	migrateQueue: queue.MigratePostgres,

	memoryMatches: `SELECT id FROM memory WHERE lexemes @@ ?::tsquery`,
	matchText: func(m memory.Match) string {
		return joinWords(m, "'", ":*", " & ")
	},
}

// Codes of PostgreSQL.
const (
	deadlock      = "40P01"
	serialization = "40001"
)

// schemaLock is the advisory lock under which the schema is upgraded. The
// number is toolfold's own and must stay the same for ever.
const schemaLock = 0x746f6f6c666f6c64

// openPostgres connects to a server. Anything that libpq understands may be
// in the URL, such as sslmode and search_path.
func openPostgres(ctx context.Context, address string) (*DB, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		// The driver's words quote the URL.
		return nil, errors.New("the postgres URL is not valid; it is not shown, as it may hold a password")
	}
	pool := stdlib.OpenDB(*config)
	pool.SetMaxOpenConns(max(8, 2*runtime.GOMAXPROCS(0)))
	pool.SetMaxIdleConns(4)
	db := newDB(postgresDialect, pool, pool)
	db.river = sync.OnceValues(func() (*queue.Jobs, error) { return queue.OnPostgres(pool, config) })
	if err := preparePostgres(ctx, db); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return db, nil
}

// preparePostgres upgrades the schema under a lock of the whole database. The
// lock ends with its connection, so that a process that dies holds up nobody.
func preparePostgres(ctx context.Context, db *DB) (err error) {
	conn, err := db.write.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connecting to PostgreSQL: %w", err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", schemaLock); err != nil {
		return fmt.Errorf("locking schema: %w", err)
	}
	defer func() { err = errors.Join(err, unlockSchema(ctx, conn)) }()
	return upgrade(ctx, db.write, db.dialect)
}

func unlockSchema(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", schemaLock)
	if err != nil {
		return fmt.Errorf("unlocking schema: %w", err)
	}
	return nil
}
