package queue

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// How River is set up. What the ledger knows better is left to it: River's
// own rescuer, retries and schedule only ever meet jobs whose ticket is void.
const (
	fetchCooldown = 5 * time.Millisecond   // least time between fetches of a queue
	fetchPoll     = 500 * time.Millisecond // where no notification came
	jobsKept      = 5 * time.Minute        // that are done
	rescueAfter   = 10 * time.Minute
)

func (s *shift) connect(ctx context.Context) (runner, func(), error) {
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, river.WorkFunc(s.deliver)); err != nil {
		return nil, nil, err
	}
	limits, err := s.limits(ctx)
	if err != nil {
		return nil, nil, err
	}
	config := &river.Config{
		ID: s.id, Logger: quiet(s.options.Log), Workers: workers, Queues: map[string]river.QueueConfig{},
		FetchCooldown: fetchCooldown, FetchPollInterval: fetchPoll,
		JobTimeout: -1, MaxAttempts: maxDeliveries, RescueStuckJobsAfter: rescueAfter, RetryPolicy: soon{},
		CompletedJobRetentionPeriod: jobsKept, CancelledJobRetentionPeriod: jobsKept, DiscardedJobRetentionPeriod: jobsKept,
	}
	for _, l := range limits {
		config.Queues[l.QueueID] = river.QueueConfig{MaxWorkers: l.Most}
		s.queues[l.QueueID] = l.Most
	}
	return s.ledger.Jobs().connect(ctx, config)
}

// limits are the queues, the default one among them also where nobody has
// used it yet.
func (s *shift) limits(ctx context.Context) ([]Limit, error) {
	limits, err := s.ledger.Limits(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range limits {
		if l.QueueID == Default {
			return limits, nil
		}
	}
	return append(limits, Limit{QueueID: Default, Most: DefaultConcurrency}), nil
}

// addQueues has the client work queues that were made since.
func (s *shift) addQueues(ctx context.Context) error {
	limits, err := s.ledger.Limits(ctx)
	if err != nil {
		return err
	}
	for _, l := range limits {
		if _, known := s.queues[l.QueueID]; known {
			continue
		}
		if err := s.client.Queues().Add(l.QueueID, river.QueueConfig{MaxWorkers: l.Most}); err != nil {
			return err
		}
		s.queues[l.QueueID] = l.Most
	}
	return nil
}

// unused lists the tickets of jobs that a client fetched a while ago. Most of
// them were used at once; the others went down with their process.
func (s *shift) unused(ctx context.Context) ([]Ticket, error) {
	list, err := s.client.JobList(ctx, river.NewJobListParams().
		Kinds(ticketArgs{}.Kind()).States(rivertype.JobStateRunning).First(listed))
	if err != nil {
		return nil, err
	}
	fetchedBefore := time.Now().Add(-unusedFor)
	var tickets []Ticket
	for _, job := range list.Jobs {
		if job.AttemptedAt == nil || job.AttemptedAt.After(fetchedBefore) {
			continue
		}
		t, err := parseTicket(job.EncodedArgs)
		if err != nil {
			return nil, err
		}
		if !s.held.has(t) {
			tickets = append(tickets, t)
		}
	}
	return tickets, nil
}

// unusedFor is how old a job has to be to count as unused. Claims that come
// later are refused, so it need not be long.
const unusedFor = 5 * time.Second

// listed is how many jobs are looked at in one go.
const listed = 1000

// soon is River's retry policy: a job only fails when the database did.
type soon struct{}

// NextRetry implements [river.ClientRetryPolicy].
func (soon) NextRetry(*rivertype.JobRow) time.Time { return time.Now().Add(time.Second) }

// quiet passes on River's errors only. What it warns of, the ledger copes
// with, and on its way out it reports what was cut off as failed.
func quiet(log *slog.Logger) *slog.Logger {
	return slog.New(atLeast{log.Handler()})
}

type atLeast struct{ slog.Handler }

// Enabled implements [slog.Handler].
func (h atLeast) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError && ctx.Err() == nil && h.Handler.Enabled(ctx, level)
}

// WithAttrs implements [slog.Handler].
func (h atLeast) WithAttrs(attrs []slog.Attr) slog.Handler {
	return atLeast{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h atLeast) WithGroup(name string) slog.Handler { return atLeast{h.Handler.WithGroup(name)} }

// again is how soon a job is brought again that cannot be started yet.
const again = time.Second

// deliver runs the task of a job. It returns nil also for a ticket that is no
// longer good: the job has done what it was for.
func (s *shift) deliver(ctx context.Context, job *river.Job[ticketArgs]) error {
	defer s.held.claims(job.Args.Ticket)()
	task, claim, err := s.ledger.Start(ctx, job.Args.Ticket, s.id, s.options.Now())
	switch {
	case err != nil && ctx.Err() == nil:
		s.options.Log.Error("starting a task", "task", job.Args.TaskID, "err", err)
		return river.JobSnooze(again)
	case err != nil:
		return errors.Join(err, ctx.Err())
	case claim == Claimed:
		s.run(ctx, task)
	case claim == ClaimSoon:
		return river.JobSnooze(again)
	}
	return nil
}
