package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/audit"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/tools/task"
)

// Tasks returns the keeper of calls as tasks of the task family. If this process runs no tasks, calls
// are only kept while another process does.
func (h Host) Tasks() serve.Tasks { return h.keeper() }

func (h Host) keeper() keeper {
	return keeper{open: openStore(h, h.tasks), caller: h.Caller, rights: h.Rights, works: h.Works, record: h.Record}
}

// keeper implements [serve.Tasks].
type keeper struct {
	open   func(context.Context) (*task.Service, error)
	caller *call.Runner
	rights *toolfold.Rights // of all callers
	works  bool

	record func(ctx context.Context, name string, arguments any, change func(context.Context) error) error // see [Host]
}

// Keep implements [serve.Tasks]. It does not keep a call that no task can run: that call runs
// within its request, or fails there with its own error.
func (k keeper) Keep(ctx context.Context, call serve.TaskCall) (id string, err error) {
	id, err = k.keep(ctx, call)
	if _, refused := errors.AsType[*toolfold.Error](err); refused {
		return "", nil
	}
	return id, err
}

// keep stores a call as a task. It returns an empty id if no process runs tasks of the workspace.
func (k keeper) keep(ctx context.Context, call serve.TaskCall) (id string, err error) {
	service, err := k.open(ctx)
	if err != nil {
		return "", err
	}
	if !k.works {
		worked, err := service.Worked(ctx)
		if err != nil || !worked {
			return "", err
		}
	}
	var by json.RawMessage
	if from := audit.CallerOf(ctx, toolfold.OriginOf(ctx)); from != (callctx.By{}) {
		by = ordered.MustJSON(from)
	}
	return service.Keep(ctx, task.Kept{
		Call: task.Call{Tool: call.Action, Arguments: call.Arguments}, ClientCall: &task.Call{Tool: call.Name, Arguments: call.Raw},
		Client: call.Client, Caller: callerOf(ctx), By: by, As: shorten.To(toolfold.OriginOf(ctx).Client, audit.MaxClient),
	})
}

// process distinguishes the sessions of this process on stdio from those of others.
var process = uuid.NewString()

// callerOf returns a digest that identifies the session of a call, or its caller if there is no session.
func callerOf(ctx context.Context) string {
	from := toolfold.OriginOf(ctx)
	id := "caller " + from.Token
	switch {
	case strings.HasPrefix(from.Session, callctx.HTTPSession):
		id = "session " + from.Session
	case from.Session != "":
		id = "session " + process + " " + from.Session
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:12])
}

// Find implements [serve.Tasks]. Callers see a task call if its action exists for them, and if they
// may call it and have the rights that it was kept with, or may call task.status. Other tasks
// require task.wait, and are shown as a call of it.
func (k keeper) Find(ctx context.Context, id string) (t serve.Task, found bool, err error) {
	service, err := k.open(ctx)
	if err != nil {
		return t, false, err
	}
	stored, found, err := service.ClientTask(ctx, id)
	if err != nil || !found {
		return t, false, err
	}
	const status, wait = "task.status", "task.wait"
	if stored.ClientCall != nil && !k.within(ctx, stored) {
		return t, false, nil
	}
	if stored.ClientCall == nil && !k.permits(ctx, wait) || stored.ClientCall != nil && !k.ownerOf(ctx, stored) && !k.permits(ctx, status) {
		return t, false, nil
	}
	t = serve.Task{ID: stored.ID, Status: serve.TaskWorking, Message: stored.Message, Created: stored.CreatedAt, Updated: stored.CreatedAt}
	if stored.StartedAt.After(t.Updated) {
		t.Updated = stored.StartedAt
	}
	if task.Final(stored.Status) {
		t.Updated, t.Message = stored.EndedAt, stored.Error
	}
	if stored.ClientCall == nil {
		return k.awaitTask(ctx, t, stored)
	}
	t.Name, t.Raw, t.Failed = stored.ClientCall.Tool, stored.ClientCall.Arguments, stored.Status != task.Completed
	switch {
	case !task.Final(stored.Status) && len(stored.Questions) > 0:
		t.Status = serve.TaskInputRequired
		for _, q := range stored.Questions {
			t.Asks = append(t.Asks, serve.TaskQuestion{Key: q.Key, Method: q.Method, Params: q.Params})
			t.Updated = q.AskedAt
		}
	case !task.Final(stored.Status):
	case stored.Status == task.Cancelled:
		t.Status = serve.TaskCancelled
	case stored.Output == nil:
		t.Status = serve.TaskFailed
	default:
		t.Status, t.Result, t.Message = serve.TaskCompleted, stored.Output, ""
	}
	return t, true, nil
}

// awaitTask completes a task that is shown as a call of task.wait.
func (k keeper) awaitTask(ctx context.Context, t serve.Task, stored task.ClientTask) (serve.Task, bool, error) {
	t.Awaited, t.Name, t.Raw = true, "task.wait", ordered.MustJSON(map[string]string{"taskId": stored.ID})
	if !task.Final(stored.Status) {
		return t, true, nil
	}
	answer := k.caller.Call(ctx, t.Name, t.Raw)
	if answer.Err != nil {
		return t, false, answer.Err
	}
	t.Status, t.Result, t.Failed, t.Message = serve.TaskCompleted, answer.Content, answer.Failed, ""
	return t, true, nil
}

// Cancel implements [serve.Tasks]. It is for callers with the rights that the call was kept with,
// and for those who may call task.cancel.
func (k keeper) Cancel(ctx context.Context, id string) error {
	service, err := k.open(ctx)
	if err != nil {
		return err
	}
	stored, found, err := service.ClientTask(ctx, id)
	if err != nil {
		return err
	}
	const cancel = "task.cancel"
	if found && !k.ownerOf(ctx, stored) && !k.permits(ctx, cancel) {
		return toolfold.Errorf(toolfold.PermissionDenied, "the task was kept for a caller with other rights than yours").
			WithHint("%s ends tasks of other callers, and is not among your rights", cancel)
	}
	stop := func(ctx context.Context) error { return service.Stop(ctx, id) }
	if k.record == nil {
		return stop(ctx)
	}
	return k.record(ctx, cancel, map[string]string{"taskId": id}, stop)
}

// Answer implements [serve.Tasks]. It is only for callers with the rights that the call was kept
// with, because a call's questions are for its own caller.
func (k keeper) Answer(ctx context.Context, id string, answers map[string]json.RawMessage) error {
	service, err := k.open(ctx)
	if err != nil {
		return err
	}
	stored, found, err := service.ClientTask(ctx, id)
	if err != nil {
		return err
	}
	if found && !k.ownerOf(ctx, stored) {
		return toolfold.Errorf(toolfold.PermissionDenied, "the task was kept for a caller with other rights than yours, and asks that one")
	}
	return service.Answer(ctx, id, answers)
}

// within reports whether the task's action is visible to the caller, see [toolfold.Rights.Within].
func (k keeper) within(ctx context.Context, stored task.ClientTask) bool {
	bounds := toolfold.OriginOf(ctx).Rights.And(k.rights).Bounds()
	if bounds == nil {
		return true
	}
	var c task.Call
	return json.Unmarshal(stored.Input, &c) == nil && k.includes(bounds, c.Tool)
}

// ownerOf reports whether the caller may call the task's action, and has at least the rights that
// the task was kept with.
func (k keeper) ownerOf(ctx context.Context, stored task.ClientTask) bool {
	var c task.Call
	if json.Unmarshal(stored.Input, &c) != nil || !k.permits(ctx, c.Tool) {
		return false
	}
	narrowed, err := toolfold.OriginOf(ctx).Rights.And(k.rights).Narrow(stored.Rights)
	return err == nil && narrowed == stored.Rights
}

// permits reports whether the caller may call an action.
func (k keeper) permits(ctx context.Context, action string) bool {
	return k.includes(toolfold.OriginOf(ctx).Rights, action)
}

// includes reports whether the server offers an action that the rights allow.
func (k keeper) includes(rights *toolfold.Rights, action string) bool {
	for _, e := range k.caller.Lookup(action) {
		if e.Action.FullName() == action && rights.Allow(e.Action) {
			return true
		}
	}
	return false
}
