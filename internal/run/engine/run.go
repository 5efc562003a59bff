package engine

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/expression"
	"github.com/toolfold/toolfold/internal/text/jsonx"
)

// The names that expressions may use.
const (
	inputName    = "input"
	stepsName    = "steps"
	errorsName   = "errors"
	agentName    = "agent"
	itemName     = "item"
	indexName    = "index"
	previousName = "previous"
)

// Limits of one run.
const (
	maxExecutions = 10_000
	maxOutputs    = 16 << 20 // bytes
)

// run is the state that all steps of one run share.
type run struct {
	*Runner
	job     Job
	journal Journal // nil = steps are not recorded
	system  text
	steps   atomic.Int64 // started attempts
	bytes   atomic.Int64 // of outputs

	mu    sync.Mutex
	calls []StepResult // by models, since the last end of an outermost step
}

// takeCalls returns the calls of models since the last takeCalls.
func (r *run) takeCalls() []StepResult {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	return calls
}

// chargeOutput charges the run's limit of outputs for n bytes.
func (r *run) chargeOutput(n int) *Failure {
	if r.bytes.Add(int64(n)) > maxOutputs {
		return over("the outputs of the run have more than %d bytes", maxOutputs)
	}
	return nil
}

// frame has the variables of one step, and the outputs of the steps before it. Maps in a frame are
// never changed.
type frame struct {
	run      *run
	vars     map[string]any
	steps    map[string]any
	progress *meter

	step       string // id of the running step
	path       string // of that step in the journal, or of the step around its list
	idempotent bool   // the step may run twice
}

// env returns the variables of an expression in a map of its own.
func (f *frame) env() map[string]any {
	env := maps.Clone(f.vars)
	env[stepsName] = f.steps
	return env
}

// with returns a frame with the outputs in steps, and the additional variables in vars, which may
// be nil.
func (f *frame) with(vars, steps map[string]any, m *meter) *frame {
	inner := &frame{run: f.run, vars: f.vars, steps: steps, progress: m, path: f.path}
	if vars != nil {
		inner.vars = merge(f.vars, vars)
	}
	return inner
}

// merge returns a map with the entries of both; those of own win.
func merge(around, own map[string]any) map[string]any {
	all := make(map[string]any, len(around)+len(own))
	maps.Copy(all, around)
	maps.Copy(all, own)
	return all
}

// list is a compiled list of steps.
type list struct {
	nodes []*node
	limit int  // most steps at once
	outer bool // not nested in a step
}

// outcome is the result of a list of steps.
type outcome struct {
	outputs   map[string]any // by stepId: outputs of successful steps, and partial outputs of failed ones
	errors    map[string]any // by stepId: failures of steps with continueOnError, and errors of the lists around this one
	results   []StepResult   // in the order the steps ended
	succeeded int            // successful steps
	complete  bool           // every step ended, and no failure stopped the list
	failure   *Failure       // the failure that stopped the list; nil on success
}

// run runs each step after its dependencies. It stops at the first failure of a step without
// continueOnError: it cancels the running steps and waits for them.
func (l *list) run(ctx context.Context, f *frame) outcome {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type stepEnd struct {
		index  int
		output any
		result StepResult
	}
	out := outcome{outputs: map[string]any{}}
	visible, vars := f.steps, f.vars // with the outputs and errors of this list so far
	started, done := make([]bool, len(l.nodes)), make([]bool, len(l.nodes))
	// next returns the first step whose dependencies have ended, or -1.
	next := func() int {
		for i, n := range l.nodes {
			ready := !started[i]
			for _, before := range n.after {
				ready = ready && done[before]
			}
			if ready {
				return i
			}
		}
		return -1
	}
	ends := make(chan stepEnd)
	for running := 0; ; running-- {
		for out.failure == nil && ctx.Err() == nil && running < l.limit {
			i := next()
			if i < 0 {
				break
			}
			started[i] = true
			running++
			step := f.with(vars, visible, f.progress.part(1/float64(len(l.nodes))))
			step.step, step.path, step.idempotent = l.nodes[i].id, jsonx.Pointer(f.path, l.nodes[i].id), l.nodes[i].idempotent
			go func() {
				output, result := l.nodes[i].execute(ctx, step)
				ends <- stepEnd{i, output, result}
			}()
		}
		if running == 0 {
			out.complete = !slices.Contains(done, false)
			out.errors, _ = vars[errorsName].(map[string]any)
			return out
		}
		end := <-ends
		n, failure := l.nodes[end.index], end.result.Error
		if l.outer {
			out.results = append(out.results, f.run.takeCalls()...)
		}
		out.results = append(out.results, end.result)
		if failure == nil || end.output != nil {
			out.outputs[n.id] = end.output
		}
		switch {
		case failure == nil:
			out.succeeded++
		case n.goesOn && !failure.ends && failure.Code != Cancelled:
			failures, _ := vars[errorsName].(map[string]any)
			vars = merge(vars, map[string]any{errorsName: merge(failures, map[string]any{n.id: failure.seen()})})
		default:
			if out.failure == nil {
				out.failure = failure
			}
			cancel()
			continue
		}
		done[end.index] = true
		visible = merge(visible, map[string]any{n.id: end.output})
	}
}

// Default timeouts of an attempt: of a prompt or tool step, and of a prompt whose model may call
// tools.
const (
	defaultTimeout = 2 * time.Minute
	callingTimeout = 10 * time.Minute
)

// node is a compiled step.
type node struct {
	id, kind string
	after    []int         // indexes of its dependencies
	timeout  time.Duration // of one attempt; zero = no limit
	attempts int
	backoff  time.Duration // before the second attempt
	goesOn   bool          // continueOnError: its failure does not stop the list
	act      action

	idempotent bool // it may run twice
}

// action does the work of a step of one type. Its error should be a [Failure]. With an error, the
// output is the partial output, or nil.
type action interface {
	run(ctx context.Context, f *frame) (output any, err error)
}

// execute runs the step with its attempts, and reports its start and end. A step that an earlier
// run finished is skipped.
func (n *node) execute(ctx context.Context, f *frame) (output any, result StepResult) {
	if f.run.journal != nil {
		switch record, begun := f.run.journal.Lookup(f.path); {
		case record != nil:
			return n.replay(f, record)
		case begun:
			failure := over("it was under way when its process ended, and is not known to be done").hint(WhatToDoInterrupted)
			failure.Code = Interrupted
			failure.StepID = n.id
			return nil, StepResult{StepID: n.id, Error: failure}
		}
	}
	start := f.run.now()
	f.progress.add(startShare, fmt.Sprintf("%s: started", n.id))
	ctx, end := f.run.startStep(ctx, n)
	output, failure := n.try(ctx, f)
	end(failure)
	result = StepResult{StepID: n.id, Success: failure == nil, DurationMs: f.run.now().Sub(start).Milliseconds()}
	if failure != nil {
		if failure.StepID == "" {
			named := *failure
			named.StepID = n.id
			failure = &named
		}
		result.Error = failure
	}
	if f.run.journal != nil {
		result.Error = n.record(ctx, f, output, result)
		result.Success = result.Error == nil
	}
	if result.Error != nil {
		return output, result
	}
	f.progress.add(1, fmt.Sprintf("%s: done", n.id))
	return output, result
}

// try attempts the step until it succeeds, fails finally, or has no attempts left. With a failure
// it returns the partial output of the last attempt.
func (n *node) try(ctx context.Context, f *frame) (any, *Failure) {
	wait := n.backoff
	for attempt := 1; ; attempt++ {
		if f.run.steps.Add(1) > maxExecutions {
			return nil, over("the run took %d steps, which is the most", maxExecutions)
		}
		if attempt > 1 {
			trace.SpanFromContext(ctx).SetAttributes(AttemptsKey.Int(attempt))
		}
		output, err := n.attempt(ctx, f)
		if err == nil {
			return output, nil
		}
		if err.final || attempt >= n.attempts {
			return output, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return output, fatal(Cancelled, "it was cancelled")
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
			log := f.run.Log
			if log == nil {
				log = slog.Default()
			}
			log.Error("step broke down", "step", n.id, "panic", p, "stack", string(debug.Stack()))
			output, failure = nil, fatal(toolfold.Internal, "the step broke down; the server's log has the reason")
		}
	}()
	output, err := n.act.run(ctx, f)
	if err != nil {
		return output, asFailure(ctx, err)
	}
	return output, nil
}

// expressionFailure is the failure of an expression or placeholder.
func expressionFailure(what string, err error) *Failure {
	f := fatal(StepFailed, "%s: %v", what, err)
	if message := err.Error(); strings.Contains(message, "<nil>") || strings.Contains(message, "it is nil,") {
		f.hint("a value is missing: give a default with ??, as in (input.n ?? 0) > 1, or ask with x != nil")
	}
	return f
}

// truth evaluates a condition; what is its name in errors.
func truth(ctx context.Context, f *frame, what string, e *expression.Expression) (bool, error) {
	yes, err := e.True(ctx, f.env())
	if err != nil {
		return false, expressionFailure(what, err)
	}
	return yes, nil
}
