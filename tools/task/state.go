package task

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/work"
)

// The states of a task, see [work.Pending].
const (
	Pending   = work.Pending
	Queued    = work.Queued
	Running   = work.Running
	Paused    = work.Paused
	Completed = work.Completed
	Failed    = work.Failed
	Cancelled = work.Cancelled
	TimedOut  = work.TimedOut
)

// The priorities of a task, most urgent first.
const (
	Critical   = work.Critical
	High       = work.High
	Medium     = work.Medium
	Low        = work.Low
	Background = work.Background
)

// DefaultQueue is the id and the name of the queue that is always there.
const DefaultQueue = work.DefaultQueue

// States lists all states.
func States() []string {
	return []string{Pending, Queued, Running, Paused, Completed, Failed, Cancelled, TimedOut}
}

// Final reports whether a task in this state has ended.
func Final(state string) bool {
	return slices.Contains([]string{Completed, Failed, Cancelled, TimedOut}, state)
}

// Task is a task as it is stored. Times are UTC in whole microseconds; the
// zero time is none.
type Task struct {
	ID, QueueID, Name, Description string
	AgentID, WorkflowID            string // both empty = Input names a tool, or nothing is to be run
	Input                          json.RawMessage
	Priority, Type, Status         string
	Dependencies, Tags             []string
	Attempt, MaxAttempts           int
	Timeout                        time.Duration // of one attempt; 0 = no limit
	Output                         json.RawMessage
	Error                          string // of the last attempt, or why it was cancelled
	ScheduledAt                    time.Time
	CreatedAt, StartedAt, EndedAt  time.Time

	// Workspace names the workspace that the task was submitted in. Only
	// processes that work this workspace run it.
	Workspace string

	// Schedule is a cron expression or an interval; empty = no schedule. A task that has
	// one is never run, but whenever it is due, a task is made of it whose
	// ScheduleID is its ID, unless the one before has not ended. While it is
	// paused, its status says so, and it is not due.
	Schedule, ScheduleID string

	// Imported says that the task is paused because an import left it so: it runs when the import is activated, see
	// docs/backup.md. A pause by task.update is another one, which activation leaves.
	Imported bool

	// NextAt is when a pending task is due; the zero time while it waits for
	// something else.
	NextAt time.Time

	// MaxInterruptions bounds how often the runs of one attempt may be cut off
	// before the task fails.
	MaxInterruptions int

	// Key keeps others of the same key from being submitted to the workspace
	// while the task is open; empty = none.
	Key string

	// Definition has the agent or workflow as they were at submission, see
	// [Task.Define], and that is run. Empty for a task of neither; for one with a
	// schedule; and for one made of that before it first starts. Lists leave it out.
	Definition string

	// Rights are those of who submitted the task, see [toolfold.Rights.Text]: its
	// runs have no others. Empty = all that the server has which runs it.
	Rights string

	// Depth counts the tasks that led to this one: 0 for a task that was not
	// submitted by a running task.
	Depth int

	// Sessions lists the sessions that the submitting call was part of:
	// its run is part of them too.
	Sessions []string

	// Turn counts how often the task was started. A run may record its end
	// only while its turn is the present one.
	Turn int

	// Interruptions counts the runs that ended without a result because their
	// process stopped, died or lost its lease.
	Interruptions int

	// InputBytes and OutputBytes are the sizes of Input and Output, also where
	// a list leaves these out.
	InputBytes, OutputBytes int
}

// MaxDepth bounds the tasks above a task, each submitted by the one before: a
// task at this depth may submit none.
const MaxDepth = 5

// submissionDepth is the depth of the tasks that a call submits.
type submissionDepth int

// WithDepth returns the context of a run of a task of the given depth. Tasks
// submitted in it are one deeper.
func WithDepth(ctx context.Context, depth int) context.Context {
	return callctx.With(ctx, submissionDepth(depth+1))
}

// Call is a call of an action, as the input of a task names it.
type Call struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// ParseCall reads the call that a task's input names. It returns false when
// the input names none.
func ParseCall(input json.RawMessage) (c Call, ok bool) {
	if len(input) == 0 || json.Unmarshal(input, &c) != nil {
		return Call{}, false
	}
	return c, c.Tool != ""
}
