package queue

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/system/clock"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Codes of the queue tool.
const (
	Exists   = "QUEUE_EXISTS"
	NotFound = work.QueueNotFound
	InUse    = "QUEUE_IN_USE"
)

// MaxQueues is the maximum number of queues in a store.
const MaxQueues = 100

// Service runs the queue actions. It is safe for concurrent use, and several
// may share a store.
type Service struct {
	store Store
	now   func() time.Time
	newID func() string
}

// New returns a service on a store. newID makes UUIDs.
func New(store Store, now func() time.Time, newID func() string) *Service {
	return &Service{store: store, now: clock.Micros(now), newID: newID}
}

// Create makes a queue.
func (s *Service) Create(ctx context.Context, in CreateIn) (Queue, error) {
	if strings.TrimSpace(in.Name) == "" {
		return Queue{}, toolfold.Errorf(toolfold.InvalidInput, "name is empty").
			About(toolfold.ProblemRefused, "name").
			WithHint("tasks are submitted to a queue by its name; give it one")
	}
	q := Queue{
		ID: s.newID(), Name: in.Name, Description: in.Description, MaxConcurrency: in.MaxConcurrency,
		PerProcess: in.PerProcess, RatePerMinute: in.RatePerMinute, DefaultPriority: in.DefaultPriority, CreatedAt: s.now(),
	}
	created, err := s.store.Create(ctx, q, MaxQueues)
	switch {
	case err != nil:
		return Queue{}, fmt.Errorf("creating queue: %w", err)
	case created.Taken != "":
		return Queue{}, toolfold.Errorf(Exists, "there is a queue %q already, with queueId %s", shorten.Quoted(in.Name), created.Taken).
			WithHint("submit tasks to it, or choose another name")
	case created.Full:
		return Queue{}, toolfold.Errorf(toolfold.LimitReached, "there are %d queues, the maximum", MaxQueues).
			WithHint("use one of queue.list, or remove one with queue.remove")
	}
	return q, nil
}

// List lists queues, a page at a time.
func (s *Service) List(ctx context.Context, in ListIn) (ListOut, error) {
	after, err := in.Position("queue.list")
	if err != nil {
		return ListOut{}, err
	}
	page, err := s.store.List(ctx, Query{Limit: in.Limit + 1, After: after})
	if err != nil {
		return ListOut{}, fmt.Errorf("listing queues: %w", err)
	}
	queues, paged := toolfold.CutPage(page.Queues, in.Limit, func(last QueueCounts) string {
		return toolfold.Position{CreatedAt: last.CreatedAt, ID: last.ID}.Cursor()
	})
	out := ListOut{Queues: []Item{}, Total: page.Total, Paged: paged}
	for _, q := range queues {
		n := q.Counts
		q.Description = callctx.Brief(ctx, "queues.description", q.Description)
		out.Queues = append(out.Queues, Item{Queue: q.Queue, Stats: Stats{
			Pending: n[work.Pending], Queued: n[work.Queued], Running: n[work.Running], Paused: n[work.Paused],
			Completed: n[work.Completed], Failed: n[work.Failed], Cancelled: n[work.Cancelled], Timeout: n[work.TimedOut],
		}})
	}
	return out, nil
}

// Update changes a queue.
func (s *Service) Update(ctx context.Context, in UpdateIn) (Queue, error) {
	q, found, err := s.store.Update(ctx, in.QueueID, func(q *Queue) {
		set(&q.Description, in.Description)
		set(&q.MaxConcurrency, in.MaxConcurrency)
		set(&q.DefaultPriority, in.DefaultPriority)
		set(&q.PerProcess, in.PerProcess)
		set(&q.RatePerMinute, in.RatePerMinute)
	})
	if err != nil {
		return Queue{}, fmt.Errorf("updating queue: %w", err)
	}
	if !found {
		return Queue{}, notFound(in.QueueID)
	}
	return q, nil
}

// set sets value if update is not nil.
func set[V any](value, update *V) {
	if update != nil {
		*value = *update
	}
}

// Pause holds back the tasks of a queue.
func (s *Service) Pause(ctx context.Context, in QueueIn) (Queue, error) {
	return s.setPaused(ctx, in.QueueID, true)
}

// Resume lets the tasks of a queue run again.
func (s *Service) Resume(ctx context.Context, in QueueIn) (Queue, error) {
	return s.setPaused(ctx, in.QueueID, false)
}

func (s *Service) setPaused(ctx context.Context, idOrName string, paused bool) (Queue, error) {
	q, found, err := s.store.SetPaused(ctx, idOrName, paused)
	if err != nil {
		return Queue{}, fmt.Errorf("pausing or resuming queue: %w", err)
	}
	if !found {
		return Queue{}, notFound(idOrName)
	}
	return q, nil
}

// Remove removes a queue. All its tasks must have ended; they stay.
func (s *Service) Remove(ctx context.Context, in QueueIn) (RemoveOut, error) {
	if in.QueueID == work.DefaultQueue {
		return RemoveOut{}, toolfold.Errorf(InUse, "the default queue cannot be removed").
			WithHint("queue.pause holds back its tasks")
	}
	q, open, found, err := s.store.Remove(ctx, in.QueueID)
	switch {
	case err != nil:
		return RemoveOut{}, fmt.Errorf("removing queue: %w", err)
	case !found:
		return RemoveOut{}, notFound(in.QueueID)
	case open > 0:
		return RemoveOut{}, toolfold.Errorf(InUse, "%d tasks of queue %q have not ended", open, shorten.Quoted(q.Name)).
			WithHint("wait for them, or stop them with task.cancel and this queueId; schedules one by one, by their taskId")
	}
	return RemoveOut{QueueID: q.ID, Name: q.Name, Removed: true}, nil
}

func notFound(idOrName string) error {
	return toolfold.Errorf(NotFound, "there is no queue %q", shorten.Quoted(idOrName)).
		WithHint("queue.list shows those there are")
}
