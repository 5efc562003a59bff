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

// Journal records the steps of a run that outlives its process, so that a
// restarted run continues after its finished steps. A step is named by its path:
// a JSON pointer of stepIds, and of numbers for the rounds of a loop. The steps
// of a run that a step starts are below the path of that step. Methods may be
// called concurrently.
type Journal interface {
	// ID returns the id of the run, under which it can be asked for.
	ID() string

	// Lookup returns the record of a finished step; nil for other steps. Begun
	// reports whether Begin was called for it, in this run or an earlier one, and
	// Abandon was not.
	Lookup(path string) (record json.RawMessage, begun bool)

	// Begin records, all or none, that steps are about to do work that must not
	// be repeated. If it fails, they must not do the work.
	Begin(ctx context.Context, paths ...string) error

	// Finish records the ends of steps, all or none, and replaces the records
	// below each. If it fails, the run must stop.
	Finish(ctx context.Context, ended ...StepEnd) error

	// Abandon undoes Begin for a failed step.
	Abandon(ctx context.Context, path string)
}

// StepEnd is the end of a step in a journal.
type StepEnd struct {
	Path   string
	Record json.RawMessage
}

// recorder is the journal of a run, and the path above its steps.
type recorder struct {
	Journal
	path string
}

// WithJournal returns a context in which a run records its steps in j.
func WithJournal(ctx context.Context, j Journal) context.Context {
	return WithJournalAt(ctx, j, "")
}

// WithJournalAt is [WithJournal] for a call by the step at path, whose own steps
// are recorded below it.
func WithJournalAt(ctx context.Context, j Journal, path string) context.Context {
	return callctx.With(ctx, &recorder{j, path})
}

// JournalOf returns the journal for the steps of a call, and the path above
// them. Within reports whether the call belongs to a run that decides this. Its
// journal is nil for calls by models, and by runs that are not recorded.
func JournalOf(ctx context.Context) (j Journal, path string, within bool) {
	r := callctx.Of[*recorder](ctx)
	if r == nil {
		return nil, "", false
	}
	return r.Journal, r.path, true
}

// forCall returns the context for a call by a step: a run that it starts reports
// progress for the step, and records its steps below the step. It is not recorded if this run is not: it must not
// outlive it.
func (f *frame) forCall(ctx context.Context) context.Context {
	ctx = f.progress.forCall(ctx)
	if f.run.journal == nil {
		return WithJournalAt(ctx, nil, "")
	}
	return WithJournalAt(ctx, f.run.journal, f.path)
}

// withoutJournal returns the context for a call by a model. Its steps are not
// recorded: a repeated prompt may lead to other calls.
func withoutJournal(ctx context.Context) context.Context {
	return WithJournalAt(ctx, nil, "")
}

// begin must be called before a step does work that must not be repeated.
func (f *frame) begin(ctx context.Context) error {
	if f.run.journal == nil || f.idempotent {
		return nil
	}
	return f.run.journal.Begin(ctx, f.path)
}

// Interrupted is the failure code of a step that was running when its process
// ended, and that must not run twice.
const Interrupted = "INTERRUPTED"

// WhatToDoInterrupted is the hint for the code [Interrupted].
const WhatToDoInterrupted = "see whether it was done; task.retry runs it again. Steps with idempotent: true go on by themselves"

// record is a finished step in a journal.
type record struct {
	Output     json.RawMessage `json:"output,omitempty"` // absent = a failed step without output
	DurationMs int64           `json:"durationMs"`
	Error      *Failure        `json:"error,omitempty"` // of a step with continueOnError
	Calls      []StepResult    `json:"calls,omitempty"` // of the step's model
}

// replay returns the output and result of a step that an earlier run finished.
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
	if err := f.run.journal.Finish(ctx, StepEnd{f.path, ordered.MustJSON(r)}); err != nil {
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
