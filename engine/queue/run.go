package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/toolfold/toolfold/tools"
)

// Why a run is stopped.
var (
	errCancelled = errors.New("the task was cancelled")
	errLeaseLost = errors.New("the lease ran out")
	errTimedOut  = errors.New("the time ran out")
)

// run runs a claimed task and records how it ended. It returns when the call
// has, so that what runs on after its end was recorded keeps its slot.
func (s *shift) run(ctx context.Context, t Task) {
	ticket := Ticket{t.ID, t.Turn}
	held := s.held.add(ctx, ticket)
	defer s.held.remove(ticket)
	if s.lease.over() {
		s.held.stop(ticket, errLeaseLost)
	}
	limited, done := withTimeout(held, t.Timeout)
	defer done()
	answered := make(chan tools.Answer, 1)
	go func() { answered <- s.call(limited, t) }()
	select {
	case answer := <-answered:
		s.record(ctx, t, answer, context.Cause(limited))
	case <-s.overdue(limited):
		s.finish(ctx, s.ending(t, TimedOut, outOfTime(t)))
		<-answered
	}
}

func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, errTimedOut)
}

// overdue is closed when a task whose time ran out has not ended in the time
// it is given for that.
func (s *shift) overdue(ctx context.Context) <-chan struct{} {
	late := make(chan struct{})
	context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), errTimedOut) {
			time.AfterFunc(s.options.Yield, func() { close(late) })
		}
	})
	return late
}

// call does what the task is there for. A task that names nothing to run is
// done when its turn comes.
func (s *shift) call(ctx context.Context, t Task) (answer tools.Answer) {
	defer func() {
		if p := recover(); p != nil {
			s.options.Log.Error("a task panicked", "task", t.ID, "panic", p, "stack", string(debug.Stack()))
			answer = tools.Fail(tools.Errorf(tools.Internal, "the call broke off; the worker's log has it under task %s", t.ID))
		}
	}()
	if t.AgentID != "" {
		args, err := json.Marshal(map[string]any{"agentId": t.AgentID, "input": t.Input})
		if err != nil {
			return tools.Fail(tools.Errorf(tools.Internal, "the input is not JSON"))
		}
		return s.caller.Call(ctx, "agent.run", args)
	}
	if call, ok := ParseCall(t.Input); ok {
		return s.caller.Call(ctx, call.Tool, call.Arguments)
	}
	return tools.Answer{}
}

// Call is a call of an action, as the input of a task names it.
type Call struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// ParseCall reads the call that a task's input names. It is false when the
// input names none.
func ParseCall(input json.RawMessage) (c Call, ok bool) {
	if len(input) == 0 || json.Unmarshal(input, &c) != nil {
		return Call{}, false
	}
	return c, c.Tool != ""
}

// record writes down the end of a run. A result counts whatever happened
// meanwhile; a run that was stopped for the sake of another is left to it.
func (s *shift) record(ctx context.Context, t Task, answer tools.Answer, stopped error) {
	failure, failed := failureOf(t, answer)
	switch {
	case !failed:
		e := s.ending(t, Completed, "")
		e.Output = answer.Content
		s.finish(ctx, e)
	case errors.Is(stopped, errTimedOut):
		s.finish(ctx, s.retried(t, s.ending(t, TimedOut, outOfTime(t))))
	case errors.Is(stopped, errCancelled):
		s.finish(ctx, s.ending(t, Cancelled, "cancelled"))
	case stopped != nil:
		s.options.Log.Info("a task was stopped and is run again", "task", t.ID, "cause", stopped)
	default:
		e := s.retried(t, s.ending(t, Failed, failure))
		e.Output = answer.Content
		s.finish(ctx, e)
	}
}

func (s *shift) ending(t Task, status, text string) Ending {
	return Ending{Ticket: Ticket{t.ID, t.Turn}, Status: status, Error: text, EndedAt: s.moment()}
}

// moment is the time now, as precise as stores keep it.
func (s *shift) moment() time.Time { return s.options.Now().UTC().Truncate(time.Microsecond) }

func outOfTime(t Task) string {
	return fmt.Sprintf("it took longer than %d ms", t.Timeout.Milliseconds())
}

// failureOf tells why a call failed. An agent's run may answer, and say in the
// answer that it failed.
func failureOf(t Task, answer tools.Answer) (text string, failed bool) {
	if answer.Err != nil {
		return answer.Err.Error(), true
	}
	if t.AgentID == "" {
		return "", false
	}
	var run struct {
		Success *bool `json:"success"`
		Error   struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(answer.Content, &run) != nil || run.Success == nil || *run.Success {
		return "", false
	}
	return run.Error.Code + ": " + run.Error.Message, true
}

// The pause before another attempt doubles from the first to the longest.
const (
	firstRetry   = time.Second
	longestRetry = 5 * time.Minute
)

// retried has a task run again if it has attempts left.
func (s *shift) retried(t Task, e Ending) Ending {
	if t.Attempt < t.MaxAttempts {
		e.RetryAt = e.EndedAt.Add(min(longestRetry, firstRetry<<min(t.Attempt-1, 20)))
	}
	return e
}

// recordAgain is how long to wait before recording again what could not be
// recorded.
const recordAgain = time.Second

// finishWithin limits one attempt at that.
const finishWithin = 30 * time.Second

// finish records an ending, for as long as that may take: a result is not
// given up because the database is away. When the worker stops, it is: the
// task is run again.
func (s *shift) finish(ctx context.Context, e Ending) {
	for {
		err := s.tryFinish(context.WithoutCancel(ctx), e)
		if err == nil {
			return
		}
		s.options.Log.Error("recording the end of a task", "task", e.TaskID, "err", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(recordAgain):
		}
	}
}

func (s *shift) tryFinish(ctx context.Context, e Ending) error {
	ctx, done := context.WithTimeout(ctx, finishWithin)
	defer done()
	_, err := s.ledger.Finish(ctx, e)
	return err
}
