package task

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolfold/toolfold"
)

// Store keeps tasks. All methods are safe for concurrent use, also between
// processes. Tasks are queued, and their dependents failed, as a side effect.
type Store interface {
	// QueueID returns the id of a queue, given its id or its name.
	QueueID(ctx context.Context, idOrName string) (id string, found bool, err error)

	// AddQueue makes a queue whose name is its id, for calls that run beside each
	// other, where there is none.
	AddQueue(ctx context.Context, id string, now time.Time) error

	// Submit keeps a new task, unless its workspace has limit open tasks
	// already or a dependency stands in its way. t.QueueID is the id or the
	// name of a queue; an empty priority becomes that of the queue. An open task
	// of the same key is returned instead.
	Submit(ctx context.Context, t Task, now time.Time, limit int) (Submission, error)

	// Get returns a task with its input and output.
	Get(ctx context.Context, id string) (t Task, found bool, err error)

	// Outcomes returns those of the tasks that there are, with their output
	// where it is asked for.
	Outcomes(ctx context.Context, ids []string, output bool) ([]Outcome, error)

	// Progress returns how far the run of a turn of a task is.
	Progress(ctx context.Context, id string, turn int) (p Progress, found bool, err error)

	// Questions returns what a task has asked its client, in the order it was asked.
	Questions(ctx context.Context, id string) ([]Question, error)

	// Answer keeps the answers of a client to what a task asks, by key. A question that
	// has one keeps it.
	Answer(ctx context.Context, id string, answers map[string]json.RawMessage) error

	// State returns the state of a task alone.
	State(ctx context.Context, id string) (state string, found bool, err error)

	// List returns tasks, newest first, those of one moment by falling id.
	List(ctx context.Context, q Query) (Page, error)

	// Cancel ends a task, or asks its worker to stop it if it runs and force is
	// false. A task that has ended stays as it is. Before is the state that
	// it was in.
	Cancel(ctx context.Context, c Cancellation) (before string, found bool, err error)

	// Open returns the ids of the tasks that a query picks and that have not ended, the
	// newest first, so that a task comes before its dependencies. Schedules are left
	// out; Limit and After do not count.
	Open(ctx context.Context, q Query) (ids []string, err error)

	// CancelAll does what Cancel does for several tasks, in one transaction.
	CancelAll(ctx context.Context, ids []string, c Cancellation) error

	// States counts tasks by their state.
	States(ctx context.Context, ids []string) (map[string]int, error)

	// Retry starts a task anew that ended otherwise than completed. A task in
	// another state stays as it is, as does a task whose dependencies are
	// in its way: those are returned.
	Retry(ctx context.Context, r Retrial) (t Task, blocked []Obstacle, err error)

	// Lacking returns what workers of its workspace lack that have given a task
	// back; empty where none has.
	Lacking(ctx context.Context, id string) (what string, err error)

	// Change changes a task that has a schedule, by a function that is given it as
	// it is, and returns it; false where there is no such task. An error of the
	// function leaves it as it is.
	Change(ctx context.Context, id string, change func(*Task) error) (t Task, found bool, err error)

	// Trigger makes a task of one with a schedule, unless one is open, which is
	// returned as existing then; of another one that waits for its time alone, it
	// is that time. Without a status, nothing was started.
	Trigger(ctx context.Context, id string, now time.Time) (Submission, error)

	// Worked reports whether a process works a workspace at present.
	Worked(ctx context.Context, workspace string) (bool, error)
}

// Submission is the outcome of a submit. The task was kept when Status is not
// empty.
type Submission struct {
	QueueID  string // empty = there is no such queue
	Status   string
	Position int // in the line of its queue, from 1; 0 when it is not in line

	TaskID    string    // that Trigger has started
	Existing  string    // id of the open task of the key, which was not submitted now
	CreatedAt time.Time // of that one

	Blocked []Obstacle // dependencies that the task could not wait for
	Full    bool       // the workspace has too many open tasks
}

// Obstacle is a dependency that a task cannot wait for.
type Obstacle struct {
	TaskID   string
	Status   string // empty = there is no such task
	Key      bool   // it is no dependency, but the open task of the same key
	Schedule bool   // it has a schedule and so never completes
}

// Cancellation asks for the end of a task, or of several.
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

	// Workspace and Definition replace those of the task, where not empty. What
	// was under way when a process died may be run again.
	Workspace, Definition string
}

// Query picks tasks. What is empty does not filter.
type Query struct {
	Workspace                  *string // nil = any
	QueueID, AgentID           string
	ScheduleID                 string
	Statuses, Priorities, Tags []string // any of them
	Limit                      int
	After                      *toolfold.Position // nil = from the newest

	// Input and Output load these members; otherwise only their sizes.
	Input, Output bool
}

// Page is a part of a list.
type Page struct {
	Tasks []Task
	Total int // of all tasks that the query picks, After and Limit aside
}
