// Package queue runs tasks that outlive the process that submitted them.
//
// The ledger, a table of tasks, is the only record of their state. River, on the same database,
// distributes work to the processes: a transaction that makes a task ready also inserts a job for
// the task's workspace, and a process of this workspace gets the job. The job names no task: the
// process claims the most urgent task that may run, runs it, and claims the next one until there
// are no more. So priorities, pauses and concurrency limits are decided in one place, when a task
// is claimed. A lost job does no harm: every few seconds the ready tasks are counted, and jobs are
// added for them.
//
// A task is restarted when its process dies. Its finished steps are recorded and not repeated. An
// interrupted step is repeated if that is safe.
//
// The process that runs a task holds a lease and renews it every few seconds. When the lease
// expires, another process takes the task, with a new turn. The old process has stopped its run by
// then, and its later reports are rejected. So each task ends once. Two runs of a task overlap only
// if a process was suspended for longer than its lease: it stops its runs as soon as it resumes.
//
// A schedule is a task that never runs. At each of its times a task is created from it, under the
// lock of its row, so that each time has one task with its own outcome.
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
	Record json.RawMessage // nil = begun, and must not be begun again
}

// Hold is a run claimed by a worker.
type Hold struct {
	Run
	Cancelled bool // the task must be stopped
}

// Ending describes the end of a run of a task.
type Ending struct {
	Run
	Status  string // a final one
	Output  json.RawMessage
	Error   string
	EndedAt time.Time

	// RetryAt is the time of another attempt; the zero time ends the task.
	RetryAt time.Time

	Recorded bool // the task has recorded steps, which are removed if it completed
}

// Ledger records which worker runs which task. All methods are safe for
// concurrent use, also between processes. Leases are measured by the clock of
// the database.
type Ledger interface {
	// Enter registers a worker of a workspace, with a lease on all tasks that it will claim.
	Enter(ctx context.Context, worker, workspace string, lease time.Duration) error

	// Renew extends the lease. It returns false if the lease had expired and other workers got the
	// tasks.
	Renew(ctx context.Context, worker string, lease time.Duration) (bool, error)

	// Leave ends the lease and queues the worker's tasks again.
	Leave(ctx context.Context, worker string, now time.Time) error

	// Claim starts the most urgent task of the workspace whose queue is not paused and has room,
	// and up to limit tasks of that queue in order of urgency. It returns an empty list if there is
	// no such task or the worker has no lease.
	Claim(ctx context.Context, worker, workspace string, limit int, now time.Time) ([]task.Task, error)

	// Outcomes returns dependencies of a task, with their output.
	Outcomes(ctx context.Context, ids []string) ([]task.Outcome, error)

	// Finish records the end of a run. It returns false and changes nothing if the run is no longer
	// the current one. If a cancellation was requested, any end except completed is recorded as
	// cancelled.
	Finish(ctx context.Context, e Ending) (bool, error)

	// Define stores the definition of a run, see [task.Task.Define].
	Define(ctx context.Context, run Run, definition string) error

	// Steps returns the recorded steps of a task.
	Steps(ctx context.Context, taskID string) ([]Step, error)

	// KeepSteps records steps in one transaction, and replaces the records of these steps and the steps
	// below them. It returns false and changes nothing if the run is no longer the current one.
	KeepSteps(ctx context.Context, run Run, steps ...Step) (bool, error)

	// DropStep removes the record of a step.
	DropStep(ctx context.Context, run Run, path string) error

	// Questions returns the questions of a task to its client, oldest first.
	Questions(ctx context.Context, taskID string) ([]task.Question, error)

	// KeepQuestion records a question under a new key. It returns false and changes nothing if the
	// run is no longer the current one.
	KeepQuestion(ctx context.Context, run Run, q task.Question) (bool, error)

	// DropQuestion removes a question.
	DropQuestion(ctx context.Context, run Run, key string) error

	// KeepOutput records the output of a run whose end was recorded before it ended.
	KeepOutput(ctx context.Context, run Run, output json.RawMessage) error

	// Report stores the progress of a run.
	Report(ctx context.Context, run Run, p task.Progress) error

	// Held lists the runs that a worker has claimed and still holds.
	Held(ctx context.Context, worker string) ([]Hold, error)

	// GiveBack queues tasks again that a worker claimed but does not run. It returns their number.
	GiveBack(ctx context.Context, worker string, runs []Run, now time.Time) (int, error)

	// Refuse queues a task again that a worker cannot run because an agent or workflow is missing
	// in its folder. The worker does not claim it for the duration again.
	Refuse(ctx context.Context, worker string, run Run, lacks string, again time.Duration, now time.Time) error

	// Release queues due tasks and creates tasks of due schedules. It returns their number, and may
	// leave some for the next call.
	Release(ctx context.Context, now time.Time) (int, error)

	// Rescue queues the tasks of workers with an expired lease, and returns their number. Tasks
	// that were interrupted too often fail, here and in GiveBack. A lease or refusal that ends
	// later than longest from now dates from before the clock was set back: it is shortened.
	Rescue(ctx context.Context, now time.Time, longest time.Duration) (int, error)

	// Prune removes tasks that ended before a time, except dependencies of open tasks. It returns
	// their number, and may leave some for the next call.
	Prune(ctx context.Context, before time.Time) (int, error)

	// Wake inserts a job for each task of a workspace that could start now, because its own job was
	// lost or the rate of its queue delayed it. It returns their number.
	Wake(ctx context.Context, worker, workspace string) (int, error)
}
