package queue

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
)

// River's settings.
const (
	slots        = 200         // runs of a process at once
	poll         = time.Second // in case a notification is lost
	jobRetention = time.Minute // after their end
	connections  = 4           // of a worker to PostgreSQL; one of them listens
)

// Jobs is River on one database: it inserts jobs, and runs them.
type Jobs struct {
	inserter *river.Client[*sql.Tx]

	// connect returns a client that runs jobs, and a function that releases its resources.
	connect func(context.Context, *river.Config) (client, func(), error)
}

// client is a River client for any type of transaction.
type client interface {
	Start(context.Context) error
	Stop(context.Context) error
	StopAndCancel(context.Context) error
}

// workArgs are the arguments of a job, which names no task: it announces that its queue's workspace
// has a ready task.
type workArgs struct{}

// Kind implements [river.JobArgs].
func (workArgs) Kind() string { return "toolfold_work" }

// OnSQLite returns River on a SQLite database. The pool has one connection.
func OnSQLite(pool *sql.DB) (*Jobs, error) {
	driver := riversqlite.New(pool)
	inserter, err := river.NewClient(driver, inserting())
	if err != nil {
		return nil, err
	}
	return &Jobs{inserter, func(_ context.Context, c *river.Config) (client, func(), error) {
		worker, err := river.NewClient(driver, c)
		return worker, func() {}, err
	}}, nil
}

// OnPostgres returns River on a PostgreSQL database. Jobs are inserted over the pool. A worker
// opens its own connections, because it listens on one of them.
func OnPostgres(pool *sql.DB, config *pgx.ConnConfig) (*Jobs, error) {
	inserter, err := river.NewClient(riverdatabasesql.New(pool), inserting())
	if err != nil {
		return nil, err
	}
	return &Jobs{inserter, func(ctx context.Context, c *river.Config) (client, func(), error) {
		settings, err := pgxpool.ParseConfig("")
		if err != nil {
			return nil, nil, err
		}
		settings.ConnConfig, settings.MaxConns = config.Copy(), connections
		own, err := pgxpool.NewWithConfig(ctx, settings)
		if err != nil {
			return nil, nil, err
		}
		worker, err := river.NewClient(riverpgxv5.New(own), c)
		if err != nil {
			own.Close()
			return nil, nil, err
		}
		return worker, own.Close, nil
	}}, nil
}

// inserting returns the settings of a client that inserts. It announces at most one job in each cooldown:
// a job within the usual one, 100 ms after another, would wait for the next poll.
func inserting() *river.Config {
	return &river.Config{Logger: silent(), FetchCooldown: river.FetchCooldownMin}
}

// MigrateSQLite brings River's tables in a SQLite database up to date.
func MigrateSQLite(ctx context.Context, pool *sql.DB) error {
	migrator, err := rivermigrate.New(riversqlite.New(pool), &rivermigrate.Config{Logger: silent()})
	if err != nil {
		return err
	}
	return migrate(ctx, migrator)
}

// MigratePostgres brings River's tables in a PostgreSQL database up to date.
func MigratePostgres(ctx context.Context, pool *sql.DB) error {
	migrator, err := rivermigrate.New(riverdatabasesql.New(pool), &rivermigrate.Config{Logger: silent()})
	if err != nil {
		return err
	}
	return migrate(ctx, migrator)
}

func migrate(ctx context.Context, migrator *rivermigrate.Migrator[*sql.Tx]) error {
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("upgrading tables of the queue: %w", err)
	}
	return nil
}

// silent discards River's log: a worker logs errors of the database itself.
func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Insert writes n jobs for a workspace in a transaction, at most slots.
func (j *Jobs) Insert(ctx context.Context, tx *sql.Tx, workspace string, n int) error {
	params := make([]river.InsertManyParams, min(n, slots))
	for i := range params {
		params[i] = river.InsertManyParams{Args: workArgs{}, InsertOpts: &river.InsertOpts{Queue: riverQueue(workspace)}}
	}
	if _, err := j.inserter.InsertManyTx(ctx, tx, params); err != nil {
		return fmt.Errorf("inserting jobs: %w", err)
	}
	return nil
}

// start runs do for each job of a workspace until the client is stopped. The caller must call
// release afterwards.
func (j *Jobs) start(ctx context.Context, worker, workspace string, do func(context.Context)) (c client, release func(), err error) {
	workers := river.NewWorkers()
	err = river.AddWorkerSafely(workers, river.WorkFunc(func(ctx context.Context, _ *river.Job[workArgs]) error {
		do(ctx)
		return nil
	}))
	if err != nil {
		return nil, nil, err
	}
	c, release, err = j.connect(ctx, &river.Config{
		ID: worker, Logger: silent(), Workers: workers,
		Queues:        map[string]river.QueueConfig{riverQueue(workspace): {MaxWorkers: slots}},
		FetchCooldown: 5 * time.Millisecond, FetchPollInterval: poll, JobTimeout: -1,
		CompletedJobRetentionPeriod: jobRetention, CancelledJobRetentionPeriod: jobRetention, DiscardedJobRetentionPeriod: jobRetention,
	})
	if err != nil {
		return nil, nil, err
	}
	// River must not see ctx end: it would stop without a grace period.
	if err := c.Start(context.WithoutCancel(ctx)); err != nil {
		release()
		return nil, nil, err
	}
	return c, release, nil
}

// riverQueue names the queue of a workspace in River's alphabet.
func riverQueue(workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	return "w" + hex.EncodeToString(sum[:16])
}
