package queue

import (
	"context"
	"time"

	"github.com/toolfold/toolfold"
)

// Queue is a queue, also as a result.
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

// Store keeps queues. The default queue is always there. All methods are safe
// for concurrent use, also between processes.
type Store interface {
	// Create keeps a new queue, unless its name is taken or there are limit
	// queues already.
	Create(ctx context.Context, q Queue, limit int) (Creation, error)

	// List returns queues in the order of their making.
	List(ctx context.Context, q Query) (Page, error)

	// Update calls change on the queue with that id, or else that name, and
	// stores the result. change must not modify ID, Name or CreatedAt, and may
	// be called again.
	Update(ctx context.Context, idOrName string, change func(*Queue)) (q Queue, found bool, err error)

	// SetPaused pauses or resumes the queue with that id, or else that name.
	SetPaused(ctx context.Context, idOrName string, paused bool) (q Queue, found bool, err error)

	// Remove removes a queue, by its id or else its name, unless tasks in it
	// have not ended: open is their number.
	Remove(ctx context.Context, idOrName string) (q Queue, open int, found bool, err error)
}

// Creation is the outcome of a create. Its zero value means that the queue was
// kept.
type Creation struct {
	Taken string // id of the queue that has the name
	Full  bool   // there are too many queues
}

// Query picks a part of the list.
type Query struct {
	Limit int
	After *toolfold.Position // nil = from the first
}

// Page is a part of the list.
type Page struct {
	Queues []Counted
	Total  int // of all queues
}

// Counted is a queue with the number of its tasks in each state.
type Counted struct {
	Queue
	Counts map[string]int
}
