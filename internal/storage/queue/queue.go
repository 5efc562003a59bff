// Package queue runs tasks that outlive the process that submitted them.
//
// The ledger, a table of tasks, is the truth. River, on the same database,
// brings work to the processes: whatever makes a task ready inserts a job for
// the task's workspace in the same transaction, and a process that works this
// workspace gets the job. The job names no task: the process claims the
// most urgent task that may run, runs it, and claims the next one until there
// is none. So priorities, pauses and concurrency limits are decided in one
// place, when a task is claimed, and a job that is lost costs nothing: what
// could run is counted every few seconds, and jobs are added for it.
//
// A task is started again when its process dies. Its finished steps are recorded
// and not run again; what was under way is, where it may be done twice.
//
// The process that runs a task holds a lease, which it
// renews every few seconds. When the lease runs out, another process takes the
// task, with a new turn; the old one has stopped its run by then, and what it
// still reports is refused. So each task ends once, and two runs of a task
// overlap only where a process was suspended for longer than its lease: it
// stops its runs as soon as it goes on.
//
// A schedule is a task that never runs: at its times one is made of it, under the
// lock of its row, so that each has its own outcome and a time comes once.
package queue

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolfold/toolfold/tools/task"
)

// Run identifies one run of a task.
type Run struct {
	TaskID string
	Turn   int // of the task
}

// Step records a step of a task; see [engine.Journal].
type Step struct {
	Path   string
	Record json.RawMessage // nil = it was begun and may not be begun again
}

// Hold is a run that a worker has claimed.
type Hold struct {
	Run
	Cancelled bool // the task is to be stopped
}

// Ending describes the end of a run of a task.
type Ending struct {
	Run
	Status  string // a final one
	Output  json.RawMessage
	Error   string
	EndedAt time.Time

	// RetryAt is when to run the task again instead of ending it; the zero
	// time ends it. The attempt counts up.
	RetryAt time.Time

	Recorded bool // steps of the task are recorded; those of one that completed are removed
}

// Ledger records which worker runs which task. All methods are safe for
// concurrent use, also between processes. Leases are measured by the clock of
// the database.
type Ledger interface {
	// Enter makes a worker of a workspace known, with a lease on all it will
	// claim.
	Enter(ctx context.Context, worker, workspace string, lease time.Duration) error

	// Renew extends the lease. It is false when the lease had run out and the
	// worker's tasks were given to others.
	Renew(ctx context.Context, worker string, lease time.Duration) (bool, error)

	// Leave gives up the lease; what the worker still holds is queued again.
	Leave(ctx context.Context, worker string, now time.Time) error

	// Claim starts the most urgent task of the workspace whose queue is not
	// paused and has room, and up to limit tasks of that queue, the most urgent
	// first. It returns none where there is none, and for a worker without a
	// lease.
	Claim(ctx context.Context, worker, workspace string, limit int, now time.Time) ([]task.Task, error)

	// Outcomes returns tasks that another one depends on, with their output.
	Outcomes(ctx context.Context, ids []string) ([]task.Outcome, error)

	// Finish records the end of a run. It is false, and changes nothing, when
	// the run is no longer the present one. What ended otherwise than
	// completed after a cancellation was asked for is recorded as cancelled.
	Finish(ctx context.Context, e Ending) (bool, error)

	// Define keeps the definition that a run uses, see [task.Task.Define].
	Define(ctx context.Context, run Run, definition string) error

	// Steps returns what is recorded of the steps of a task.
	Steps(ctx context.Context, taskID string) ([]Step, error)

	// KeepStep records a step, in place of what is recorded of it and of the
	// steps below it. It is false, and changes nothing, when the run is no longer
	// the present one.
	KeepStep(ctx context.Context, run Run, s Step) (bool, error)

	// DropStep removes what is recorded of a step.
	DropStep(ctx context.Context, run Run, path string) error

	// Questions returns what a task has asked its client, in the order it was asked.
	Questions(ctx context.Context, taskID string) ([]task.Question, error)

	// KeepQuestion records a question under a key that the task has not used. It is
	// false, and changes nothing, when the run is no longer the present one.
	KeepQuestion(ctx context.Context, run Run, q task.Question) (bool, error)

	// DropQuestion removes a question that is asked no more.
	DropQuestion(ctx context.Context, run Run, key string) error

	// KeepOutput records the output of a run that ended after its end had been
	// recorded.
	KeepOutput(ctx context.Context, run Run, output json.RawMessage) error

	// Report keeps how far a run is.
	Report(ctx context.Context, run Run, p task.Progress) error

	// Held lists the runs that a worker has claimed and that were not taken
	// from it.
	Held(ctx context.Context, worker string) ([]Hold, error)

	// GiveBack queues tasks again that a worker has claimed and does not run,
	// and returns their number.
	GiveBack(ctx context.Context, worker string, runs []Run, now time.Time) (int, error)

	// Refuse queues a task again that a worker cannot run for what its folder
	// lacks. For a while the worker does not claim it.
	Refuse(ctx context.Context, worker string, run Run, lacks string, again time.Duration, now time.Time) error

	// Release queues tasks whose time has come, makes tasks of those with a
	// schedule, and returns their number; it may leave some for the next call.
	Release(ctx context.Context, now time.Time) (int, error)

	// Rescue queues the tasks of workers whose lease has run out, and returns
	// their number. Tasks that were cut off too often fail, here and where they
	// are given back. A lease or refusal that ends later than longest from now
	// was made before the clock was set back, and is shortened to that.
	Rescue(ctx context.Context, now time.Time, longest time.Duration) (int, error)

	// Prune removes tasks that ended before a time, but none that an open one
	// depends on, and returns their number; it may leave some for the next call.
	Prune(ctx context.Context, before time.Time) (int, error)

	// Wake inserts a job for each task of a workspace that a worker could start
	// now, for those whose own jobs were lost or that the rate of their queue held back,
	// and returns their number.
	Wake(ctx context.Context, worker, workspace string, now time.Time) (int, error)
}
