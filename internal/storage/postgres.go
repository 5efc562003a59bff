package storage

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/toolfold/toolfold/internal/storage/queue"
)

var postgresDialect = dialect{
	name:             goose.DialectPostgres,
	schema:           "schema/postgres",
	numbered:         true,
	cachesStatements: true,

	repeatable: func(err error) bool {
		failure, _ := errors.AsType[*pgconn.PgError](err)
		if failure != nil && (failure.Code == deadlock || failure.Code == serialization) {
			return true
		}
		_, committing := errors.AsType[commitError](err)
		return !committing && (lost(err) || failure != nil && failure.Code == startingUp || refused(err))
	},
	fault: postgresFault,

	clock:     `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`,
	keepKey:   ` FOR KEY SHARE`,
	share:     ` FOR SHARE`,
	lockNoKey: ` FOR NO KEY UPDATE`,
	lock:      ` FOR UPDATE`,
	mark: []string{
		`SELECT last_value::text FROM store_changes`,
		// The transactions that have counted a change and not committed it.
		`SELECT COALESCE(string_agg(virtualtransaction, ' ' ORDER BY virtualtransaction), '') FROM pg_locks
			WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database())
			AND relation = 'store_changes'::regclass AND mode = 'RowExclusiveLock'`,
	},
	jobWorker:    `attempted_by[cardinality(attempted_by)]`,
	migrateQueue: queue.MigratePostgres,
}

// Codes of PostgreSQL.
const (
	deadlock      = "40P01"
	serialization = "40001"
	startingUp    = "57P03"
)

// lost reports whether a connection was lost.
func lost(err error) bool {
	if failure, ok := errors.AsType[*pgconn.PgError](err); ok {
		return failure.Code == "57P01" || failure.Code == "57P02" || strings.HasPrefix(failure.Code, "08")
	}
	_, network := errors.AsType[*net.OpError](err)
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	return !connecting && (network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, sql.ErrTxDone) ||
		strings.HasSuffix(err.Error(), "conn closed"))
}

// refused reports whether no server listens at the address, for example during a restart.
func refused(err error) bool {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	return connecting && strings.Contains(err.Error(), "connection refused")
}

// postgresFault recognizes errors that a user can fix.
func postgresFault(err error) *fault {
	failure, isReply := errors.AsType[*pgconn.PgError](err)
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	switch {
	case isReply && (strings.HasPrefix(failure.Code, "28")):
		return &fault{unavailable("PostgreSQL refused the user or the password").
			WithHint("mend the user and the password of the store's URL"), err}
	case isReply && failure.Code == "3D000":
		return &fault{unavailable("PostgreSQL has no such database").WithHint("create it, or mend the store's URL"), err}
	case isReply && failure.Code == "53300":
		return &fault{unavailable("PostgreSQL takes no more connections").WithHint("call again in a moment, or raise max_connections"), err}
	case isReply && failure.Code == "53100":
		return &fault{unavailable("the disk of PostgreSQL is full; nothing was changed").WithHint("free some space on it, then call again"), err}
	case isReply && failure.Code == "25006":
		return &fault{unavailable("PostgreSQL only lets this database be read").WithHint("use the primary server in the store's URL"), err}
	case isReply && failure.Code == "42501":
		return &fault{unavailable("the user of the store's URL may not use its tables").
			WithHint("grant the user its rights in PostgreSQL, or use another user"), err}
	case isReply && failure.Code == startingUp:
		return &fault{unavailable("PostgreSQL is starting or stopping").WithHint("call again in a moment"), err}
	case connecting && !isReply:
		return &fault{unavailable("PostgreSQL cannot be reached").
			WithHint("look whether it runs and whether the store's URL is right, then call again"), err}
	case lost(err):
		return &fault{unavailable("the connection to PostgreSQL was lost").WithHint("look whether the change was made, then call again"), err}
	}
	return nil
}

// schemaLock is the advisory lock under which the schema is upgraded. The
// number is toolfold's own and must stay the same for ever.
const schemaLock = 0x746f6f6c666f6c64

// openPostgres connects to a server. Anything that libpq understands may be
// in the URL, such as sslmode and search_path. A password that is not in the
// URL is used only with ambient credentials.
func openPostgres(ctx context.Context, address string, ambientCredentials bool) (*DB, error) {
	config, err := postgresConfig(address, ambientCredentials)
	if err != nil {
		return nil, err
	}
	// An idle connection is checked before use: a restart of the server is noticed before a
	// statement that must not be repeated.
	pool := stdlib.OpenDB(*config, stdlib.OptionShouldPing(func(_ context.Context, p stdlib.ShouldPingParams) bool {
		return p.IdleDuration > 50*time.Millisecond
	}))
	pool.SetMaxOpenConns(max(8, 2*runtime.GOMAXPROCS(0)))
	pool.SetMaxIdleConns(4)
	db := newDB(postgresDialect, pool, pool)
	db.river = sync.OnceValues(func() (*queue.Jobs, error) { return queue.OnPostgres(pool, config) })
	if err := preparePostgres(ctx, db); err != nil {
		return nil, errors.Join(db.dialect.explain(err), pool.Close())
	}
	return db, nil
}

func postgresConfig(address string, ambientCredentials bool) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		// The driver's error quotes the URL.
		return nil, errors.New("the postgres URL is not valid; it is not shown, as it may hold a password")
	}
	named := false
	if u, err := url.Parse(address); err == nil {
		_, named = u.User.Password()
		named = named || u.Query().Has("password")
	}
	if !ambientCredentials && !named {
		config.Password = ""
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 10 * time.Second
	}
	return config, nil
}

// preparePostgres upgrades the schema under a lock of the whole database. The
// lock ends with its connection, so that a process that dies blocks no other.
func preparePostgres(ctx context.Context, db *DB) (err error) {
	conn, err := db.write.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connecting to PostgreSQL: %w", err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", schemaLock); err != nil {
		return fmt.Errorf("locking schema: %w", err)
	}
	defer func() {
		_, failed := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", schemaLock)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("unlocking schema: %w", failed))
		}
	}()
	return upgrade(ctx, db.write, db.dialect, nil)
}
