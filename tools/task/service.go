package task

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/system/clock"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Codes of the task tool.
const (
	NotFound      = "TASK_NOT_FOUND"
	QueueNotFound = work.QueueNotFound
	InvalidState  = "INVALID_STATE"
	CancelFailed  = "CANCEL_FAILED"
	TooDeep       = "TASK_TOO_DEEP" // tasks that submit tasks
)

// Options configure a service.
type Options struct {
	Store  Store
	Caller toolfold.Caller // that runs agent.get and workflow.describe
	Names  Actions         // that tasks may call
	Now    func() time.Time
	NewID  func() string // UUIDs

	// NoModel returns why a provider cannot answer the prompts of a task; nil where
	// it can. An empty name is the default one. Nil is not asked.
	NoModel func(provider string) *toolfold.Error

	// Rights are those of the server, which its callers have at most: what they leave
	// may run in a process with more. Nil is all.
	Rights *toolfold.Rights

	// Workspace names the workspace that the service belongs to. Tasks that it
	// submits run only in processes that work this workspace.
	Workspace string

	// MaxInterruptions bounds how often the runs of one attempt of a task may be
	// cut off, as their process stops or dies, before the task fails.
	MaxInterruptions int

	// TraceOf returns the id of the newest trace of the runs of a task, empty if none is
	// recorded. Nil leaves traces out.
	TraceOf func(ctx context.Context, taskID string) (string, error)

	// CancelWait bounds how long cancel waits for a running task to stop;
	// zero = 20 s.
	CancelWait time.Duration

	// MaxOpen bounds how many tasks of a workspace may be open, that is not
	// yet ended; zero = 10,000.
	MaxOpen int
}

// Service runs the task actions. It is safe for concurrent use, and several
// may share a store. It runs no tasks: a worker does.
type Service struct {
	Options
	now func() time.Time
}

// New returns a service.
func New(o Options) *Service {
	o.CancelWait = cmp.Or(o.CancelWait, 20*time.Second)
	o.MaxOpen = cmp.Or(o.MaxOpen, 10_000)
	return &Service{Options: o, now: clock.Micros(o.Now)}
}

// rights returns what the caller may do on this server.
func (s *Service) rights(ctx context.Context) *toolfold.Rights {
	return toolfold.OriginOf(ctx).Rights.And(s.Rights)
}

// Status shows a task, its input only to calls that name it in include_fields.
// It says so when a task is ready and nothing works its
// workspace.
func (s *Service) Status(ctx context.Context, in StatusIn) (Record, error) {
	t, err := s.find(ctx, in.TaskID)
	if err != nil {
		return Record{}, err
	}
	record := Record{Item: s.item(t)}
	if !callctx.Wants(ctx, "input") {
		record.Input = nil
	}
	if s.TraceOf != nil && t.Turn > 0 {
		if record.TraceID, err = s.TraceOf(ctx, t.ID); err != nil {
			return Record{}, fmt.Errorf("looking for its trace: %w", err)
		}
	}
	switch t.Status {
	case Running, Failed, Cancelled, TimedOut:
		p, _, err := s.Store.Progress(ctx, t.ID, t.Turn)
		if err != nil {
			return Record{}, fmt.Errorf("reading progress: %w", err)
		}
		if p.Total > 0 {
			record.Progress = &Steps{Done: thousandths(p.Done), Total: thousandths(p.Total)}
		}
		record.Lines = p.Lines
	default:
		if record.WaitsFor, err = s.waitsFor(ctx, t); err != nil {
			return Record{}, err
		}
	}
	return record, nil
}

// thousandths rounds a sum of fractions to three decimals.
func thousandths(n float64) float64 { return math.Round(n*1000) / 1000 }

// waitsFor says what keeps a task from starting; empty for one that has ended.
func (s *Service) waitsFor(ctx context.Context, t Task) (string, error) {
	switch {
	case Final(t.Status):
		return "", nil
	case t.Workspace == "":
		return "it was submitted before tasks belonged to a workspace: call task.retry in the folder that it is for", nil
	case t.Imported && t.Schedule != "":
		return "toolfold import --activate, as it was imported, or task.update with paused: false", nil
	case t.Imported:
		return "toolfold import --activate, as it was imported", nil
	case t.Status == Paused && t.Schedule != "":
		return "task.update with paused: false", nil
	case t.Status == Paused:
		return fmt.Sprintf("queue %s is paused: queue.resume", t.QueueID), nil
	case t.Status == Queued:
		worked, err := s.Store.Worked(ctx, t.Workspace)
		if err != nil {
			return "", fmt.Errorf("looking for workers: %w", err)
		}
		if !worked {
			return fmt.Sprintf("no server of workspace %s is open: start toolfold serve or toolfold worker there", t.Workspace), nil
		}
		lacks, err := s.Store.Lacking(ctx, t.ID)
		if err != nil {
			return "", fmt.Errorf("looking for workers: %w", err)
		}
		if lacks != "" {
			return fmt.Sprintf("a server of workspace %s whose folder has it: in one that is open, %s", t.Workspace, lacks), nil
		}
		return fmt.Sprintf("a free place in queue %s, within its ratePerMinute if it has one", t.QueueID), nil
	}
	for _, id := range t.Dependencies {
		state, found, err := s.Store.State(ctx, id)
		if err != nil {
			return "", fmt.Errorf("reading dependencies: %w", err)
		}
		if found && state != Completed {
			return fmt.Sprintf("dependency %s, which is %s", id, state), nil
		}
	}
	switch {
	case t.Schedule != "":
		return "the next time of its schedule", nil
	case t.Attempt > 1:
		return fmt.Sprintf("attempt %d, at nextAt", t.Attempt), nil
	}
	return "its time, nextAt", nil
}

// Wait waits until a task ends, in whatever process, and shows it. When the time
// is up it shows the task as it is; so it does soon for one that no process is
// there to run.
func (s *Service) Wait(ctx context.Context, in WaitIn) (WaitOut, error) {
	t, err := s.find(ctx, in.TaskID)
	if err != nil {
		return WaitOut{}, err
	}
	limited, done := context.WithTimeout(ctx, time.Duration(in.TimeoutMs)*time.Millisecond)
	defer done()
	unmanned := time.Now().Add(time.Second) // a server that just started has a worker by then
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		state, found, err := s.Store.State(ctx, t.ID)
		if err != nil {
			return WaitOut{}, fmt.Errorf("waiting for task: %w", err)
		}
		shown := !found || t.Schedule != "" || Final(state) || limited.Err() != nil
		if !shown && state != Running && time.Now().After(unmanned) {
			worked, err := s.Store.Worked(ctx, t.Workspace)
			if err != nil {
				return WaitOut{}, fmt.Errorf("looking for workers: %w", err)
			}
			shown = !worked
			unmanned = time.Now().Add(5 * time.Second)
		}
		if shown {
			record, err := s.Status(ctx, StatusIn{TaskID: in.TaskID})
			return WaitOut{record}, err
		}
		select {
		case <-limited.Done():
		case <-time.After(pause):
		}
	}
}

func (s *Service) find(ctx context.Context, id string) (Task, error) {
	t, found, err := s.Store.Get(ctx, strings.ToLower(id))
	if err != nil {
		return Task{}, fmt.Errorf("reading task: %w", err)
	}
	if !found {
		return Task{}, notFound(id)
	}
	return t, nil
}

func notFound(id string) error {
	return toolfold.Errorf(NotFound, "there is no task %s", id).WithHint("task.list shows those there are")
}

func queueNotFound(idOrName string) error {
	return toolfold.Errorf(QueueNotFound, "there is no queue %q", shorten.Quoted(idOrName)).
		WithHint("queue.list shows those there are, queue.create makes one")
}

// List lists tasks, a page at a time. Input, output and members with their
// default value are left out unless include_fields names them.
func (s *Service) List(ctx context.Context, in ListIn) (ListOut, error) {
	after, err := in.Position("task.list")
	if err != nil {
		return ListOut{}, err
	}
	query := Query{
		AgentID: in.AgentID, ScheduleID: strings.ToLower(in.ScheduleID), Statuses: in.Status, Priorities: in.Priority, Tags: in.Tags,
		Limit: in.Limit + 1, After: after, Input: callctx.Wants(ctx, "tasks.input"), Output: callctx.Wants(ctx, "tasks.output"),
	}
	if in.QueueID != "" {
		id, found, err := s.Store.QueueID(ctx, in.QueueID)
		if err != nil {
			return ListOut{}, fmt.Errorf("reading queue: %w", err)
		}
		if !found {
			return ListOut{}, queueNotFound(in.QueueID)
		}
		query.QueueID = id
	}
	page, err := s.Store.List(ctx, query)
	if err != nil {
		return ListOut{}, fmt.Errorf("listing tasks: %w", err)
	}
	tasks, paged := toolfold.CutPage(page.Tasks, in.Limit, func(last Task) string {
		return toolfold.Position{CreatedAt: last.CreatedAt, ID: last.ID}.Cursor()
	})
	out := ListOut{Tasks: []Item{}, Total: page.Total, Paged: paged}
	for _, t := range tasks {
		item := s.item(t)
		item.brief(ctx)
		out.Tasks = append(out.Tasks, item)
	}
	return out, nil
}

// Retry starts a task again, after the steps that have finished. It runs what
// was submitted, unless the caller wants the present definition. A task of no
// workspace becomes one of this workspace.
func (s *Service) Retry(ctx context.Context, in RetryIn) (RetryOut, error) {
	before, err := s.find(ctx, in.TaskID)
	if err != nil {
		return RetryOut{}, err
	}
	if before.Workspace != "" && !Final(before.Status) || before.Status == Completed {
		return RetryOut{}, toolfold.Errorf(InvalidState, "the task is %s; only failed, cancelled and timed-out tasks can be retried",
			before.Status)
	}
	retrial := Retrial{TaskID: before.ID, Reset: in.ResetAttempts, At: s.now()}
	var since []string
	if before.Workspace == "" || before.Workspace == s.Workspace {
		retrial.Workspace = s.Workspace
		present, err := before.Define(ctx, s.Caller, s.Names)
		if err != nil {
			return RetryOut{}, err
		}
		then, err := Pins(before.Definition)
		if err != nil {
			return RetryOut{}, err
		}
		now, err := Pins(present)
		if err != nil {
			return RetryOut{}, err
		}
		since = changed(then, now)
		if (in.Current || before.Definition == "") && before.Schedule == "" {
			retrial.Definition = present
		}
	} else if in.Current {
		return RetryOut{}, toolfold.Errorf(InvalidState, "the task is of workspace %s; its agent or workflow there may differ",
			before.Workspace).
			WithHint("retry it there, or without current")
	}
	t, blocked, err := s.Store.Retry(ctx, retrial)
	if err != nil {
		return RetryOut{}, fmt.Errorf("retrying task: %w", err)
	}
	if len(blocked) > 0 {
		return RetryOut{}, obstructed(blocked)
	}
	return RetryOut{TaskID: t.ID, Status: t.Status, Attempt: t.Attempt, RetriedAt: retrial.At, Changed: since}, nil
}

// obstructed is the error for what keeps a task from being started.
func obstructed(blocked []Obstacle) error {
	first := blocked[0]
	if first.Schedule {
		return toolfold.Errorf(toolfold.InvalidInput, "dependency %s has a schedule, so that it never completes", first.TaskID).
			About(toolfold.ProblemRefused, "dependencies").
			WithHint("let the scheduled run submit the task that follows")
	}
	if first.Key {
		return toolfold.Errorf(InvalidState, "task %s of the same key is %s", first.TaskID, first.Status).
			WithHint("task.wait for it, or cancel it first")
	}
	if first.Status == "" {
		return toolfold.Errorf(toolfold.InvalidInput, "dependency %q is no task", shorten.Quoted(first.TaskID)).
			About(toolfold.ProblemRefused, "dependencies").
			WithHint("dependencies are the ids that task.submit returned")
	}
	return toolfold.Errorf(InvalidState, "dependency %s ended as %s", first.TaskID, first.Status).
		WithHint("retry it first")
}

// Cancel ends a task, or all that the filters pick. It waits for those that run.
func (s *Service) Cancel(ctx context.Context, in CancelIn) (CancelOut, error) {
	filtered := in.QueueID != "" || in.ScheduleID != "" || len(in.Tags) > 0 || len(in.Status) > 0
	switch {
	case in.TaskID == "" && !filtered:
		return CancelOut{}, toolfold.Errorf(toolfold.InvalidInput, "no task is named").
			About(toolfold.ProblemMissing, taskID.Param().Name).
			WithHint("give taskId, or some of queueId, scheduleId, tags and status to cancel all that match")
	case in.TaskID != "" && filtered:
		return CancelOut{}, toolfold.Errorf(toolfold.InvalidInput, "taskId and filters exclude each other").
			About(toolfold.ProblemRefused, taskID.Param().Name).
			WithHint("leave out taskId, or queueId, scheduleId, tags and status")
	case filtered:
		return s.cancelAll(ctx, in)
	case in.DryRun:
		return CancelOut{}, toolfold.Errorf(toolfold.InvalidInput, "dryRun counts what filters pick, and taskId is one task").
			About(toolfold.ProblemRefused, dryRun.Name).
			WithHint("task.status shows the task")
	}
	c := Cancellation{
		TaskID: strings.ToLower(in.TaskID), Reason: cmp.Or(in.Reason, "cancelled by request"), Force: in.Force, At: s.now(),
	}
	before, found, err := s.Store.Cancel(ctx, c)
	switch {
	case err != nil:
		return CancelOut{}, fmt.Errorf("cancelling task: %w", err)
	case !found:
		return CancelOut{}, notFound(in.TaskID)
	case Final(before):
		return CancelOut{}, toolfold.Errorf(InvalidState, "the task has ended already, as %s", before)
	case before == Running && !in.Force:
		return s.awaitEnd(ctx, c)
	}
	return CancelOut{TaskID: c.TaskID, Status: Cancelled, Reason: c.Reason, CancelledAt: c.At}, nil
}

// awaitEnd waits for the worker of a task to stop it.
func (s *Service) awaitEnd(ctx context.Context, c Cancellation) (CancelOut, error) {
	limited, done := context.WithTimeout(ctx, s.CancelWait)
	defer done()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		t, err := s.find(ctx, c.TaskID)
		switch {
		case err != nil:
			return CancelOut{}, err
		case t.Status == Cancelled:
			return CancelOut{TaskID: t.ID, Status: t.Status, Reason: c.Reason, CancelledAt: t.EndedAt}, nil
		case Final(t.Status):
			return CancelOut{}, toolfold.Errorf(InvalidState, "the task ended as %s before it could be stopped", t.Status)
		}
		select {
		case <-ticker.C:
		case <-limited.Done():
			return CancelOut{}, toolfold.Errorf(CancelFailed, "the task was asked to stop and still runs").
				WithHint("look at task.status later, or cancel with force to record it without waiting")
		}
	}
}
