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
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/tools/task"
)

// Causes for stopping a run.
var (
	errCancelled = errors.New("the task was cancelled")
	errLeaseLost = errors.New("the lease ran out")
	errTimedOut  = errors.New("the time ran out")
	errStopped   = errors.New("the worker stops")
)

// run runs a claimed task in the context within, and records its end while ctx, the context of the
// worker, lasts. It returns when the call returns, so that a call which continues after its
// recorded end keeps its slot.
func (s *activeWorker) run(ctx, within context.Context, t task.Task) {
	if s.leaseLost() {
		s.runs.stop(Run{t.ID, t.Turn}, errLeaseLost)
	}
	done := func() {}
	if t.Timeout > 0 {
		within, done = context.WithTimeoutCause(within, t.Timeout, errTimedOut)
	}
	defer done()
	late := make(chan struct{}) // closed if the call continues long after its timeout
	context.AfterFunc(within, func() {
		if errors.Is(context.Cause(within), errTimedOut) {
			time.AfterFunc(s.options.Yield, func() { close(late) })
		}
	})
	run := Run{t.ID, t.Turn}
	reporting := callctx.With[func(toolfold.Progress)](within, func(p toolfold.Progress) {
		s.runs.note(run, func(progress *task.Progress) {
			progress.Done, progress.Total = p.Done, p.Total
			if p.Message != "" {
				progress.Say(p.Message)
			}
		})
	})
	reporting = engine.WithLines(reporting, func(line string) { s.runs.note(run, func(progress *task.Progress) { progress.Say(line) }) })
	steps, err := newJournal(within, s.ledger, run, s.options.Log)
	if err != nil {
		s.warn(ctx, "reading the steps of a task", err)
		return // now a stray, which is given back
	}
	answered := make(chan toolfold.Answer, 1)
	go func() {
		answered <- s.traced(work.InSessions(task.WithDepth(engine.WithJournal(reporting, steps), t.Depth), t.Sessions...), t, steps)
	}()
	select {
	case answer := <-answered:
		s.record(ctx, t, answer, steps.used(), context.Cause(within))
	case <-late:
		s.report(ctx, run)
		s.finish(ctx, Ending{Run: run, Status: task.TimedOut, Error: outOfTime(t)})
		s.endCall(t, task.TimedOut, toolfold.Answer{})
		s.keepOutput(ctx, t, <-answered)
	}
}

// report records the progress of a run.
func (s *activeWorker) report(ctx context.Context, run Run) {
	if p, some := s.runs.progressOf(run); some {
		if err := s.ledger.Report(ctx, run, p); err != nil {
			s.warn(ctx, "keeping progress", err)
		}
	}
}

// keepOutput stores the output of a run whose task was recorded as ended before the run returned.
func (s *activeWorker) keepOutput(ctx context.Context, t task.Task, answer toolfold.Answer) {
	if answer.Err != nil {
		return
	}
	if err := s.ledger.KeepOutput(ctx, Run{t.ID, t.Turn}, outputOf(t, answer)); err != nil {
		s.warn(ctx, "keeping an output", err)
	}
}

// traced runs call in a span. It begins a new trace: the trace of the submission may have ended
// long ago.
func (s *activeWorker) traced(ctx context.Context, t task.Task, steps *journal) toolfold.Answer {
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
	ctx, refused := s.asCaller(ctx, t)
	ctx, span := tracer.Tracer(scopeName).Start(ctx, "task "+label, trace.WithNewRoot(), trace.WithAttributes(attributes...))
	defer span.End()
	s.options.Log.Info("a task begins", "task", t.ID, "name", t.Name, "runs", label, "attempt", t.Attempt)
	answer := refused
	if answer.Err == nil {
		answer = s.call(ctx, t, steps)
	}
	if text, _ := failureOf(answer); text != "" && !isLacking(answer) {
		code, message, _ := strings.Cut(text, ": ")
		span.SetAttributes(attribute.String("error.type", code))
		span.SetStatus(codes.Error, message)
	}
	return answer
}

// lacking is the code of a run that has not begun, because its agent or workflow is missing in the
// worker's folder. Callers never see it.
const lacking = "LACKING"

// scopeName is the instrumentation scope of the spans of tasks.
const scopeName = "github.com/toolfold/toolfold/internal/engine/queue"

// asCaller returns the context for the calls of a task: with the rights of the submission, and who made a task call.
func (s *activeWorker) asCaller(ctx context.Context, t task.Task) (_ context.Context, refused toolfold.Answer) {
	caller, as := task.CallerOf(t)
	from := toolfold.Origin{Client: cmp.Or(as, "a task")}
	if t.Rights != "" {
		var err error
		if from.Rights, err = permission.Parse(t.Rights); err != nil {
			s.options.Log.Error("reading the rights of a task", "task", t.ID, "err", err)
			return ctx, toolfold.Errorf(toolfold.PermissionDenied,
				"the rights of who submitted the task cannot be read: a later toolfold wrote them").Answer()
		}
	}
	ctx = callctx.With(ctx, from)
	if caller != nil {
		by := callctx.By{Recorded: true}
		if err := json.Unmarshal(caller, &by); err != nil {
			s.options.Log.Error("reading who made a task call", "task", t.ID, "err", err)
			return ctx, toolfold.Errorf(toolfold.Internal, "who made the call cannot be read; the worker's log has it under task %s", t.ID).Answer()
		}
		ctx = callctx.With(ctx, by)
	}
	return ctx, toolfold.Answer{}
}

// call runs the task's agent, workflow or action. A task without any of these completes at once.
func (s *activeWorker) call(ctx context.Context, t task.Task, steps *journal) (answer toolfold.Answer) {
	defer func() {
		if p := recover(); p != nil {
			s.options.Log.Error("a task panicked", "task", t.ID, "panic", p, "stack", string(debug.Stack()))
			answer = toolfold.Errorf(toolfold.Internal, "the call broke off; the worker's log has it under task %s", t.ID).Answer()
		}
	}()
	if t.Refers() {
		outcomes, err := s.ledger.Outcomes(ctx, t.Dependencies)
		if err == nil {
			t.Input, err = t.Fill(ctx, outcomes)
		}
		if refused, ok := errors.AsType[*toolfold.Error](err); ok {
			return refused.Answer()
		}
		if err != nil {
			s.options.Log.Error("filling in the input of a task", "task", t.ID, "err", err)
			return toolfold.Errorf(toolfold.Internal,
				"the outputs of its dependencies could not be read; the worker's log has it under task %s", t.ID).Answer()
		}
	}
	set, err := s.define(ctx, t)
	if lacks, failed := task.Lacking(ctx, s.caller, set, err); lacks != "" || failed != nil {
		if err = failed; lacks != "" {
			return toolfold.Errorf(lacking, "%s", lacks).Answer()
		}
	}
	if refused, ok := errors.AsType[*toolfold.Error](err); ok {
		return refused.Answer()
	}
	if err != nil {
		s.options.Log.Error("reading the agent or workflow of a task", "task", t.ID, "err", err)
		return toolfold.Errorf(toolfold.Internal,
			"the agent or workflow could not be read; the worker's log has it under task %s", t.ID).Answer()
	}
	ctx = work.WithPins(ctx, set)
	if declared := task.ClientOf(t.Input); declared != nil {
		if ctx, err = serve.WithClient(ctx, declared, s.questionsOf(ctx, t).ask); err != nil {
			s.options.Log.Error("preparing a task call", "task", t.ID, "err", err)
			return toolfold.Errorf(toolfold.Internal, "the capabilities of its client could not be read").Answer()
		}
	}
	if t.AgentID == "" && t.WorkflowID == "" {
		return s.callAction(ctx, t, steps)
	}
	action, param := "agent.run", "agentId"
	if t.WorkflowID != "" {
		action, param = "workflow.run", "workflowId"
	}
	args, err := json.Marshal(map[string]any{param: cmp.Or(t.AgentID, t.WorkflowID), "input": t.Input})
	if err != nil {
		return toolfold.Errorf(toolfold.Internal, "the input is not JSON").Answer()
	}
	return s.caller.Call(ctx, action, args)
}

// define returns the definitions for a run: those of the submission, or else the current ones,
// which later runs of the task use too.
func (s *activeWorker) define(ctx context.Context, t task.Task) (work.Pins, error) {
	if t.Definition == "" {
		var err error
		if t.Definition, err = t.Define(ctx, s.caller, s.caller); err != nil || t.Definition == "" {
			return nil, err
		}
		if err := s.ledger.Define(ctx, Run{t.ID, t.Turn}, t.Definition); err != nil {
			return nil, err
		}
	}
	return task.Pins(t.Definition)
}

// callAction calls the task's action, unless an earlier run may have called it and a second call is
// not safe.
func (s *activeWorker) callAction(ctx context.Context, t task.Task, steps *journal) toolfold.Answer {
	call, ok := task.ParseCall(t.Input)
	if !ok {
		return toolfold.Answer{}
	}
	if work.Repeatable(s.caller, call.Tool, call.Arguments) {
		return s.caller.Call(ctx, call.Tool, call.Arguments)
	}
	const whole = "" // the path of the task itself
	if _, begun := steps.Lookup(whole); begun {
		return toolfold.Errorf(engine.Interrupted, "%s was under way when its process ended, and is not known to be done",
			call.Tool).
			WithHint("see whether it was done; task.retry runs it again").Answer()
	}
	if err := steps.Begin(ctx, whole); err != nil {
		return toolfold.Errorf(toolfold.Internal, "the beginning could not be recorded: %v", err).Answer()
	}
	answer := s.caller.Call(ctx, call.Tool, call.Arguments)
	if failure, _ := failureOf(answer); failure != "" {
		steps.Abandon(ctx, whole)
	}
	return answer
}

// maxOutput limits the output of a task, in bytes.
const maxOutput = 4 << 20

// record records the end of a run. A result always counts. A run that was stopped because another
// process has the task is not recorded.
func (s *activeWorker) record(ctx context.Context, t task.Task, answer toolfold.Answer, recorded bool, stopped error) {
	e := Ending{Run: Run{t.ID, t.Turn}, Output: outputOf(t, answer), Recorded: recorded}
	if isLacking(answer) && stopped == nil {
		if err := s.ledger.Refuse(ctx, s.id, e.Run, answer.Err.Message, s.options.Again, s.options.Now()); err != nil {
			s.warn(ctx, "giving a task back", err)
		}
		return
	}
	failure, retry := failureOf(answer)
	switch {
	case failure == "":
		e.Status = task.Completed
	case errors.Is(stopped, errTimedOut):
		e.Status, e.Error = task.TimedOut, outOfTime(t)
	case errors.Is(stopped, errCancelled):
		e.Status, e.Error = task.Cancelled, "cancelled"
	case stopped != nil:
		s.options.Log.Info("a task was stopped and is run again", "task", t.ID, "cause", stopped)
		return
	default:
		e.Status, e.Error = task.Failed, failure
	}
	if answer.Err != nil && e.Status != task.Failed {
		e.Output = nil // it only reports that the run was stopped
	}
	if retry && e.Status != task.Cancelled && t.Attempt < t.MaxAttempts {
		// The wait doubles from one second to five minutes.
		e.RetryAt = s.options.Now().Add(min(5*time.Minute, time.Second<<min(t.Attempt-1, 20)))
	}
	s.options.Log.Info("a task ended", "task", t.ID, "name", t.Name, "status", e.Status, "error", e.Error, "again", !e.RetryAt.IsZero())
	s.report(ctx, e.Run)
	if !s.finish(ctx, e) {
		s.keepOutput(ctx, t, answer) // a forced cancellation
	}
	if e.RetryAt.IsZero() {
		s.endCall(t, e.Status, answer)
	}
}

// endCall reports the end of a client's call that became a task.
func (s *activeWorker) endCall(t task.Task, status string, answer toolfold.Answer) {
	by, _ := task.CallerOf(t)
	if by == nil || s.options.Ended == nil {
		return
	}
	code := ""
	switch {
	case status == task.TimedOut:
		code = toolfold.TimedOut
	case status == task.Cancelled:
		code = toolfold.Cancelled
	case answer.Err != nil:
		code = answer.Err.Code
	case answer.Failed:
		code = "FAILED"
	}
	s.options.Ended(by, code)
}

// outputOf returns the stored output of an answer. For a task call of another server's tool it
// is the server's result unchanged.
func outputOf(t task.Task, answer toolfold.Answer) json.RawMessage {
	if answer.Reply != nil && task.IsCall(t.Input) {
		return bounded(answer.Reply)
	}
	return bounded(answer.Content)
}

// bounded returns the output, or a note instead if it is too large.
func bounded(output json.RawMessage) json.RawMessage {
	if len(output) <= maxOutput {
		return output
	}
	return fmt.Appendf(nil, `{"omitted":"the output is too large to be kept","bytes":%d,"limit":%d}`, len(output), maxOutput)
}

func outOfTime(t task.Task) string {
	return fmt.Sprintf("it took longer than %d ms", t.Timeout.Milliseconds())
}

func isLacking(answer toolfold.Answer) bool { return answer.Err != nil && answer.Err.Code == lacking }

// failureOf returns the failure of a call, empty on success, and whether another attempt may help.
// A run of an agent or workflow may report its failure in a result.
func failureOf(answer toolfold.Answer) (text string, retry bool) {
	if answer.Err != nil {
		return answer.Err.Error(), answer.Err.Code != engine.Interrupted
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
	return run.Error.Code + ": " + run.Error.Message, run.Error.Code != engine.Interrupted
}

// finish records an ending. It waits for an unreachable database, so that a result is not lost,
// until the worker stops: then the task runs again. It returns false if the run is no longer the
// current one.
func (s *activeWorker) finish(ctx context.Context, e Ending) (finished bool) {
	e.EndedAt = s.options.Now()
	for {
		limited, done := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		finished, err := s.ledger.Finish(limited, e)
		done()
		if err == nil {
			return finished
		}
		s.options.Log.Error("recording the end of a task", "task", e.TaskID, "err", err)
		select {
		case <-ctx.Done():
			return true
		case <-time.After(time.Second):
		}
	}
}
