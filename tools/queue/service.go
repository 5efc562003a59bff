package queue

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/toolfold/toolfold/tools"
)

// Codes of the queue tool.
const (
	Exists   = "QUEUE_EXISTS"
	NotFound = "QUEUE_NOT_FOUND"
)

// Service runs the queue actions. It is safe for concurrent use, and several
// may share a store.
type Service struct {
	store    Store
	now      func() time.Time
	newID    func() string
	prepared atomic.Bool // the default queue is there
}

// New returns a service on a store. newID makes UUIDs.
func New(store Store, now func() time.Time, newID func() string) *Service {
	return &Service{store: store, now: now, newID: newID}
}

// moment is the time now, as precise as stores keep it.
func (s *Service) moment() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// prepare makes the default queue, so that it is listed, and its name taken,
// from the first call on.
func (s *Service) prepare(ctx context.Context) error {
	if s.prepared.Load() {
		return nil
	}
	if err := s.store.AddDefaultQueue(ctx, s.moment()); err != nil {
		return fmt.Errorf("making the default queue: %w", err)
	}
	s.prepared.Store(true)
	return nil
}

// Create makes a queue.
func (s *Service) Create(ctx context.Context, in CreateIn) (Shown, error) {
	if err := s.prepare(ctx); err != nil {
		return Shown{}, err
	}
	q := Queue{
		ID: s.newID(), Name: in.Name, Description: in.Description, MaxConcurrency: in.MaxConcurrency,
		DefaultPriority: in.DefaultPriority, CreatedAt: s.moment(),
	}
	taken, err := s.store.Create(ctx, q)
	if err != nil {
		return Shown{}, fmt.Errorf("creating queue: %w", err)
	}
	if taken != "" {
		return Shown{}, tools.Errorf(Exists, "there is a queue %q already, with queueId %s", tools.Shorten(in.Name), taken).
			WithHint("submit tasks to it, or choose another name")
	}
	return q.shown(), nil
}

// List lists queues, a page at a time.
func (s *Service) List(ctx context.Context, in ListIn) (ListOut, error) {
	after, err := tools.ParseCursor(in.Cursor, "queue.list")
	if err != nil {
		return ListOut{}, err
	}
	if err := s.prepare(ctx); err != nil {
		return ListOut{}, err
	}
	page, err := s.store.List(ctx, Query{Limit: in.Limit + 1, After: after})
	if err != nil {
		return ListOut{}, fmt.Errorf("listing queues: %w", err)
	}
	out := ListOut{Queues: []Item{}, Total: page.Total}
	for i, q := range page.Queues {
		if i == in.Limit {
			out.HasMore = true
			out.NextCursor = positionOf(page.Queues[i-1].Queue).Cursor()
			break
		}
		out.Queues = append(out.Queues, q.item())
	}
	return out, nil
}

// Pause holds back the tasks of a queue.
func (s *Service) Pause(ctx context.Context, in QueueIn) (Shown, error) {
	return s.setPaused(ctx, in.QueueID, true)
}

// Resume lets the tasks of a queue run again.
func (s *Service) Resume(ctx context.Context, in QueueIn) (Shown, error) {
	return s.setPaused(ctx, in.QueueID, false)
}

func (s *Service) setPaused(ctx context.Context, idOrName string, paused bool) (Shown, error) {
	if err := s.prepare(ctx); err != nil {
		return Shown{}, err
	}
	q, found, err := s.store.SetPaused(ctx, idOrName, paused, s.moment())
	if err != nil {
		return Shown{}, fmt.Errorf("pausing or resuming queue: %w", err)
	}
	if !found {
		return Shown{}, tools.Errorf(NotFound, "there is no queue %q", tools.Shorten(idOrName)).
			WithHint("queue.list shows those there are")
	}
	return q.shown(), nil
}

func positionOf(last Queue) tools.Position {
	return tools.Position{CreatedAt: last.CreatedAt, ID: last.ID}
}
