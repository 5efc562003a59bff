package queue

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
)

// Jobs is River on one database: what inserts jobs, and what runs them.
type Jobs struct {
	inserter *river.Client[*sql.Tx]
	bell     *bell

	// connect makes a client that works. Its second result lets go of what
	// belongs to the client.
	connect func(ctx context.Context, c *river.Config) (runner, func(), error)
}

// runner is a River client that works, whatever its transactions are.
type runner interface {
	Start(context.Context) error
	Stop(context.Context) error
	StopAndCancel(context.Context) error
	Queues() *river.QueueBundle
	JobList(context.Context, *river.JobListParams) (*river.JobListResult, error)
}

// Job is a job to insert.
type Job struct {
	Ticket
	QueueID  string
	Priority string
}

// ticketArgs are the arguments of a job.
type ticketArgs struct{ Ticket }

// Kind implements [river.JobArgs].
func (ticketArgs) Kind() string { return "toolfold_task" }

// OnSQLite is River on a SQLite database. The pool has one connection.
func OnSQLite(pool *sql.DB) (*Jobs, error) {
	b := &bell{}
	driver := ringing{sqliteDriver(pool), b}
	inserter, err := river.NewClient(driver, inserting())
	if err != nil {
		return nil, err
	}
	connect := func(_ context.Context, c *river.Config) (runner, func(), error) {
		client, err := river.NewClient(driver, c)
		return client, func() {}, err
	}
	return &Jobs{inserter: inserter, bell: b, connect: connect}, nil
}

// OnPostgres is River on a PostgreSQL database. Jobs are inserted over the
// pool; a worker opens connections of its own, as it listens on one of them.
func OnPostgres(pool *sql.DB, config *pgx.ConnConfig) (*Jobs, error) {
	inserter, err := river.NewClient(riverdatabasesql.New(pool), inserting())
	if err != nil {
		return nil, err
	}
	connect := func(ctx context.Context, c *river.Config) (runner, func(), error) {
		own, err := workerPool(ctx, config)
		if err != nil {
			return nil, nil, err
		}
		client, err := river.NewClient(riverpgxv5.New(own), c)
		if err != nil {
			own.Close()
			return nil, nil, err
		}
		return client, own.Close, nil
	}
	return &Jobs{inserter: inserter, connect: connect}, nil
}

// workerConnections is how many connections River takes to work: one listens,
// the others fetch and complete.
const workerConnections = 4

func workerPool(ctx context.Context, config *pgx.ConnConfig) (*pgxpool.Pool, error) {
	settings, err := pgxpool.ParseConfig("")
	if err != nil {
		return nil, err
	}
	settings.ConnConfig = config.Copy()
	settings.MaxConns = workerConnections
	return pgxpool.NewWithConfig(ctx, settings)
}

// MigrateSQLite brings River's tables in a SQLite database up to date.
func MigrateSQLite(ctx context.Context, pool *sql.DB) error {
	return migrate(ctx, sqliteDriver(pool))
}

// MigratePostgres brings River's tables in a PostgreSQL database up to date.
func MigratePostgres(ctx context.Context, pool *sql.DB) error {
	return migrate(ctx, riverdatabasesql.New(pool))
}

func migrate(ctx context.Context, driver riverdriver.Driver[*sql.Tx]) error {
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: silent()})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("upgrading tables of the queue: %w", err)
	}
	return nil
}

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

// inserting is the configuration of a client that only inserts.
func inserting() *river.Config {
	return &river.Config{
		Logger: silent(), FetchCooldown: fetchCooldown, MaxAttempts: maxDeliveries,
		Hooks: []rivertype.Hook{river.HookInsertBeginFunc(backdate)},
	}
}

// maxDeliveries is how often River may bring a job before it gives up on it.
const maxDeliveries = 1000

// Insert writes jobs in a transaction. Once that is committed, call Announce.
func (j *Jobs) Insert(ctx context.Context, tx *sql.Tx, jobs []Job) error {
	for part := range slices.Chunk(jobs, 1000) {
		params := make([]river.InsertManyParams, len(part))
		for i, job := range part {
			params[i] = river.InsertManyParams{Args: ticketArgs{job.Ticket}, InsertOpts: options(job)}
		}
		if _, err := j.inserter.InsertManyTx(ctx, tx, params); err != nil {
			return fmt.Errorf("inserting jobs: %w", err)
		}
	}
	return nil
}

// Announce tells the workers of this process that jobs were committed, where
// the database does not tell them.
func (j *Jobs) Announce(jobs []Job) {
	if j.bell == nil {
		return
	}
	var rung []string
	for _, job := range jobs {
		if !slices.Contains(rung, job.QueueID) {
			rung = append(rung, job.QueueID)
			j.bell.ring(job.QueueID)
		}
	}
}

// River has four priorities and we have five: low and background share the
// last, in which jobs with an earlier time come first.
const lastPriority = 4

func options(job Job) *river.InsertOpts {
	rank := 1 + slices.Index(Priorities(), job.Priority)
	opts := &river.InsertOpts{Queue: job.QueueID, Priority: min(rank, lastPriority)}
	if job.Priority == Low {
		opts.Metadata = lowMark
	}
	return opts
}

var lowMark = []byte(`{"low":true}`)

// headStart is how much earlier a low job's time is than that of a background
// job.
const headStart = 100 * 365 * 24 * time.Hour

// backdate puts low jobs before background ones.
func backdate(_ context.Context, params *rivertype.JobInsertParams) error {
	if slices.Equal(params.Metadata, lowMark) {
		params.ScheduledAt = new(time.Now().Add(-headStart))
	}
	return nil
}
