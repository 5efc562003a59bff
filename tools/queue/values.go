package queue

import (
	"time"

	"github.com/toolfold/toolfold/engine/queue"
)

// CreateIn are the arguments of queue.create.
type CreateIn struct {
	Name            string `json:"name"`
	Description     string `json:"description"`
	MaxConcurrency  int    `json:"maxConcurrency"`
	DefaultPriority string `json:"defaultPriority"`
}

// QueueIn are the arguments of queue.pause and queue.resume.
type QueueIn struct {
	QueueID string `json:"queueId"`
}

// Shown is a queue as a result.
type Shown struct {
	QueueID         string    `json:"queueId"`
	Name            string    `json:"name"`
	Description     string    `json:"description,omitempty"`
	MaxConcurrency  int       `json:"maxConcurrency"`
	DefaultPriority string    `json:"defaultPriority"`
	IsPaused        bool      `json:"isPaused"`
	CreatedAt       time.Time `json:"createdAt"`
}

func (q Queue) shown() Shown {
	return Shown{
		QueueID: q.ID, Name: q.Name, Description: q.Description, MaxConcurrency: q.MaxConcurrency,
		DefaultPriority: q.DefaultPriority, IsPaused: q.Paused, CreatedAt: q.CreatedAt,
	}
}

// ListIn are the arguments of queue.list.
type ListIn struct {
	Limit  int    `json:"limit"`
	Cursor string `json:"cursor"`
}

// ListOut is the result of queue.list.
type ListOut struct {
	Queues     []Item `json:"queues"`
	Total      int    `json:"total"`
	HasMore    bool   `json:"hasMore"`
	NextCursor string `json:"nextCursor,omitempty"`
}

// Item is a queue as queue.list shows it.
type Item struct {
	Shown
	Stats Stats `json:"stats"`
}

// Stats counts the tasks of a queue by state.
type Stats struct {
	Pending   int `json:"pending"`
	Queued    int `json:"queued"`
	Running   int `json:"running"`
	Paused    int `json:"paused"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
	Timeout   int `json:"timeout"`
}

func (c Counted) item() Item {
	n := c.Counts
	return Item{Shown: c.Queue.shown(), Stats: Stats{
		Pending: n[queue.Pending], Queued: n[queue.Queued], Running: n[queue.Running], Paused: n[queue.Paused],
		Completed: n[queue.Completed], Failed: n[queue.Failed], Cancelled: n[queue.Cancelled], Timeout: n[queue.TimedOut],
	}}
}
