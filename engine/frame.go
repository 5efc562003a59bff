package engine

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"
)

// Limits of one run.
const (
	maxExecutions = 10_000
	maxOutputs    = 16 << 20 // bytes
)

// run is what all steps of one run share.
type run struct {
	*Runner
	job    Job
	system text
	steps  atomic.Int64
	bytes  atomic.Int64
}

// count lets one more step start.
func (r *run) count() *Failure {
	if r.steps.Add(1) > maxExecutions {
		return fatal(StepFailed, "the run took %d steps, which is the most", maxExecutions)
	}
	return nil
}

// keep pays for an output of n bytes.
func (r *run) keep(n int) *Failure {
	if r.bytes.Add(int64(n)) > maxOutputs {
		return fatal(StepFailed, "the outputs of the run have more than %d bytes", maxOutputs)
	}
	return nil
}

// frame is what a step sees: the variables and the outputs of the steps
// before it. Neither map is changed once it is in a frame.
type frame struct {
	run   *run
	vars  map[string]any
	steps map[string]any
	meter *meter
}

// env is the frame as expressions see it, for one of them to change.
func (f *frame) env() map[string]any {
	env := make(map[string]any, len(f.vars)+2)
	maps.Copy(env, f.vars)
	env[stepsName] = f.steps
	return env
}

// within is the frame of a step of a list, with the outputs so far.
func (f *frame) within(steps map[string]any, m *meter) *frame {
	return &frame{run: f.run, vars: f.vars, steps: steps, meter: m}
}

// naming is the frame with more variables.
func (f *frame) naming(vars map[string]any, steps map[string]any, m *meter) *frame {
	all := maps.Clone(f.vars)
	maps.Copy(all, vars)
	return &frame{run: f.run, vars: all, steps: steps, meter: m}
}

// adding returns a copy of a map with one more entry.
func adding(m map[string]any, name string, value any) map[string]any {
	more := make(map[string]any, len(m)+1)
	maps.Copy(more, m)
	more[name] = value
	return more
}

// expressionFailure is the failure of an expression or placeholder.
func expressionFailure(what string, err error) *Failure {
	return fatal(StepFailed, "%s: %v", what, err)
}

// truth evaluates the condition called what.
func truth(ctx context.Context, f *frame, what string, e *expression) (bool, error) {
	yes, err := e.truth(ctx, f.env())
	if err != nil {
		return false, expressionFailure(what, err)
	}
	return yes, nil
}

func iteration(i int) string { return fmt.Sprintf("round %d", i+1) }
