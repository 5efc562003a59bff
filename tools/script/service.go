package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/script"
)

// Runs keeps runs of scripts, which other processes may go on with.
type Runs interface {
	// Keep stores a call of script.run, which runs soon, and returns the id of the run. It returns an
	// empty id if no process runs it; why says why.
	Keep(ctx context.Context, args json.RawMessage) (id, why string, err error)

	// Await waits for the end of a run and returns its result. It passes the questions of the run to
	// the client of ctx. It ends the run if the client cancels the call.
	Await(ctx context.Context, id string) (RunOut, error)

	// Ended returns the result of a run, or false if it has not ended. A run that was stopped has the
	// code [engine.Interrupted], [toolfold.Cancelled] or [toolfold.TimedOut].
	Ended(ctx context.Context, id string) (out RunOut, ended bool, err error)

	// Resume starts an ended run again, after it recorded the values of calls that were done, by their
	// number.
	Resume(ctx context.Context, id string, done map[int]json.RawMessage) error
}

// Service runs the script actions. It is safe for concurrent use.
type Service struct {
	runner *script.Runner
	runs   Runs
}

// New returns a service. If runs is nil, a run ends with its process.
func New(runner *script.Runner, runs Runs) *Service {
	return &Service{runner, runs}
}

// nested marks the context of calls by a script.
type nested bool

// Run runs a script, or goes on with a run. The run is kept as a task, unless it is part of a run
// that records its steps or that must not.
func (s *Service) Run(ctx context.Context, in RunIn) (RunOut, error) {
	if in.ID != "" {
		return s.resume(ctx, in)
	}
	if len(in.Outcome) > 0 {
		return RunOut{}, toolfold.Errorf(toolfold.InvalidInput, "outcome belongs to the id of a run").
			About(toolfold.ProblemRefused, outcome.Name).
			WithHint("a run that stops with unknown calls answers its id")
	}
	if in.Code == "" {
		return RunOut{}, toolfold.Errorf(toolfold.InvalidInput, "there is nothing to run").
			About(toolfold.ProblemMissing, code.Name).WithHint("give code, or the id of a run to go on with")
	}
	job := script.Job{Source: in.Code, Input: in.Input}
	if err := s.check(ctx, job); err != nil {
		return RunOut{}, err
	}
	if _, _, within := engine.JournalOf(ctx); within || s.runs == nil {
		return s.start(ctx, job)
	}
	args, err := json.Marshal(map[string]any{code.Name: in.Code, input.Name: in.Input})
	if err != nil {
		return RunOut{}, fmt.Errorf("encoding the script: %w", err)
	}
	id, why, err := s.runs.Keep(ctx, args)
	if err != nil {
		return RunOut{}, err
	}
	if id == "" {
		callctx.Warn(ctx, "the run is not recorded and ends with this process: "+why)
		return s.start(ctx, job)
	}
	return s.runs.Await(ctx, id)
}

// Read runs a script that only reads, within the request.
func (s *Service) Read(ctx context.Context, in ReadIn) (RunOut, error) {
	job := script.Job{Source: in.Code, Input: in.Input, ReadsOnly: true}
	if err := s.check(ctx, job); err != nil {
		return RunOut{}, err
	}
	return s.start(engine.WithJournalAt(ctx, nil, ""), job)
}

// check fails for scripts that can only fail.
func (s *Service) check(ctx context.Context, job script.Job) error {
	if callctx.Of[nested](ctx) {
		return toolfold.Errorf(toolfold.InvalidInput, "a script cannot run another script").WithHint("make it a function of this script")
	}
	err := s.runner.Check(ctx, job)
	if failure, ok := errors.AsType[*script.Failure](err); ok {
		return failure.Refusal()
	}
	return err
}

func (s *Service) start(ctx context.Context, job script.Job) (RunOut, error) {
	result, err := s.runner.Run(callctx.With(ctx, nested(true)), job)
	return RunOut(result), err
}

// resume waits for a run, or goes on with one that has stopped.
func (s *Service) resume(ctx context.Context, in RunIn) (RunOut, error) {
	if in.Code != "" || len(in.Input) > 0 {
		return RunOut{}, toolfold.Errorf(toolfold.InvalidInput, "id excludes code and input").
			About(toolfold.ProblemRefused, id.Param().Name).WithHint("a run goes on with the script that it was begun with")
	}
	if s.runs == nil {
		return RunOut{}, toolfold.Errorf(toolfold.InvalidInput, "this server records no runs")
	}
	out, ended, err := s.runs.Ended(ctx, in.ID)
	switch {
	case err != nil:
		return RunOut{}, err
	case !ended && len(in.Outcome) > 0:
		return RunOut{}, toolfold.Errorf(toolfold.InvalidInput, "the run has not stopped, so no call of it is unknown").
			About(toolfold.ProblemRefused, outcome.Name).WithHint("leave outcome out to wait for the run")
	case !ended:
		return s.runs.Await(ctx, in.ID)
	case !out.stopped() || len(out.Unknown) > 0 && len(in.Outcome) == 0:
		return out, nil
	}
	done, err := settled(out.Unknown, in.Outcome)
	if err != nil {
		return RunOut{}, err
	}
	if err := s.runs.Resume(ctx, in.ID, done); err != nil {
		return RunOut{}, err
	}
	return s.runs.Await(ctx, in.ID)
}

// stopped reports whether a run stopped before its script ended, so that it can go on.
func (o RunOut) stopped() bool {
	return o.Error != nil && slices.Contains([]string{engine.Interrupted, toolfold.Cancelled, toolfold.TimedOut}, o.Error.Code)
}

// settled returns the values of the unknown calls that were done, by number. Each unknown call must
// have an outcome.
func settled(unknown []script.Unknown, outcomes map[string]json.RawMessage) (map[int]json.RawMessage, error) {
	open := map[string]bool{}
	for _, u := range unknown {
		open[strconv.Itoa(u.Call)] = true
	}
	done := map[int]json.RawMessage{}
	for _, number := range slices.Sorted(maps.Keys(outcomes)) {
		if !open[number] {
			return nil, toolfold.Errorf(toolfold.InvalidInput, "call %s is not unknown", number).About(toolfold.ProblemRefused, outcome.Name)
		}
		delete(open, number)
		call, _ := strconv.Atoi(number) // it is among the unknown calls
		var word string
		var object struct {
			Result json.RawMessage `json:"result"`
		}
		switch raw := outcomes[number]; {
		case json.Unmarshal(raw, &word) == nil && word == "done":
			done[call] = nil
		case word == "not done":
		case json.Unmarshal(raw, &object) == nil && object.Result != nil:
			done[call] = object.Result
		default:
			return nil, toolfold.Errorf(toolfold.InvalidInput, `the outcome of call %s is neither "done" nor "not done" nor {"result": …}`, number).
				About(toolfold.ProblemRefused, outcome.Name)
		}
	}
	if len(open) > 0 {
		left := slices.Sorted(maps.Keys(open))
		return nil, toolfold.Errorf(toolfold.InvalidInput, "the outcome of %d unknown calls is missing, first of call %s", len(left), left[0]).
			About(toolfold.ProblemRefused, outcome.Name).WithHint(`"done" goes on after the call, "not done" makes it again`)
	}
	return done, nil
}
