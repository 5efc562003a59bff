package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/engine"
	"github.com/toolfold/toolfold/internal/sessions"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/tools/task"
)

// Why a run is stopped.
var (
	errCancelled = errors.New("the task was cancelled")
	errLeaseLost = errors.New("the lease ran out")
	errTimedOut  = errors.New("the time ran out")
	errStopped   = errors.New("the worker stops")
)

// run runs a claimed task in the context of its run, and records how it ended
// while ctx, that of the worker, lasts. It returns when the call has, so that
// what goes on after its end was recorded keeps its slot.
func (s *working) run(ctx, within context.Context, t task.Task) {
	if s.leaseLost() {
		s.runs.stop(Run{t.ID, t.Turn}, errLeaseLost)
	}
	done := func() {}
	if t.Timeout > 0 {
		within, done = context.WithTimeoutCause(within, t.Timeout, errTimedOut)
	}
	defer done()
	late := make(chan struct{}) // closed when the call goes on long after its time ran out
	context.AfterFunc(within, func() {
		if errors.Is(context.Cause(within), errTimedOut) {
			time.AfterFunc(s.options.Yield, func() { close(late) })
		}
	})
	run := Run{t.ID, t.Turn}
	told := toolfold.WithProgress(within, func(p toolfold.Progress) {
		s.runs.note(run, func(kept *task.Progress) {
			kept.Done, kept.Total = p.Done, p.Total
			if p.Message != "" {
				kept.Say(p.Message)
			}
		})
	})
	told = engine.WithLines(told, func(line string) { s.runs.note(run, func(kept *task.Progress) { kept.Say(line) }) })
	answered := make(chan toolfold.Answer, 1)
	go func() { answered <- s.traced(sessions.In(task.WithDepth(told, t.Depth), t.Sessions...), t) }()
	select {
	case answer := <-answered:
		s.record(ctx, t, answer, context.Cause(within))
	case <-late:
		s.finish(ctx, Ending{Run: Run{t.ID, t.Turn}, Status: task.TimedOut, Error: outOfTime(t)})
		<-answered
	}
}

// traced is call in a span. The call is not within the trace of the one that
// submitted the task, which may have ended long ago.
func (s *working) traced(ctx context.Context, t task.Task) toolfold.Answer {
	label := cmp.Or(t.AgentID, t.WorkflowID)
	if call, ok := task.ParseCall(t.Input); ok && label == "" {
		label = call.Tool
	}
	attributes := []attribute.KeyValue{engine.TaskKey.String(t.ID)}
	if t.Attempt > 1 {
		attributes = append(attributes, engine.AttemptsKey.Int(t.Attempt))
	}
	tracer := s.options.Tracer
	if tracer == nil {
		tracer = otel.GetTracerProvider()
	}
	ctx, span := tracer.Tracer(scopeName).Start(ctx, "task "+label, trace.WithNewRoot(), trace.WithAttributes(attributes...))
	defer span.End()
	answer := s.call(ctx, t)
	if text, _ := failureOf(answer); text != "" {
		code, message, _ := strings.Cut(text, ": ")
		span.SetAttributes(attribute.String("error.type", code))
		span.SetStatus(codes.Error, message)
	}
	return answer
}

// scopeName is the instrumentation scope of the spans of tasks.
const scopeName = "github.com/toolfold/toolfold/internal/engine/queue"

// call does what the task is for. A task that names nothing to run is done
// when its turn comes.
func (s *working) call(ctx context.Context, t task.Task) (answer toolfold.Answer) {
	defer func() {
		if p := recover(); p != nil {
			s.options.Log.Error("a task panicked", "task", t.ID, "panic", p, "stack", string(debug.Stack()))
			answer = toolfold.Fail(toolfold.Errorf(toolfold.Internal, "the call broke off; the worker's log has it under task %s", t.ID))
		}
	}()
	from := toolfold.Origin{Client: "a task"}
	if t.Rights != "" {
		var err error
		if from.Rights, err = permission.Parse(t.Rights); err != nil {
			s.options.Log.Error("reading the rights of a task", "task", t.ID, "err", err)
			return toolfold.Fail(toolfold.Errorf(toolfold.PermissionDenied, "the rights of who submitted the task cannot be read: a later toolfold wrote them"))
		}
	}
	ctx = toolfold.WithOrigin(ctx, from)
	if t.Refers() {
		outcomes, err := s.ledger.Outcomes(ctx, t.Dependencies)
		if err == nil {
			t.Input, err = t.Fill(ctx, outcomes)
		}
		if refused, ok := errors.AsType[*toolfold.Error](err); ok {
			return toolfold.Fail(refused)
		}
		if err != nil {
			s.options.Log.Error("filling in the input of a task", "task", t.ID, "err", err)
			return toolfold.Fail(toolfold.Errorf(toolfold.Internal, "the outputs of its dependencies could not be read; the worker's log has it under task %s", t.ID))
		}
	}
	if t.AgentID == "" && t.WorkflowID == "" {
		call, ok := task.ParseCall(t.Input)
		if !ok {
			return toolfold.Answer{}
		}
		return s.caller.Call(ctx, call.Tool, call.Arguments)
	}
	_, definition, err := t.Describe(ctx, s.caller)
	if refused, ok := errors.AsType[*toolfold.Error](err); ok {
		return toolfold.Fail(refused)
	}
	if err != nil {
		s.options.Log.Error("reading the agent or workflow of a task", "task", t.ID, "err", err)
		return toolfold.Fail(toolfold.Errorf(toolfold.Internal, "the agent or workflow could not be read; the worker's log has it under task %s", t.ID))
	}
	action, param, changed := "agent.run", "agentId", task.AgentChanged
	if t.WorkflowID != "" {
		action, param, changed = "workflow.run", "workflowId", task.WorkflowChanged
	}
	id := cmp.Or(t.AgentID, t.WorkflowID)
	if t.Definition != "" && definition != t.Definition { // that of a schedule may change
		return toolfold.Fail(toolfold.Errorf(changed, "%q was changed after the task was submitted; task.retry runs it as it is now", id))
	}
	args, err := json.Marshal(map[string]any{param: id, "input": t.Input})
	if err != nil {
		return toolfold.Fail(toolfold.Errorf(toolfold.Internal, "the input is not JSON"))
	}
	return s.caller.Call(ctx, action, args)
}

// maxOutput bounds the output of a task, in bytes.
const maxOutput = 4 << 20

// record records the end of a run. A result counts whatever happened
// meanwhile; a run that was stopped because another process has the task is
// not recorded.
func (s *working) record(ctx context.Context, t task.Task, answer toolfold.Answer, stopped error) {
	e := Ending{Run: Run{t.ID, t.Turn}, Output: answer.Content}
	failure, retry := failureOf(answer)
	switch {
	case failure == "":
		e.Status = task.Completed
	case errors.Is(stopped, errTimedOut):
		e.Status, e.Error, e.Output = task.TimedOut, outOfTime(t), nil
	case errors.Is(stopped, errCancelled):
		e.Status, e.Error, e.Output = task.Cancelled, "cancelled", nil
	case stopped != nil:
		s.options.Log.Info("a task was stopped and is run again", "task", t.ID, "cause", stopped)
		return
	default:
		e.Status, e.Error = task.Failed, failure
	}
	if len(e.Output) > maxOutput {
		e.Output = fmt.Appendf(nil, `{"omitted":"the output is too large to be kept","bytes":%d,"limit":%d}`, len(e.Output), maxOutput)
	}
	if retry && e.Status != task.Cancelled && t.Attempt < t.MaxAttempts {
		// The pause doubles from one second to five minutes.
		e.RetryAt = s.options.Now().Add(min(5*time.Minute, time.Second<<min(t.Attempt-1, 20)))
	}
	s.finish(ctx, e)
}

func outOfTime(t task.Task) string {
	return fmt.Sprintf("it took longer than %d ms", t.Timeout.Milliseconds())
}

// failureOf returns why a call failed, empty for success, and whether another
// attempt may help. A run of an agent or a workflow may answer, and say in the
// answer that it failed.
func failureOf(answer toolfold.Answer) (text string, retry bool) {
	if answer.Err != nil {
		return answer.Err.Error(), answer.Err.Code != task.AgentChanged && answer.Err.Code != task.WorkflowChanged
	}
	var run struct {
		Success *bool `json:"success"`
		Error   *struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(answer.Content, &run) != nil || run.Success == nil || *run.Success || run.Error == nil {
		return "", false
	}
	return run.Error.Code + ": " + run.Error.Message, true
}

// finish records an ending, for as long as that may take: a result is not
// given up because the database is away. When the worker stops, it is: the
// task is run again.
func (s *working) finish(ctx context.Context, e Ending) {
	e.EndedAt = s.options.Now()
	for {
		limited, done := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		_, err := s.ledger.Finish(limited, e)
		done()
		if err == nil {
			return
		}
		s.options.Log.Error("recording the end of a task", "task", e.TaskID, "err", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}
