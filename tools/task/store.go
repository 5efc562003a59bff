package task

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolfold/toolfold"
)

// Store stores tasks. All methods are safe for concurrent use, also between processes. As a side
// effect they queue ready tasks, and fail the dependents of failed ones.
type Store interface {
	// QueueID returns the id of a queue, given its id or its name.
	QueueID(ctx context.Context, idOrName string) (id string, found bool, err error)

	// AddQueue creates the queue of task calls, whose name is its id, if it does not exist.
	AddQueue(ctx context.Context, id string, now time.Time) error

	// Submit stores a new task, unless its workspace already has limit open tasks or a dependency
	// blocks it. t.QueueID is the id or name of a queue; an empty priority becomes the queue's. If
	// there is an open task with the same key, Submit returns that task.
	Submit(ctx context.Context, t Task, now time.Time, limit int) (Submission, error)

	// Get returns a task with its input and output.
	Get(ctx context.Context, id string) (t Task, found bool, err error)

	// Outcomes returns the existing tasks among ids, with their output if output is true.
	Outcomes(ctx context.Context, ids []string, output bool) ([]Outcome, error)

	// Progress returns the progress of a task's run in that turn.
	Progress(ctx context.Context, id string, turn int) (p Progress, found bool, err error)

	// Questions returns the questions of a task to its client, oldest first.
	Questions(ctx context.Context, id string) ([]Question, error)

	// Answer stores the client's answers by key. An answered question keeps its first answer.
	Answer(ctx context.Context, id string, answers map[string]json.RawMessage) error

	// State returns only the state of a task.
	State(ctx context.Context, id string) (state string, found bool, err error)

	// List returns tasks, newest first; tasks of the same time by descending id.
	List(ctx context.Context, q Query) (Page, error)

	// Cancel ends a task. If the task runs and Force is false, it asks the worker to stop it. An
	// ended task stays unchanged. Before is the state before Cancel.
	Cancel(ctx context.Context, c Cancellation) (before string, found bool, err error)

	// Open returns the ids of the open tasks that match a query, newest first, so that a task
	// precedes its dependencies. It omits schedules and ignores Limit and After.
	Open(ctx context.Context, q Query) (ids []string, err error)

	// CancelAll cancels several tasks in one transaction.
	CancelAll(ctx context.Context, ids []string, c Cancellation) error

	// States counts tasks by their state.
	States(ctx context.Context, ids []string) (map[string]int, error)

	// Retry restarts a task that failed, timed out or was cancelled. Other tasks stay unchanged. So
	// does a task with blocking dependencies, which are returned.
	Retry(ctx context.Context, r Retrial) (t Task, blocked []Obstacle, err error)

	// Lacking returns the missing agent or workflow for which workers of the workspace returned the
	// task; empty if no worker did.
	Lacking(ctx context.Context, id string) (what string, err error)

	// Change calls change on a task with a schedule and stores and returns the result. Found is
	// false if there is no such task. An error of change is returned, and nothing is stored.
	Change(ctx context.Context, id string, change func(*Task) error) (t Task, found bool, err error)

	// Trigger submits a task for a schedule, unless its previous task is open: then that task is
	// returned as existing. Trigger starts a task at once that waits only for its time. An empty
	// status means that nothing was started.
	Trigger(ctx context.Context, id string, now time.Time) (Submission, error)

	// Worked reports whether a process currently runs tasks of a workspace.
	Worked(ctx context.Context, workspace string) (bool, error)
}

// Submission is the outcome of Submit. The task was stored if Status is not empty.
type Submission struct {
	QueueID  string // empty = the queue does not exist
	Status   string
	Position int // in its queue, from 1; 0 if it is not queued

	TaskID    string    // started by Trigger
	Existing  string    // id of an earlier open task with the same key
	CreatedAt time.Time // of the existing task

	Blocked []Obstacle // dependencies that can no longer complete
	Full    bool       // the workspace has too many open tasks
}

// Obstacle is a dependency that can no longer complete.
type Obstacle struct {
	TaskID   string
	Status   string // empty = the task does not exist
	Key      bool   // not a dependency, but the open task with the same key
	Schedule bool   // a schedule, which never completes
}

// Cancellation requests the end of tasks.
type Cancellation struct {
	TaskID, Reason string
	Force          bool // do not wait for its worker
	At             time.Time
}

// Retrial requests another attempt.
type Retrial struct {
	TaskID string
	Reset  bool // count attempts from 1 again
	At     time.Time

	// Workspace and Definition replace the task's values if not empty.
	Workspace, Definition string

	// Outcomes has, by path, the records of steps that were interrupted: nil for a step that was not
	// done and may run again. Other interrupted steps, and steps that have records, stay as they are,
	// and a task that has not ended is its own obstacle. If Outcomes is nil, all interrupted steps may
	// run again.
	Outcomes map[string]json.RawMessage
}

// Query filters tasks. Empty members do not filter.
type Query struct {
	Workspace                  *string // nil = any
	QueueID, AgentID           string
	ScheduleID                 string
	Statuses, Priorities, Tags []string // any of them
	Limit                      int
	After                      *toolfold.Position // nil = from the newest task

	// Input and Output load these members instead of their sizes.
	Input, Output bool
}

// Page is a part of a list.
type Page struct {
	Tasks []Task
	Total int // of all matching tasks, ignoring After and Limit
}
