package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/ordered"
)

// Tasks keeps calls that outlive their request, for clients of 2026-07-28 that take a
// task for an answer. All methods are safe for concurrent use; the caller is that of the
// context, see [toolfold.OriginOf].
type Tasks interface {
	// Keep keeps a call for good before it runs, and has it run. An empty id = the call
	// has to run within its request.
	Keep(ctx context.Context, k KeptCall) (id string, err error)

	// Find returns a task as it is now; false for one that the caller may not see, too.
	Find(ctx context.Context, id string) (t Task, found bool, err error)

	// Cancel asks for the end of a task, and does not wait for it. A task that has ended
	// stays as it is.
	Cancel(ctx context.Context, id string) error
}

// KeptCall is a valid call that is to be kept.
type KeptCall struct {
	Action    string          // full name
	Arguments json.RawMessage // as the action spells them, complete

	// Name and Raw are the call as the client made it, by which its answer is worded
	// once there is a result.
	Name string
	Raw  json.RawMessage
}

// Task is a kept call, or what a call waits for, as it is at a moment.
type Task struct {
	ID      string
	Status  TaskStatus
	Message string // for people; may be empty

	Created, Updated time.Time

	// Name and Raw are the call whose answer the task has; Result holds what its action
	// returned, {"error": …} for an error. Failed says that the result shows a failure.
	Name   string
	Raw    json.RawMessage
	Result json.RawMessage // nil until the task is completed
	Failed bool

	// Awaited says that the task is no call of a client: it goes on when those who wait
	// for it no longer do.
	Awaited bool
}

// TaskStatus is the state of a task, as clients know it.
type TaskStatus string

// The states of a task. All but TaskWorking are final.
const (
	TaskWorking   TaskStatus = "working"
	TaskCompleted TaskStatus = "completed" // with a result, which may be that of a failed call
	TaskFailed    TaskStatus = "failed"    // without one
	TaskCancelled TaskStatus = "cancelled"
)

// Methods of the tasks of 2026-07-28, which mcp-go does not know.
const (
	methodTasksGet    mcp.MCPMethod = "tasks/get"
	methodTasksUpdate mcp.MCPMethod = "tasks/update"
	methodTasksCancel mcp.MCPMethod = "tasks/cancel"
)

// tasksExtension identifies tasks among the capabilities.
const tasksExtension = protocolMeta + "tasks"

// taskInterval is the pause between two requests for a task that clients are told.
const taskInterval = time.Second

// takesTasks reports whether the client of the request takes a task for an answer.
func (r *request) takesTasks() bool {
	if !r.modern() || r.terms.info.ClientCapabilities == nil {
		return false
	}
	_, declared := r.terms.info.ClientCapabilities.Extensions[tasksExtension]
	return declared
}

// withTasks returns the context of a call that may become a task.
func (s *Server) withTasks(ctx context.Context, r *request) context.Context {
	if s.tasks == nil || !r.takesTasks() {
		return ctx
	}
	return call.WithDeferral(ctx, s.deferred)
}

// deferred is the [call.Deferral] of clients that take tasks: it keeps a call, or finds
// the task that a call waits for, and answers with the task unless that ends soon.
func (s *Server) deferred(ctx context.Context, c *call.Call) (toolfold.Answer, bool) {
	awaits := c.Entry.Action.AwaitsTask
	var id string
	if args, _ := c.Arguments(); awaits {
		id, _ = args["taskId"].(string)
		if t, found, err := s.tasks.Find(ctx, id); err != nil || !found || !t.Awaited || t.Status != TaskWorking {
			return toolfold.Answer{}, false // the action answers that as well, and with reasons
		}
	} else {
		var err error
		id, err = s.tasks.Keep(ctx, KeptCall{Action: c.Entry.Action.FullName(), Arguments: c.Own(), Name: c.Name, Raw: c.Raw})
		if err != nil {
			s.log.Warn("a call is not kept as a task", "action", c.Entry.Action.FullName(), "err", err)
		}
		if id == "" {
			return toolfold.Answer{}, false
		}
	}
	t, err := s.await(ctx, id, s.waits.task)
	switch {
	case ctx.Err() != nil && !awaits: // the client never heard of the task
		if err := s.tasks.Cancel(context.WithoutCancel(ctx), id); err != nil {
			s.log.Warn("cancelling a task", "task", id, "err", err)
		}
		return toolfold.Errorf(toolfold.Cancelled, "%s was cancelled before it ended", c.Entry.Title()).Answer(), true
	case err != nil:
		return c.Fail(ctx, err), true
	case t.Status == TaskWorking, s.waits.task < 0 && !awaits:
		return toolfold.Answer{TaskID: id, Content: ordered.MustJSON(ordered.Map{{Key: "taskId", Value: id}})}, true
	case awaits:
		return toolfold.Answer{}, false
	case t.Status == TaskCompleted:
		return c.Recall(ctx, t.Result, t.Failed), true
	}
	return toolfold.Errorf(toolfold.Cancelled, "%s", t.Message).Answer(), true
}

// await waits until a task has ended, for at most the given time, and returns it.
func (s *Server) await(ctx context.Context, id string, most time.Duration) (Task, error) {
	limited, done := context.WithTimeout(ctx, most)
	defer done()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		t, found, err := s.tasks.Find(ctx, id)
		if err == nil && !found {
			err = fmt.Errorf("task %s is gone", id)
		}
		if err != nil || t.Status != TaskWorking {
			return t, err
		}
		select {
		case <-limited.Done():
			return t, nil
		case <-time.After(pause):
		}
	}
}

// members returns what every answer about a task says of it. It is kept for as long as
// the server keeps tasks, which has no relation to its beginning.
func (t Task) members() ordered.Map {
	members := ordered.Map{{Key: "taskId", Value: t.ID}, {Key: "status", Value: t.Status}}
	if t.Message != "" {
		members.Set("statusMessage", t.Message)
	}
	const millis = "2006-01-02T15:04:05.000Z07:00"
	members.Set("createdAt", t.Created.UTC().Format(millis))
	members.Set("lastUpdatedAt", t.Updated.UTC().Format(millis))
	members.Set("ttlMs", nil)
	members.Set("pollIntervalMs", taskInterval.Milliseconds())
	return members
}

// appendAnswer appends the result of a call: its answer, or the task that will have it.
func (s *Server) appendAnswer(
	ctx context.Context, r *request, out []byte, answer toolfold.Answer, structured bool,
) ([]byte, *protocolError) {
	switch {
	case answer.TaskID != "":
	case answer.Kept != "" && s.kept != nil:
		return r.appendResult(out, answer, structured, s.kept(answer.Kept).Block()), nil
	default:
		return r.appendResult(out, answer, structured), nil
	}
	t, failed := s.find(ctx, answer.TaskID)
	if failed != nil {
		return nil, failed
	}
	return r.appendMembers(out, "task", t.members()), nil
}

// appendMembers appends the members and the end of a result that has a type of its own.
func (r *request) appendMembers(out []byte, resultType string, members ordered.Map) []byte {
	members.Set("resultType", resultType)
	text := ordered.MustJSON(members)
	t := terms{meta: r.terms.meta}
	return t.append(append(out, text[1:len(text)-1]...), nil)
}

// aboutTask appends the result of a request about a task.
func (s *Server) aboutTask(ctx context.Context, r *request, out []byte) ([]byte, *protocolError) {
	if !r.modern() {
		return nil, &protocolError{code: mcp.METHOD_NOT_FOUND, message: fmt.Sprintf("Method %s not found", r.method)}
	}
	id, failed := r.taskID()
	if failed != nil {
		return nil, failed
	}
	t, failed := s.find(ctx, id)
	if failed != nil {
		return nil, failed
	}
	switch r.method {
	case methodTasksGet:
		return s.appendTask(ctx, r, out, t)
	case methodTasksCancel:
		if t.Status == TaskWorking && !t.Awaited {
			if err := s.tasks.Cancel(ctx, id); err != nil {
				return nil, s.taskFailure(id, err)
			}
		}
	}
	return r.appendMembers(out, "complete", nil), nil // an update answers no question: tasks ask none
}

// taskID returns the task that a request is about.
func (r *request) taskID() (string, *protocolError) {
	if !r.takesTasks() {
		return "", lacksTasks
	}
	var raw json.RawMessage
	scan(r.rawParams, []named{{"taskId", &raw}})
	id := textOfJSON(raw)
	if id == "" {
		return "", &protocolError{code: mcp.INVALID_PARAMS, message: "taskId must be a text"}
	}
	if header, given := r.header[http.CanonicalHeaderKey(mcp.HeaderName)]; given {
		if name, ok := mcp.DecodeHeaderValue(header[0]); !ok || len(header) > 1 || name != id {
			return "", &protocolError{code: mcp.HEADER_MISMATCH, message: "the header Mcp-Name is not the taskId of the request"}
		}
	}
	return id, nil
}

// lacksTasks answers requests about tasks of clients that do not declare them.
var lacksTasks = &protocolError{
	code: mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, message: "Missing required client capability: " + tasksExtension,
	data: map[string]any{"requiredCapabilities": map[string]any{"extensions": map[string]any{tasksExtension: map[string]any{}}}},
}

// find returns a task that the caller may see.
func (s *Server) find(ctx context.Context, id string) (Task, *protocolError) {
	t, found, err := s.tasks.Find(ctx, id)
	if err != nil {
		return t, s.taskFailure(id, err)
	}
	if !found {
		return t, &protocolError{code: mcp.INVALID_PARAMS, message: fmt.Sprintf("there is no task %.100q", id)}
	}
	return t, nil
}

func (s *Server) taskFailure(id string, err error) *protocolError {
	s.log.Error("answering for a task", "task", id, "err", err)
	return &protocolError{code: mcp.INTERNAL_ERROR, message: "the task cannot be read just now; the server's log says why"}
}

// appendTask appends a task with its answer, the same that the call would have been
// answered.
func (s *Server) appendTask(ctx context.Context, r *request, out []byte, t Task) ([]byte, *protocolError) {
	members, refused := s.detailed(ctx, r, t)
	if refused != nil {
		return nil, refused
	}
	return r.appendMembers(out, "complete", members), nil
}

// detailed returns the members of a task with its answer or its failure.
func (s *Server) detailed(ctx context.Context, r *request, t Task) (ordered.Map, *protocolError) {
	members := t.members()
	switch t.Status {
	case TaskCompleted:
		structured, refused := s.wantsStructured(r)
		if refused != nil {
			return nil, &protocolError{code: mcp.INVALID_PARAMS, message: refused.Message}
		}
		answer := s.surface.Client.Recall(ctx, t.Name, t.Raw, t.Result, t.Failed)
		plain := request{message: r.message, terms: &terms{rest: []byte(`,"resultType":"complete"`)}} // what clients require of it
		text := plain.appendResult([]byte("{"), answer, structured)
		members.Set("result", json.RawMessage(text[:len(text)-1])) // without the end of the message
	case TaskFailed:
		members.Set("error", ordered.Map{{Key: "code", Value: mcp.INTERNAL_ERROR}, {Key: "message", Value: t.Message}})
	}
	return members, nil
}
