// Package work holds the shared parts of the families for work, which do not import each other. It
// has the states of sessions and tasks, and the context of runs of agents, workflows and tasks.
package work

// The states of a task. The last four are final: only a retry leaves them.
const (
	Pending   = "pending"   // waits for a time, for other tasks or for its next attempt
	Queued    = "queued"    // ready, waits for a slot
	Running   = "running"   // a process runs it
	Paused    = "paused"    // ready, but its queue is paused
	Completed = "completed" // has a result
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

// DefaultQueue is the id and the name of the queue that always exists.
const DefaultQueue = "default"

// DefaultConcurrency is the default concurrency limit of a queue.
const DefaultConcurrency = 5

// QueueNotFound is the code for a queue that does not exist.
const QueueNotFound = "QUEUE_NOT_FOUND"
