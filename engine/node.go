package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/toolfold/toolfold/tools"
)

// defaultTimeout is how long an attempt of a prompt or tool step may take.
const defaultTimeout = 2 * time.Minute

// node is a compiled step.
type node struct {
	id, kind string
	after    []int // indexes of the steps it waits for
	timeout  time.Duration
	attempts int
	backoff  time.Duration
	act      action
}

// action is what a step of one type does. Its error is best a [Failure].
type action interface {
	run(ctx context.Context, f *frame) (output any, err error)
}

// execute runs the step with its attempts.
func (n *node) execute(ctx context.Context, f *frame, index int) finished {
	start := f.run.now()
	f.meter.add(startShare, fmt.Sprintf("%s: started", n.id))
	ctx, end := f.run.startStep(ctx, n)
	output, failure := n.try(ctx, f)
	end(failure)
	result := StepResult{StepID: n.id, Success: failure == nil, DurationMs: f.run.now().Sub(start).Milliseconds()}
	if failure != nil {
		if failure.StepID == "" {
			named := *failure
			named.StepID = n.id
			failure = &named
		}
		result.Error = failure
		return finished{index: index, result: result}
	}
	f.meter.finish(fmt.Sprintf("%s: done", n.id))
	return finished{index: index, output: output, result: result}
}

// try attempts the step until it succeeds, or fails for good, or has no
// attempts left.
func (n *node) try(ctx context.Context, f *frame) (any, *Failure) {
	wait := n.backoff
	for attempt := 1; ; attempt++ {
		if tooMany := f.run.count(); tooMany != nil {
			return nil, tooMany
		}
		output, err := n.attempt(ctx, f)
		if err == nil {
			return output, nil
		}
		if err.final || attempt >= n.attempts {
			return nil, err
		}
		if !sleep(ctx, wait) {
			return nil, fatal(Cancelled, "it was cancelled")
		}
		wait = min(2*wait, MaxBackoff*time.Millisecond)
	}
}

// attempt runs the step once, within its time.
func (n *node) attempt(ctx context.Context, f *frame) (output any, failure *Failure) {
	if n.timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, n.timeout, errTimeout)
		defer cancel()
		ctx = limited
	}
	defer func() {
		if p := recover(); p != nil {
			f.run.log().Error("step broke down", "step", n.id, "panic", p, "stack", string(debug.Stack()))
			output, failure = nil, fatal(tools.Internal, "the step broke down; the server's log has the reason")
		}
	}()
	output, err := n.act.run(ctx, f)
	if err != nil {
		return nil, asFailure(ctx, err)
	}
	return output, nil
}

// sleep waits, and tells whether the context lasted.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
