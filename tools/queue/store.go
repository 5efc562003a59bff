package queue

import (
	"context"
	"time"

	"github.com/toolfold/toolfold"
)

// Queue is a queue in the store and in results.
type Queue struct {
	ID              string    `json:"queueId" doc:"ID or name of the queue."`
	Name            string    `json:"name" doc:"Name of the queue."`
	Description     string    `json:"description,omitempty" doc:"The queue's purpose."`
	MaxConcurrency  int       `json:"maxConcurrency" doc:"Tasks at once, in each workspace."`
	PerProcess      bool      `json:"perProcess,omitempty" doc:"Count maxConcurrency in each process, not over all."`
	RatePerMinute   int       `json:"ratePerMinute,omitempty" doc:"Most starts in any minute, over all workspaces; absent without limit."`
	DefaultPriority string    `json:"defaultPriority" doc:"For tasks without priority." enum:"critical,high,medium,low,background"`
	Paused          bool      `json:"isPaused" doc:"Whether its tasks are held back."`
	CreatedAt       time.Time `json:"createdAt,omitzero" doc:"When it was made; absent for the default queue."` // UTC, whole microseconds
}

// Store stores queues. It always has the default queue. All methods are safe for concurrent use,
// also between processes.
type Store interface {
	// Create stores a new queue, unless its name is in use or there are already limit queues.
	Create(ctx context.Context, q Queue, limit int) (Creation, error)

	// List returns queues, oldest first.
	List(ctx context.Context, q Query) (Page, error)

	// Update finds a queue by id or, if no queue has it, by name. It calls change and stores the
	// result. Change must not modify ID, Name or CreatedAt, and may be called several times.
	Update(ctx context.Context, idOrName string, change func(*Queue)) (q Queue, found bool, err error)

	// SetPaused pauses or resumes a queue, found as in Update.
	SetPaused(ctx context.Context, idOrName string, paused bool) (q Queue, found bool, err error)

	// Remove removes a queue, found as in Update, if all its tasks have ended. Otherwise it stays,
	// and open is the number of open tasks.
	Remove(ctx context.Context, idOrName string) (q Queue, open int, found bool, err error)
}

// Creation is the outcome of Create. The zero value means that the queue was stored.
type Creation struct {
	Taken string // id of the queue that has the name
	Full  bool   // the store has too many queues
}

// Query picks a part of the list.
type Query struct {
	Limit int
	After *toolfold.Position // nil = from the start
}

// Page is a part of the list.
type Page struct {
	Queues []QueueCounts
	Total  int // of all queues
}

// QueueCounts is a queue with the number of its tasks in each state.
type QueueCounts struct {
	Queue
	Counts map[string]int
}
