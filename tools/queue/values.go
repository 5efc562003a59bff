package queue

import "github.com/toolfold/toolfold"

// CreateIn are the arguments of queue.create.
type CreateIn struct {
	Name            string `json:"name"`
	Description     string `json:"description"`
	MaxConcurrency  int    `json:"maxConcurrency"`
	DefaultPriority string `json:"defaultPriority"`
	PerProcess      bool   `json:"perProcess"`
	RatePerMinute   int    `json:"ratePerMinute"`
}

// UpdateIn are the arguments of queue.update. Nil members do not change.
type UpdateIn struct {
	QueueID         string  `json:"queueId"`
	Description     *string `json:"description"`
	MaxConcurrency  *int    `json:"maxConcurrency"`
	DefaultPriority *string `json:"defaultPriority"`
	PerProcess      *bool   `json:"perProcess"`
	RatePerMinute   *int    `json:"ratePerMinute"`
}

// QueueIn are the arguments of queue.pause, queue.resume and queue.remove.
type QueueIn struct {
	QueueID string `json:"queueId"`
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
	Queue
	Stats Stats `json:"stats" doc:"Tasks in each state."`
}

// Stats counts the tasks of a queue by state.
type Stats struct {
	Pending   int `json:"pending" doc:"Tasks in this state."`
	Queued    int `json:"queued" doc:"Tasks in this state."`
	Running   int `json:"running" doc:"Tasks in this state."`
	Paused    int `json:"paused,omitempty" doc:"Tasks in this state; absent if 0."`
	Completed int `json:"completed" doc:"Tasks in this state."`
	Failed    int `json:"failed" doc:"Tasks in this state."`
	Cancelled int `json:"cancelled,omitempty" doc:"Tasks in this state; absent if 0."`
	Timeout   int `json:"timeout,omitempty" doc:"Tasks in this state; absent if 0."`
}
