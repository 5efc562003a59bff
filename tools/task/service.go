package task

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolfold/toolfold/engine/queue"
	"github.com/toolfold/toolfold/tools"
)

// Codes of the task tool.
const (
	NotFound      = "TASK_NOT_FOUND"
	QueueNotFound = "QUEUE_NOT_FOUND"
	InvalidState  = "INVALID_STATE"
	CancelFailed  = "CANCEL_FAILED"
)

// Options are what a service runs on.
type Options struct {
	Store  Store
	Caller tools.Caller
	Names  tools.Names // that tasks may call
	Now    func() time.Time
	NewID  func() string // UUIDs

	// CancelWait is how long cancel waits for a running task to stop;
	// zero = 20 s.
	CancelWait time.Duration
}

const cancelWait = 20 * time.Second

// Service runs the task actions. It is safe for concurrent use, and several
// may share a store. It runs no tasks: see [queue.Worker].
type Service struct {
	Options
	prepared atomic.Bool // the default queue is there
}

// New returns a service.
func New(o Options) *Service {
	if o.CancelWait <= 0 {
		o.CancelWait = cancelWait
	}
	return &Service{Options: o}
}

// moment is the time now, as precise as stores keep it.
func (s *Service) moment() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// Status shows a task.
func (s *Service) Status(ctx context.Context, in StatusIn) (Record, error) {
	t, err := s.find(ctx, in.TaskID)
	return shown(t), err
}

func (s *Service) find(ctx context.Context, id string) (queue.Task, error) {
	t, found, err := s.Store.Get(ctx, strings.ToLower(id))
	if err != nil {
		return queue.Task{}, fmt.Errorf("reading task: %w", err)
	}
	if !found {
		return queue.Task{}, notFound(id)
	}
	return t, nil
}

func notFound(id string) error {
	return tools.Errorf(NotFound, "there is no task %s", id).WithHint("task.list shows those there are")
}

// queue finds a queue by its id or name; empty is the default one, which is
// made by the first who needs it.
func (s *Service) queue(ctx context.Context, idOrName string) (Queue, error) {
	if !s.prepared.Load() {
		if err := s.Store.AddDefaultQueue(ctx, s.moment()); err != nil {
			return Queue{}, fmt.Errorf("making the default queue: %w", err)
		}
		s.prepared.Store(true)
	}
	if idOrName == "" {
		idOrName = queue.Default
	}
	q, found, err := s.Store.Queue(ctx, idOrName)
	if err != nil {
		return Queue{}, fmt.Errorf("reading queue: %w", err)
	}
	if !found {
		return Queue{}, tools.Errorf(QueueNotFound, "there is no queue %q", tools.Shorten(idOrName)).
			WithHint("queue.list shows those there are, queue.create makes one")
	}
	return q, nil
}

// List lists tasks, a page at a time.
func (s *Service) List(ctx context.Context, in ListIn) (ListOut, error) {
	after, err := tools.ParseCursor(in.Cursor, "task.list")
	if err != nil {
		return ListOut{}, err
	}
	query := Query{
		AgentID: in.AgentID, Statuses: in.Status, Priorities: in.Priority, Tags: in.Tags,
		Limit: in.Limit + 1, After: after,
	}
	if in.QueueID != "" {
		q, err := s.queue(ctx, in.QueueID)
		if err != nil {
			return ListOut{}, err
		}
		query.QueueID = q.ID
	}
	page, err := s.Store.List(ctx, query)
	if err != nil {
		return ListOut{}, fmt.Errorf("listing tasks: %w", err)
	}
	out := ListOut{Tasks: []Record{}, Total: page.Total}
	for i, t := range page.Tasks {
		if i == in.Limit {
			out.HasMore = true
			out.NextCursor = positionOf(page.Tasks[i-1]).Cursor()
			break
		}
		out.Tasks = append(out.Tasks, shown(t))
	}
	return out, nil
}

// Retry starts a task anew.
func (s *Service) Retry(ctx context.Context, in RetryIn) (RetryOut, error) {
	now := s.moment()
	id := strings.ToLower(in.TaskID)
	before, err := s.find(ctx, id)
	if err != nil {
		return RetryOut{}, err
	}
	if !queue.Final(before.Status) || before.Status == queue.Completed {
		return RetryOut{}, tools.Errorf(InvalidState, "the task is %s; only failed, cancelled and timed-out tasks can be retried", before.Status)
	}
	t, blocked, err := s.Store.Retry(ctx, Retrial{TaskID: id, Reset: in.ResetAttempts, At: now})
	if err != nil {
		return RetryOut{}, fmt.Errorf("retrying task: %w", err)
	}
	if len(blocked) > 0 {
		return RetryOut{}, obstructed(blocked)
	}
	return RetryOut{TaskID: t.ID, Status: t.Status, Attempt: t.Attempt, RetriedAt: now}, nil
}

// obstructed is the error for dependencies that will not complete.
func obstructed(blocked []Obstacle) error {
	first := blocked[0]
	if first.Status == "" {
		return tools.Errorf(tools.InvalidInput, "dependency %q is no task", tools.Shorten(first.TaskID)).
			WithHint("dependencies are the ids that task.submit returned")
	}
	return tools.Errorf(InvalidState, "dependency %s ended as %s", first.TaskID, first.Status).
		WithHint("retry it first")
}

func positionOf(last queue.Task) tools.Position {
	return tools.Position{CreatedAt: last.CreatedAt, ID: last.ID}
}
