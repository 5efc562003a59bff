package task

import (
	"context"
	"time"

	"github.com/toolfold/toolfold/engine/queue"

	"github.com/toolfold/toolfold/tools"
)

// Store keeps tasks. All methods are safe for concurrent use, also between
// processes. Tasks are queued, and their dependents failed, as a side effect.
type Store interface {
	// AddDefaultQueue makes the default queue unless it is there.
	AddDefaultQueue(ctx context.Context, now time.Time) error

	// Queue finds a queue by its id, else by its name.
	Queue(ctx context.Context, idOrName string) (q Queue, found bool, err error)

	// Submit keeps a new task. Its dependencies must be there and not have
	// ended badly: those that are not are returned, and nothing is kept.
	Submit(ctx context.Context, t queue.Task, now time.Time) (Placed, []Obstacle, error)

	// Get returns a task; found is false where there is none.
	Get(ctx context.Context, id string) (t queue.Task, found bool, err error)

	// List returns tasks, newest first, those of one moment by falling id.
	List(ctx context.Context, q Query) (Page, error)

	// Cancel ends a task, or has its worker stop it if it runs and force is
	// false. A task that has ended stays as it is.
	Cancel(ctx context.Context, c Cancellation) (before string, found bool, err error)

	// Retry starts a task anew that ended otherwise than completed. A task in
	// another state stays as it is, and so does one whose dependencies are
	// in its way: those are returned.
	Retry(ctx context.Context, r Retrial) (t queue.Task, blocked []Obstacle, err error)
}

// Queue is what tasks need to know of a queue.
type Queue struct {
	ID, DefaultPriority string
}

// Placed is where a new task is.
type Placed struct {
	Status   string
	Position int // in the line of its queue, from 1; 0 when it is not in line
}

// Obstacle is a dependency that a task cannot wait for.
type Obstacle struct {
	TaskID string
	Status string // empty = there is no such task
}

// Cancellation asks for the end of a task.
type Cancellation struct {
	TaskID, Reason string
	Force          bool // do not wait for its worker
	At             time.Time
}

// Retrial asks for another attempt.
type Retrial struct {
	TaskID string
	Reset  bool // count attempts from 1 again
	At     time.Time
}

// Query picks tasks. What is empty does not filter.
type Query struct {
	QueueID, AgentID           string
	Statuses, Priorities, Tags []string // any of them
	Limit                      int
	After                      *tools.Position // nil = from the newest
}

// Page is a part of a list.
type Page struct {
	Tasks []queue.Task
	Total int // of all tasks that the query picks, After and Limit aside
}
