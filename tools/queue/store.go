package queue

import (
	"context"
	"time"

	"github.com/toolfold/toolfold/tools"
)

// Queue is a queue as it is stored.
type Queue struct {
	ID, Name, Description string
	MaxConcurrency        int // in each process that works
	DefaultPriority       string
	Paused                bool
	CreatedAt             time.Time // UTC, whole microseconds
}

// Store keeps queues. All methods are safe for concurrent use, also between
// processes.
type Store interface {
	// AddDefaultQueue makes the default queue unless it is there.
	AddDefaultQueue(ctx context.Context, now time.Time) error

	// Create keeps a new queue. When its name is taken it changes nothing and
	// returns the id of the queue that has it.
	Create(ctx context.Context, q Queue) (taken string, err error)

	// List returns queues in the order of their making.
	List(ctx context.Context, q Query) (Page, error)

	// SetPaused pauses a queue, by its id or else its name, or has it go on.
	SetPaused(ctx context.Context, idOrName string, paused bool, now time.Time) (q Queue, found bool, err error)
}

// Query picks a part of the list.
type Query struct {
	Limit int
	After *tools.Position // nil = from the first
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
