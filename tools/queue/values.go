package queue

import (
	"time"

	"github.com/toolfold/toolfold"
)

// CreateIn are the arguments of queue.create.
type CreateIn struct {
	Name            string `json:"name"`
	Description     string `json:"description"`
	MaxConcurrency  int    `json:"maxConcurrency"`
	DefaultPriority string `json:"defaultPriority"`
	PerProcess      bool   `json:"perProcess"`
}

// UpdateIn are the arguments of queue.update; nil = as it is.
type UpdateIn struct {
	QueueID         string  `json:"queueId"`
	Description     *string `json:"description"`
	MaxConcurrency  *int    `json:"maxConcurrency"`
	DefaultPriority *string `json:"defaultPriority"`
	PerProcess      *bool   `json:"perProcess"`
}

// QueueIn are the arguments of queue.pause, queue.resume and queue.remove.
type QueueIn struct {
	QueueID string `json:"queueId"`
}

// Shown is a queue as a result.
type Shown struct {
	QueueID         string     `json:"queueId" doc:"ID or name of the queue."`
	Name            string     `json:"name" doc:"Name of the queue."`
	Description     string     `json:"description,omitempty" doc:"What the queue is for."`
	MaxConcurrency  int        `json:"maxConcurrency" doc:"Tasks at once, in each workspace."`
	PerProcess      bool       `json:"perProcess,omitempty" doc:"Count maxConcurrency in each process, not over all."`
	DefaultPriority string     `json:"defaultPriority" doc:"For tasks without priority." enum:"critical,high,medium,low,background"`
	IsPaused        bool       `json:"isPaused" doc:"Whether its tasks are held back."`
	CreatedAt       *time.Time `json:"createdAt,omitempty" doc:"When it was made; absent for the default queue."` // nil for the default queue
}

func (q Queue) view() Shown {
	s := Shown{
		QueueID: q.ID, Name: q.Name, Description: q.Description, MaxConcurrency: q.MaxConcurrency,
		PerProcess: q.PerProcess, DefaultPriority: q.DefaultPriority, IsPaused: q.Paused,
	}
	if !q.CreatedAt.IsZero() {
		s.CreatedAt = &q.CreatedAt
	}
	return s
}

// RemoveOut is the result of queue.remove.
type RemoveOut struct {
	QueueID string `json:"queueId" doc:"ID or name of the queue."`
	Name    string `json:"name" doc:"Name of the queue."`
	Removed bool   `json:"removed" doc:"Always true."`
}

// ListIn are the arguments of queue.list.
type ListIn struct {
	toolfold.Page
}

// ListOut is the result of queue.list.
type ListOut struct {
	Queues []Item `json:"queues" doc:"Queues, oldest first."`
	Total  int    `json:"total" doc:"Queues there are, on all pages."`
	toolfold.Paged
}

// Item is a queue as queue.list shows it.
type Item struct {
	Shown
	Stats Stats `json:"stats" doc:"Tasks in each state."`
}

// Stats counts the tasks of a queue by state.
type Stats struct {
	Pending   int `json:"pending" doc:"Tasks in this state."`
	Queued    int `json:"queued" doc:"Tasks in this state."`
	Running   int `json:"running" doc:"Tasks in this state."`
	Paused    int `json:"paused" doc:"Tasks in this state."`
	Completed int `json:"completed" doc:"Tasks in this state."`
	Failed    int `json:"failed" doc:"Tasks in this state."`
	Cancelled int `json:"cancelled" doc:"Tasks in this state."`
	Timeout   int `json:"timeout" doc:"Tasks in this state."`
}
