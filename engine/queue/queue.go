// Package queue runs tasks that outlive the process that submitted them.
//
// The ledger, a table of tasks, is the truth; River, on the same database,
// brings each task that is ready to one of the processes that work. Task and
// job are written in one transaction. A job is good for one turn of its task:
// whoever claims the task must name the turn that the ledger is at, so a job
// that comes twice, or too late, does nothing.
//
// A task runs at least once. The process that runs it holds a lease, which it
// renews every few seconds. When the lease runs out, the task gets a new turn
// and another process takes it; the old one has stopped it by then, and what
// it still reports is refused. So a task never runs in two processes at once,
// and ends once.
package queue

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// The states of a task. The last four are final: only a retry leaves them.
const (
	Pending   = "pending"   // waits for a time, for other tasks or for its next attempt
	Queued    = "queued"    // ready, waits for a slot
	Running   = "running"   // a process has it
	Paused    = "paused"    // ready, but its queue is paused
	Completed = "completed" // has its result
	Failed    = "failed"
	Cancelled = "cancelled"
	TimedOut  = "timeout"
)

// States lists all states.
func States() []string {
	return []string{Pending, Queued, Running, Paused, Completed, Failed, Cancelled, TimedOut}
}

// Final tells whether a task in this state has ended.
func Final(state string) bool {
	return slices.Contains([]string{Completed, Failed, Cancelled, TimedOut}, state)
}

// The priorities of a task, most urgent first.
const (
	Critical   = "critical"
	High       = "high"
	Medium     = "medium"
	Low        = "low"
	Background = "background"
)

// Priorities lists all priorities, most urgent first.
func Priorities() []string {
	return []string{Critical, High, Medium, Low, Background}
}

// Default is the id and the name of the queue that is always there.
const Default = "default"

// DefaultConcurrency is how many tasks of a queue a process runs at once when
// nothing else is said.
const DefaultConcurrency = 5

// Task is a task as it is stored. Times are UTC in whole microseconds; the
// zero time is none.
type Task struct {
	ID, QueueID, Name, Description string
	AgentID                        string // empty = Input names a tool, or nothing is to be run
	Input                          json.RawMessage
	Priority, Type, Status         string
	Dependencies, Tags             []string
	Attempt, MaxAttempts           int
	Timeout                        time.Duration // of one attempt; 0 = none
	Turn                           int           // which job may start it, see the package
	Output                         json.RawMessage
	Error                          string // of the last attempt, or why it was cancelled
	ScheduledAt                    time.Time
	CreatedAt, StartedAt, EndedAt  time.Time
}

// Ticket is the right to start a task: its job carries one.
type Ticket struct {
	TaskID string `json:"taskId"`
	Turn   int    `json:"turn"`
}

// Hold is a task that a worker has claimed.
type Hold struct {
	Ticket
	Cancelled bool // somebody asked to stop it
}

// Limit is how many tasks of a queue a process runs at once.
type Limit struct {
	QueueID string
	Most    int
}

// Ending is how a run of a task ended.
type Ending struct {
	Ticket
	Status  string // a final one
	Output  json.RawMessage
	Error   string
	EndedAt time.Time

	// RetryAt is when to run it again instead of ending it; the zero time
	// ends it. The attempt counts up.
	RetryAt time.Time
}

// Claim is what became of the attempt to start a task.
type Claim int

// The outcomes of a claim.
const (
	Claimed   Claim = iota + 1 // run it
	Stale                      // the ticket is no longer good
	ClaimSoon                  // the ticket is good, but not for this worker now
)

// Ledger is what a worker needs of the store. All methods are safe for
// concurrent use, also between processes. Leases are measured by the clock of
// the database.
type Ledger interface {
	// Jobs is River on the database of the ledger.
	Jobs() *Jobs

	// Limits returns all queues.
	Limits(ctx context.Context) ([]Limit, error)

	// Enter makes a worker known, with a lease on all it will claim.
	Enter(ctx context.Context, worker string, lease time.Duration) error

	// Renew extends the lease. It is false when the lease had run out and the
	// worker's tasks were given to others.
	Renew(ctx context.Context, worker string, lease time.Duration) (bool, error)

	// Leave gives up the lease; what the worker still holds is queued again.
	Leave(ctx context.Context, worker string, now time.Time) error

	// Start claims a task for a worker. The task is there for Claimed only.
	Start(ctx context.Context, t Ticket, worker string, now time.Time) (Task, Claim, error)

	// Finish records the end of a run. It is false, and changes nothing, when
	// the ticket is no longer good. What ended otherwise than completed after
	// a cancellation was asked for is recorded as cancelled.
	Finish(ctx context.Context, e Ending) (bool, error)

	// Held lists what a worker has claimed and nobody took.
	Held(ctx context.Context, worker string) ([]Hold, error)

	// GiveBack queues again what a worker has claimed and does not run, and
	// tells for how many.
	GiveBack(ctx context.Context, worker string, tickets []Ticket, now time.Time) (int, error)

	// Release queues tasks whose time has come and tasks of queues that are
	// no longer paused, and tells how many; it may leave some for next time.
	Release(ctx context.Context, now time.Time) (int, error)

	// Rescue queues the tasks of workers whose lease has run out, and tells
	// how many there were.
	Rescue(ctx context.Context, now time.Time) (int, error)

	// Redeliver makes new jobs for those tickets that are good but unused,
	// and tells for how many.
	Redeliver(ctx context.Context, tickets []Ticket) (int, error)
}
