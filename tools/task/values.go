package task

import (
	"encoding/json"
	"time"

	"github.com/toolfold/toolfold/engine/queue"
)

// SubmitIn are the arguments of task.submit.
type SubmitIn struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	AgentID      string          `json:"agentId"`
	Input        json.RawMessage `json:"input"`
	Priority     string          `json:"priority"` // empty = the queue's
	QueueID      string          `json:"queueId"`
	Dependencies []string        `json:"dependencies"`
	Tags         []string        `json:"tags"`
	Type         string          `json:"type"`
	ScheduledAt  time.Time       `json:"scheduledAt"`
	TimeoutMs    int             `json:"timeoutMs"`
	MaxAttempts  int             `json:"maxAttempts"`
}

// SubmitOut is the result of task.submit.
type SubmitOut struct {
	TaskID      string    `json:"taskId"`
	QueueID     string    `json:"queueId"`
	Status      string    `json:"status"`
	Position    int       `json:"position"`
	SubmittedAt time.Time `json:"submittedAt"`
}

// StatusIn are the arguments of task.status.
type StatusIn struct {
	TaskID string `json:"taskId"`
}

// Record is a task as task.status and task.list show it.
type Record struct {
	TaskID       string          `json:"taskId"`
	QueueID      string          `json:"queueId"`
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	Type         string          `json:"type"`
	Priority     string          `json:"priority"`
	Status       string          `json:"status"`
	AgentID      string          `json:"agentId,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	Output       json.RawMessage `json:"output,omitempty"`
	Dependencies []string        `json:"dependencies"`
	Tags         []string        `json:"tags"`
	Attempt      int             `json:"attempt"`
	MaxAttempts  int             `json:"maxAttempts"`
	TimeoutMs    int             `json:"timeoutMs,omitempty"`
	Error        string          `json:"error,omitempty"`
	ScheduledAt  *time.Time      `json:"scheduledAt,omitempty"`
	StartedAt    *time.Time      `json:"startedAt,omitempty"`
	CompletedAt  *time.Time      `json:"completedAt,omitempty"`
	CreatedAt    time.Time       `json:"createdAt"`
}

func shown(t queue.Task) Record {
	return Record{
		TaskID: t.ID, QueueID: t.QueueID, Name: t.Name, Description: t.Description,
		Type: t.Type, Priority: t.Priority, Status: t.Status, AgentID: t.AgentID,
		Input: t.Input, Output: t.Output, Dependencies: t.Dependencies, Tags: t.Tags,
		Attempt: t.Attempt, MaxAttempts: t.MaxAttempts, TimeoutMs: int(t.Timeout.Milliseconds()), Error: t.Error,
		ScheduledAt: maybe(t.ScheduledAt), StartedAt: maybe(t.StartedAt), CompletedAt: maybe(t.EndedAt),
		CreatedAt: t.CreatedAt,
	}
}

// maybe is nil for no time.
func maybe(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// ListIn are the arguments of task.list.
type ListIn struct {
	QueueID  string   `json:"queueId"`
	AgentID  string   `json:"agentId"`
	Status   []string `json:"status"`
	Priority []string `json:"priority"`
	Tags     []string `json:"tags"`
	Limit    int      `json:"limit"`
	Cursor   string   `json:"cursor"`
}

// ListOut is the result of task.list.
type ListOut struct {
	Tasks      []Record `json:"tasks"`
	Total      int      `json:"total"`
	HasMore    bool     `json:"hasMore"`
	NextCursor string   `json:"nextCursor,omitempty"`
}

// CancelIn are the arguments of task.cancel.
type CancelIn struct {
	TaskID string `json:"taskId"`
	Force  bool   `json:"force"`
	Reason string `json:"reason"`
}

// CancelOut is the result of task.cancel.
type CancelOut struct {
	TaskID      string    `json:"taskId"`
	Status      string    `json:"status"`
	Reason      string    `json:"reason"`
	CancelledAt time.Time `json:"cancelledAt"`
}

// RetryIn are the arguments of task.retry.
type RetryIn struct {
	TaskID        string `json:"taskId"`
	ResetAttempts bool   `json:"resetAttempts"`
}

// RetryOut is the result of task.retry.
type RetryOut struct {
	TaskID    string    `json:"taskId"`
	Status    string    `json:"status"`
	Attempt   int       `json:"attempt"`
	RetriedAt time.Time `json:"retriedAt"`
}
