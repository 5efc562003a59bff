package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/expression"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Journal records the steps of a run that outlives its process, so that a run
// which is started again goes on after the steps that have finished. A step is
// named by its path: a JSON pointer of stepIds, and of numbers for the rounds of
// a loop. The steps of a run that a step starts stand below that step. Methods
// may be called at the same time.
type Journal interface {
	// Lookup returns the record of a step that has finished; nil for others.
	// Begun reports whether an earlier run began what may not be done twice.
	Lookup(path string) (record json.RawMessage, begun bool)

	// Begin records that a step is about to do what may not be done twice. When
	// it fails, the step must not do it.
	Begin(ctx context.Context, path string) error

	// Finish records the end of a step, in place of what is recorded below it.
	// When it fails, the run must not go on.
	Finish(ctx context.Context, path string, record json.RawMessage) error

	// Abandon takes Begin back for a step that has failed.
	Abandon(ctx context.Context, path string)
}

// recorder is the journal of a run, and the path that its steps stand below.
type recorder struct {
	Journal
	path string
}

// WithJournal makes a run that is called under the context record its steps.
func WithJournal(ctx context.Context, j Journal) context.Context {
	return callctx.With(ctx, &recorder{j, ""})
}

// forCall returns the context of the call that a step makes: the progress of a
// run that it starts counts as the step's, and its steps stand below the step.
func (f *frame) forCall(ctx context.Context) context.Context {
	ctx = f.progress.forCall(ctx)
	if f.run.journal == nil {
		return ctx
	}
	return callctx.With(ctx, &recorder{f.run.journal, f.path})
}

// unrecorded returns the context of a call that a model makes: when the prompt
// is run again, the model may call something else.
func unrecorded(ctx context.Context) context.Context {
	return callctx.With[*recorder](ctx, nil)
}

// begin is called before a step does something that may not be done twice.
func (f *frame) begin(ctx context.Context) error {
	if f.run.journal == nil || f.idempotent {
		return nil
	}
	return f.run.journal.Begin(ctx, f.path)
}

// Interrupted is the code of the failure of a step that was under way when its
// process ended, and may not be run twice.
const Interrupted = "INTERRUPTED"

// WhatToDoInterrupted is the hint of such a failure.
const WhatToDoInterrupted = "see whether it was done; task.retry runs it again. Steps with idempotent: true go on by themselves"

// record is a step that has finished, as a journal keeps it.
type record struct {
	Output     json.RawMessage `json:"output,omitempty"` // absent = a failed step that had made nothing
	DurationMs int64           `json:"durationMs"`
	Error      *Failure        `json:"error,omitempty"` // of a step that lets others go on
	Calls      []StepResult    `json:"calls,omitempty"` // of the step's model
}

// replay returns the end of a step that an earlier run has finished.
func (n *node) replay(f *frame, raw json.RawMessage) (output any, result StepResult) {
	result = StepResult{StepID: n.id}
	var r record
	err := json.Unmarshal(raw, &r)
	if err == nil && r.Output != nil {
		output, err = expression.Decode(r.Output)
	}
	if err != nil {
		result.Error = over("its earlier result cannot be read: %v", err)
		return nil, result
	}
	if tooMuch := f.run.chargeOutput(len(r.Output)); tooMuch != nil {
		result.Error = tooMuch
		return nil, result
	}
	f.run.mu.Lock()
	f.run.calls = append(f.run.calls, r.Calls...)
	f.run.mu.Unlock()
	f.progress.add(1, fmt.Sprintf("%s: done before", n.id))
	result.Success, result.DurationMs, result.Error = r.Error == nil, r.DurationMs, r.Error
	return output, result
}

// record records the end of a step. It returns the failure that the run ends
// with where that could not be recorded.
func (n *node) record(ctx context.Context, f *frame, output any, result StepResult) *Failure {
	failure := result.Error
	if failure != nil && (!n.goesOn || failure.ends || failure.Code == Cancelled) {
		f.run.journal.Abandon(ctx, f.path)
		return failure
	}
	r := record{DurationMs: result.DurationMs, Error: failure, Calls: f.run.callsOf(n.id)}
	if failure == nil || output != nil {
		raw, err := ordered.JSON(output)
		if err != nil {
			return over("its output cannot be written as JSON")
		}
		r.Output = raw
	}
	if err := f.run.journal.Finish(ctx, f.path, ordered.MustJSON(r)); err != nil {
		return over("%v", err)
	}
	return failure
}

// callsOf returns the calls that the model of a step has made.
func (r *run) callsOf(step string) (calls []StepResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.calls {
		if strings.HasPrefix(c.StepID, step+"/") {
			calls = append(calls, c)
		}
	}
	return calls
}
