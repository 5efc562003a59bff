package task

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/work"
)

// SubmitIn are the arguments of task.submit.
type SubmitIn struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	AgentID      string          `json:"agentId"`
	WorkflowID   string          `json:"workflowId"`
	Input        json.RawMessage `json:"input"`
	Priority     string          `json:"priority"` // empty = the queue's
	QueueID      string          `json:"queueId"`
	Dependencies []string        `json:"dependencies"`
	Tags         []string        `json:"tags"`
	Type         string          `json:"type"`
	ScheduledAt  time.Time       `json:"scheduledAt"`
	DelayMs      int             `json:"delayMs"`
	TimeoutMs    int             `json:"timeoutMs"`
	MaxAttempts  int             `json:"maxAttempts"`
	Key          string          `json:"key"`
	Schedule     string          `json:"schedule"`
}

// SubmitOut is the result of task.submit.
type SubmitOut struct {
	TaskID      string    `json:"taskId" doc:"Task ID." format:"uuid"`
	QueueID     string    `json:"queueId" doc:"ID or name of a queue."`
	Status      string    `json:"status" doc:"State of the task." enum:"pending,queued,running,paused,completed,failed,cancelled,timeout"`
	Position    int       `json:"position" doc:"Place in its queue's line, 1 is next; 0 when not in line."`
	SubmittedAt time.Time `json:"submittedAt" doc:"When it was accepted."`
	Existing    bool      `json:"existing,omitempty" doc:"True if an open task has the key: nothing was submitted."`
	Message     string    `json:"message,omitempty" doc:"How the open task with the key differs from this call."`
}

// StatusIn are the arguments of task.status.
type StatusIn struct {
	TaskID string `json:"taskId"`
}

// WaitIn are the arguments of task.wait.
type WaitIn struct {
	TaskID    string `json:"taskId"`
	TimeoutMs int    `json:"timeoutMs"`
}

// Record is the result of task.status and task.wait. Input is set only if requested.
type Record struct {
	Item
	Progress *Steps   `json:"progress,omitempty" doc:"How far it is, or had come."`
	Lines    []string `json:"lines,omitempty" doc:"Its last messages."`
	TraceID  string   `json:"traceId,omitempty" doc:"Trace of its last run, for trace.get; absent if it is not recorded."`
	WaitsFor string   `json:"waitsFor,omitempty" doc:"Why the task does not start yet."`
}

// WaitOut is the result of task.wait. It is a failure if the task failed.
type WaitOut struct{ Record }

// Failed implements [toolfold.Failing].
func (w WaitOut) Failed() bool { return Final(w.Status) && w.Status != Completed }

// Steps is the progress of a running task.
type Steps struct {
	Done  float64 `json:"done" doc:"Steps done; one that runs counts in part."`
	Total float64 `json:"total" doc:"Steps there are."`
}

// Item is a task in task.list. Input, Output, sizes, times of the run, and empty or default members
// are set only if requested.
type Item struct {
	Error        string          `json:"error,omitempty" doc:"Why the last attempt failed, or why it was cancelled."`
	TaskID       string          `json:"taskId" doc:"Task ID." format:"uuid"`
	QueueID      string          `json:"queueId,omitempty" doc:"ID or name of a queue."`
	Name         string          `json:"name" doc:"Title."`
	Description  string          `json:"description,omitempty" doc:"Details."`
	Type         string          `json:"type,omitempty" doc:"Execution mode." enum:"sequential,retry,timeout,wait,other"`
	Priority     string          `json:"priority,omitempty" doc:"How urgent." enum:"critical,high,medium,low,background"`
	Status       string          `json:"status" doc:"State of the task." enum:"pending,queued,running,paused,completed,failed,cancelled,timeout"`
	AgentID      string          `json:"agentId,omitempty" doc:"Agent that runs it."`
	WorkflowID   string          `json:"workflowId,omitempty" doc:"Workflow that it runs."`
	Input        json.RawMessage `json:"input,omitempty" doc:"For the agent or workflow, or {tool, arguments} to run an action." type:"object"`
	InputBytes   int             `json:"inputBytes,omitempty" doc:"Size of input."`
	Output       json.RawMessage `json:"output,omitempty" doc:"Answer of the run."`
	OutputBytes  int             `json:"outputBytes,omitempty" doc:"Size of output."`
	Dependencies []string        `json:"dependencies,omitzero" doc:"Tasks to complete first."`
	Key          string          `json:"key,omitempty" doc:"Idempotency key among open tasks."`
	Tags         []string        `json:"tags,omitzero" doc:"Labels."`
	Attempt      int             `json:"attempt,omitempty" doc:"Present or last attempt."`
	MaxAttempts  int             `json:"maxAttempts,omitempty" doc:"Tries before it fails."`
	TimeoutMs    int             `json:"timeoutMs,omitempty" doc:"Limit of one attempt."`

	Interruptions int        `json:"interruptions,omitempty" doc:"Runs cut off because their process stopped or died."`
	Workspace     string     `json:"workspace,omitempty" doc:"Workspace it runs in, when it is another one."` // empty = the caller's
	Schedule      string     `json:"schedule,omitempty" doc:"[CRON_TZ=Zone] minute hour day month weekday, or @every 90m."`
	ScheduleID    string     `json:"scheduleId,omitempty" doc:"Task whose schedule it belongs to."`
	NextAt        *time.Time `json:"nextAt,omitempty" doc:"When a pending task runs next."`
	ScheduledAt   *time.Time `json:"scheduledAt,omitempty" doc:"Earliest start time."`
	StartedAt     *time.Time `json:"startedAt,omitempty" doc:"When it last started."`
	CompletedAt   *time.Time `json:"completedAt,omitempty" doc:"Time the task ended."`
	CreatedAt     time.Time  `json:"createdAt" doc:"When it was accepted."`
}

// item returns a task as a result. Workspace is set for tasks of other workspaces.
func (s *Service) item(t Task) Item {
	i := Item{
		TaskID: t.ID, QueueID: t.QueueID, Name: t.Name, Description: t.Description,
		Type: t.Type, Priority: t.Priority, Status: t.Status, AgentID: t.AgentID, WorkflowID: t.WorkflowID,
		Input: t.Input, InputBytes: t.InputBytes, Output: t.Output, OutputBytes: t.OutputBytes,
		Dependencies: t.Dependencies, Key: t.Key, Tags: t.Tags,
		Attempt: t.Attempt, MaxAttempts: t.MaxAttempts, TimeoutMs: int(t.Timeout.Milliseconds()),
		Interruptions: t.Interruptions, Error: t.Error,
		Schedule: t.Schedule, ScheduleID: t.ScheduleID, NextAt: maybe(t.NextAt),
		ScheduledAt: maybe(t.ScheduledAt), StartedAt: maybe(t.StartedAt), CompletedAt: maybe(t.EndedAt),
		CreatedAt: t.CreatedAt,
	}
	if t.Workspace != s.Workspace {
		i.Workspace = t.Workspace
	}
	return i
}

// brief empties default members, and sizes and times that follow from the status, except members
// that the call requests.
func (i *Item) brief(ctx context.Context) {
	i.Description = callctx.Brief(ctx, "tasks.description", i.Description)
	i.Error = callctx.Brief(ctx, "tasks.error", i.Error)
	leaveOut(ctx, "queueId", &i.QueueID, i.QueueID == DefaultQueue)
	leaveOut(ctx, "type", &i.Type, i.Type == Sequential)
	leaveOut(ctx, "priority", &i.Priority, i.Priority == work.Medium)
	leaveOut(ctx, "attempt", &i.Attempt, i.Attempt == 1)
	leaveOut(ctx, "maxAttempts", &i.MaxAttempts, i.MaxAttempts == 1)
	leaveOut(ctx, "dependencies", &i.Dependencies, len(i.Dependencies) == 0)
	leaveOut(ctx, "tags", &i.Tags, len(i.Tags) == 0)
	leaveOut(ctx, "inputBytes", &i.InputBytes, true)
	leaveOut(ctx, "outputBytes", &i.OutputBytes, true)
	leaveOut(ctx, "startedAt", &i.StartedAt, true)
	leaveOut(ctx, "completedAt", &i.CompletedAt, true)
	if !callctx.Wants(ctx, "tasks.createdAt") {
		i.CreatedAt = i.CreatedAt.Truncate(time.Second)
	}
}

// leaveOut empties a member if silent is true, which means that it is not worth its tokens, unless
// the call requests the member.
func leaveOut[T any](ctx context.Context, member string, value *T, silent bool) {
	if silent && !callctx.Wants(ctx, "tasks."+member) {
		var zero T
		*value = zero
	}
}

// maybe returns nil for the zero time.
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

	ScheduleID string `json:"scheduleId"`
	toolfold.Page
}

// ListOut is the result of task.list.
type ListOut struct {
	Tasks []Item `json:"tasks" doc:"Newest first."`
	Total int    `json:"total" doc:"Tasks that match, on all pages."`
	toolfold.Paged
}

// UpdateIn are the arguments of task.update. Nil members do not change.
type UpdateIn struct {
	TaskID      string          `json:"taskId"`
	Schedule    *string         `json:"schedule"`
	Paused      *bool           `json:"paused"`
	Name        *string         `json:"name"`
	Description *string         `json:"description"`
	Input       json.RawMessage `json:"input"`
	Priority    *string         `json:"priority"`
	TimeoutMs   *int            `json:"timeoutMs"`
	MaxAttempts *int            `json:"maxAttempts"`
}

// UpdateOut is the result of task.update.
type UpdateOut struct {
	TaskID   string     `json:"taskId" doc:"Task ID." format:"uuid"`
	Status   string     `json:"status" doc:"State of the task." enum:"pending,queued,running,paused,completed,failed,cancelled,timeout"`
	Schedule string     `json:"schedule" doc:"When it runs."`
	NextAt   *time.Time `json:"nextAt,omitempty" doc:"When a pending task runs next."`
}

// TriggerIn are the arguments of task.trigger.
type TriggerIn struct {
	TaskID string `json:"taskId"`
}

// TriggerOut is the result of task.trigger.
type TriggerOut struct {
	TaskID   string `json:"taskId" doc:"Task that runs." format:"uuid"`
	Status   string `json:"status" doc:"State of the task." enum:"pending,queued,running,paused,completed,failed,cancelled,timeout"`
	Existing bool   `json:"existing,omitempty" doc:"It was open already."`
}

// CancelIn are the arguments of task.cancel.
type CancelIn struct {
	TaskID     string   `json:"taskId"`
	QueueID    string   `json:"queueId"`
	ScheduleID string   `json:"scheduleId"`
	Tags       []string `json:"tags"`
	Status     []string `json:"status"`
	DryRun     bool     `json:"dryRun"`
	Force      bool     `json:"force"`
	Reason     string   `json:"reason"`
}

// CancelOut is the result of task.cancel.
type CancelOut struct {
	TaskID      string        `json:"taskId,omitempty" doc:"Task ID." format:"uuid"`
	Status      string        `json:"status,omitempty" doc:"State of the task." enum:"pending,queued,running,paused,completed,failed,cancelled,timeout"`
	Reason      string        `json:"reason,omitempty" doc:"Why."`
	CancelledAt time.Time     `json:"cancelledAt,omitzero" doc:"When it was cancelled."`
	Tasks       *CancelCounts `json:"tasks,omitempty" doc:"Counts, without taskId."`
	Message     string        `json:"message,omitempty" doc:"What to do next."`
}

// CancelCounts counts the tasks that the filters of task.cancel matched. Matched is the sum of the
// other counts, except in a dry run.
type CancelCounts struct {
	Matched   int `json:"matched" doc:"Tasks that matched and had not ended when the call came."`
	Running   int `json:"running" doc:"Those that still run, asked to stop; in a dry run, those that run."`
	Cancelled int `json:"cancelled" doc:"Those that are cancelled."`
	Ended     int `json:"ended" doc:"Those that completed, failed or timed out before they could be stopped."`
	Open      int `json:"open,omitempty" doc:"Those that do not run: in a dry run, or retried meanwhile."`
}

// RetryIn are the arguments of task.retry.
type RetryIn struct {
	TaskID        string `json:"taskId"`
	ResetAttempts bool   `json:"resetAttempts"`
	Current       bool   `json:"current"`
}

// RetryOut is the result of task.retry.
type RetryOut struct {
	TaskID    string    `json:"taskId" doc:"Task ID." format:"uuid"`
	Status    string    `json:"status" doc:"State of the task." enum:"pending,queued,running,paused,completed,failed,cancelled,timeout"`
	Attempt   int       `json:"attempt" doc:"Present or last attempt."`
	RetriedAt time.Time `json:"retriedAt" doc:"When it was restarted."`
	Changed   []string  `json:"changed,omitempty" doc:"Agents and workflows that have changed since it was submitted; current runs them so."`
}
