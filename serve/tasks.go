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
	"github.com/toolfold/toolfold/content"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Tasks stores calls that outlive their request, for clients of 2026-07-28 that accept a task as an
// answer. All methods are safe for concurrent use. The context carries the caller, see
// [toolfold.OriginOf].
type Tasks interface {
	// Keep stores a call durably before it runs, and starts it. An empty id means that the call has
	// to run within its request.
	Keep(ctx context.Context, k TaskCall) (id string, err error)

	// Find returns the current state of a task. found is false also if the caller may not see it.
	Find(ctx context.Context, id string) (t Task, found bool, err error)

	// Cancel requests the end of a task and does not wait for it. A final task stays as it is. A
	// [*toolfold.Error] tells the caller why it may not cancel.
	Cancel(ctx context.Context, id string) error

	// Answer stores the client's answers to the questions of a task, by the keys of [Task.Asks],
	// and lets the task continue. The first answer to a question counts. A [*toolfold.Error] tells
	// the caller why it may not answer.
	Answer(ctx context.Context, id string, answers map[string]json.RawMessage) error
}

// TaskCall is a valid call of a client, to store as a task.
type TaskCall struct {
	Action    string          // full name
	Arguments json.RawMessage // all of them, in the action's own spelling

	// Name and Raw are the call as the client made it. They decide the form of the answer once
	// there is a result.
	Name string
	Raw  json.RawMessage

	// Client lists the kinds of questions that the client answers, for [WithClient]. Nil = it
	// answers no questions.
	Client json.RawMessage
}

// Task is the state of a task call, or of a task that a call waits for, at one moment.
type Task struct {
	ID      string
	Status  TaskStatus
	Message string // for people; may be empty

	Created, Updated time.Time

	// Name and Raw are the client's call, see [TaskCall]. Result is the result of its action, or
	// {"error": …}. Failed reports that Result is a failure.
	Name   string
	Raw    json.RawMessage
	Result json.RawMessage // nil until the task is completed
	Failed bool

	Asks []TaskQuestion // open questions if Status is TaskInputRequired, in order

	// Awaited reports that the task is not a call of a client. It continues when the clients that
	// wait for it leave.
	Awaited bool
}

// TaskStatus is the state of a task, in the words of the protocol.
type TaskStatus string

// The states of a task.
const (
	TaskWorking       TaskStatus = "working"
	TaskInputRequired TaskStatus = "input_required" // continues when its client has answered
	TaskCompleted     TaskStatus = "completed"      // with a result, which may be a failed call's
	TaskFailed        TaskStatus = "failed"         // without a result
	TaskCancelled     TaskStatus = "cancelled"
)

// final reports whether the state is an end state.
func (s TaskStatus) final() bool { return s != TaskWorking && s != TaskInputRequired }

// Methods for tasks of 2026-07-28 that mcp-go does not have.
const (
	methodTasksGet    mcp.MCPMethod = "tasks/get"
	methodTasksUpdate mcp.MCPMethod = "tasks/update"
	methodTasksCancel mcp.MCPMethod = "tasks/cancel"
)

// tasksExtension names tasks in the capabilities.
const tasksExtension = protocolMeta + "tasks"

// taskInterval is the pause between two requests for a task that clients are advised to make.
const taskInterval = time.Second

// takesTasks reports whether the client accepts a task as an answer.
func (r *request) takesTasks() bool {
	if !r.modern() || r.admission.info.ClientCapabilities == nil {
		return false
	}
	_, declared := r.admission.info.ClientCapabilities.Extensions[tasksExtension]
	return declared
}

// withTasks returns a context in which a call may become a task.
func (s *Server) withTasks(ctx context.Context, r *request) context.Context {
	if s.tasks == nil || !r.takesTasks() {
		return ctx
	}
	return call.WithDeferral(ctx, func(ctx context.Context, c *call.Call) (toolfold.Answer, bool) { return s.withDeferral(ctx, r, c) })
}

// withDeferral is the [call.Deferral] for clients that accept tasks. It keeps a call, or finds the task
// that a call waits for. If the task ends in time, its result is the answer, else the task is.
func (s *Server) withDeferral(ctx context.Context, r *request, c *call.Call) (toolfold.Answer, bool) {
	awaits := c.Entry.Action.AwaitsTask
	var id string
	if args, _ := c.Arguments(); awaits {
		id, _ = args["taskId"].(string)
		if t, found, err := s.tasks.Find(ctx, id); err != nil || !found || !t.Awaited || t.Status.final() {
			return toolfold.Answer{}, false // the action answers that too, with the reason
		}
	} else {
		var err error
		id, err = s.tasks.Keep(ctx, TaskCall{
			Action: c.Entry.Action.FullName(), Arguments: c.Own(), Name: c.Name, Raw: c.Raw, Client: r.declared().answers(),
		})
		if err != nil {
			s.log.Warn("a call is not stored as a task", "action", c.Entry.Action.FullName(), "err", err)
		}
		if id == "" {
			return toolfold.Answer{}, false
		}
	}
	t, err := s.await(ctx, id, s.waits.task)
	if err != nil {
		s.log.Warn("looking for a task that was just stored", "task", id, "err", err)
	}
	switch {
	case ctx.Err() != nil && !awaits: // the client does not know the task
		if err := s.tasks.Cancel(context.WithoutCancel(ctx), id); err != nil {
			s.log.Warn("cancelling a task", "task", id, "err", err)
		}
		return toolfold.Errorf(toolfold.Cancelled, "%s was cancelled before it ended", c.Entry.Title()).Answer(), true
	case awaits && (err != nil || t.Status.final()):
		return toolfold.Answer{}, false
	case err != nil, !t.Status.final(), s.waits.task < 0: // if the store is down, the task goes on
		return toolfold.Answer{TaskID: id, Content: ordered.MustJSON(ordered.Map{{Key: "taskId", Value: id}})}, true
	case t.Status == TaskCompleted:
		return c.Recall(ctx, t.Result, t.Failed), true
	case t.Status == TaskCancelled:
		return toolfold.Errorf(toolfold.Cancelled, "%s", t.Message).Answer(), true
	}
	return toolfold.Errorf(toolfold.Internal, "%s", t.Message).Answer(), true
}

// await waits until a task has ended or asks its client, at most the given time, and returns it. It
// returns the last error of reading the task.
func (s *Server) await(ctx context.Context, id string, most time.Duration) (Task, error) {
	limited, done := context.WithTimeout(ctx, most)
	defer done()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		t, found, err := s.tasks.Find(ctx, id)
		switch {
		case err == nil && !found:
			return t, fmt.Errorf("task %s is gone", id)
		case err == nil && t.Status != TaskWorking:
			return t, nil
		}
		select {
		case <-limited.Done():
			return t, err
		case <-time.After(pause):
		}
	}
}

// members returns the members that every answer about a task has. ttlMs is null: tasks are not stored
// for a fixed time after their creation.
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

// appendAnswer appends the result of a call: its answer, or its task.
func (s *Server) appendAnswer(
	ctx context.Context, r *request, out []byte, answer toolfold.Answer, structured bool,
) ([]byte, *protocolError) {
	if answer.TaskID == "" {
		return r.appendResult(out, answer, structured, s.links(answer)...)
	}
	t, found, err := s.tasks.Find(ctx, answer.TaskID)
	if err != nil || !found { // the client needs only the id, and asks again
		now := time.Now()
		t = Task{ID: answer.TaskID, Status: TaskWorking, Created: now, Updated: now}
	}
	return r.appendMembers(out, "task", t.members()), nil
}

// links returns the resource link appended to a truncated answer.
func (s *Server) links(answer toolfold.Answer) []content.Block {
	if answer.RestID == "" || s.answerLink == nil {
		return nil
	}
	return []content.Block{s.answerLink(answer.RestID).Block()}
}

// appendMembers appends the members of a result with its own result type, and the end.
func (r *request) appendMembers(out []byte, resultType string, members ordered.Map) []byte {
	members.Set("resultType", resultType)
	text := ordered.MustJSON(members)
	t := admission{meta: r.admission.meta}
	return t.append(append(out, text[1:len(text)-1]...), nil)
}

// aboutTask answers tasks/get, tasks/cancel and tasks/update.
func (s *Server) aboutTask(ctx context.Context, r *request, out []byte) ([]byte, *protocolError) {
	if !r.modern() {
		return nil, &protocolError{code: mcp.METHOD_NOT_FOUND, message: fmt.Sprintf("Method %s not found", r.method)}
	}
	id, failed := r.taskID()
	if failed != nil {
		return nil, failed
	}
	t, failed := s.find(ctx, r, id)
	if failed != nil {
		return nil, failed
	}
	switch r.method {
	case methodTasksGet:
		return s.appendTask(ctx, r, out, t)
	case methodTasksCancel:
		if !t.Status.final() && !t.Awaited {
			if err := s.tasks.Cancel(ctx, id); err != nil {
				return nil, s.handlerError(r, err)
			}
		}
	case methodTasksUpdate:
		if failed := s.answerTask(ctx, r, t); failed != nil {
			return nil, failed
		}
	}
	return r.appendMembers(out, "complete", nil), nil
}

// answerTask passes on the client's answers to the open questions of a task. Answers to other
// questions are dropped.
func (s *Server) answerTask(ctx context.Context, r *request, t Task) *protocolError {
	responses, failed := readResponses(r.params.responses)
	if failed != nil {
		return failed
	}
	answers := map[string]json.RawMessage{}
	for _, question := range t.Asks {
		answer, given := responses[question.Key]
		if !given {
			continue
		}
		if !fits(question.Method, answer) {
			return &protocolError{code: mcp.INVALID_PARAMS,
				message: fmt.Sprintf("inputResponses has no result of %s under %s", question.Method, shorten.Quoted(question.Key))}
		}
		answers[question.Key] = answer
	}
	if len(answers) == 0 {
		return nil
	}
	if err := s.tasks.Answer(ctx, t.ID, answers); err != nil {
		return s.handlerError(r, err)
	}
	return nil
}

// taskID returns the task that a request names.
func (r *request) taskID() (string, *protocolError) {
	if !r.takesTasks() {
		return "", lacksTasks
	}
	var raw json.RawMessage
	scan(r.rawParams, []memberTarget{{"taskId", &raw}})
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

// lacksTasks answers requests about tasks from clients that do not declare tasks.
var lacksTasks = &protocolError{
	code: mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, message: "Missing required client capability: " + tasksExtension,
	data: map[string]any{"requiredCapabilities": map[string]any{"extensions": map[string]any{tasksExtension: map[string]any{}}}},
}

// find returns a task that the caller may see.
func (s *Server) find(ctx context.Context, r *request, id string) (Task, *protocolError) {
	t, found, err := s.tasks.Find(ctx, id)
	if err != nil {
		return t, s.handlerError(r, err)
	}
	if !found {
		return t, &protocolError{code: mcp.INVALID_PARAMS, message: fmt.Sprintf("there is no task %.100q", id)}
	}
	return t, nil
}

// appendTask appends a task with its result, in the form that the call would have had.
func (s *Server) appendTask(ctx context.Context, r *request, out []byte, t Task) ([]byte, *protocolError) {
	members, refused := s.taskDetail(ctx, r, t)
	if refused != nil {
		return nil, refused
	}
	return r.appendMembers(out, "complete", members), nil
}

// taskDetail returns the members of a task, with its result, error or questions.
func (s *Server) taskDetail(ctx context.Context, r *request, t Task) (ordered.Map, *protocolError) {
	members := t.members()
	switch t.Status {
	case TaskInputRequired:
		requests := ordered.Map{}
		for _, question := range t.Asks {
			requests.Set(question.Key, ordered.Map{{Key: "method", Value: question.Method}, {Key: "params", Value: question.Params}})
		}
		members.Set("inputRequests", requests)
	case TaskCompleted:
		structured, refused := s.wantsStructured(r)
		if refused != nil {
			return nil, &protocolError{code: mcp.INVALID_PARAMS, message: refused.Message}
		}
		answer := s.surface.Client.Recall(ctx, t.Name, t.Raw, t.Result, t.Failed)
		plain := request{message: r.message, log: r.log, admission: &admission{rest: []byte(`"resultType":"complete"`)}} // required marks
		text, failed := plain.appendResult([]byte("{"), answer, structured, s.links(answer)...)
		if failed != nil {
			return nil, failed
		}
		members.Set("result", json.RawMessage(text[:len(text)-1])) // without the closing brace of the message
	case TaskFailed:
		members.Set("error", ordered.Map{{Key: "code", Value: mcp.INTERNAL_ERROR}, {Key: "message", Value: t.Message}})
	}
	return members, nil
}
