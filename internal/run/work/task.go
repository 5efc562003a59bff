// Package work has what the families of work share, none of which imports another: the states
// of sessions and tasks, and what the runs of agents, workflows and tasks carry in their
// context.
package work

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

// DefaultQueue is the id and the name of the queue that is always there.
const DefaultQueue = "default"

// DefaultConcurrency is the concurrency limit of a queue that names none.
const DefaultConcurrency = 5

// QueueNotFound is the code for a queue that does not exist.
const QueueNotFound = "QUEUE_NOT_FOUND"
