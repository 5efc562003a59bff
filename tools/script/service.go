package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/ask"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/script"
	"github.com/toolfold/toolfold/internal/run/script/js"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Runs stores runs of scripts as tasks, so that other processes may go on with them.
type Runs interface {
	// Keep stores a call of script.run, which runs soon, and returns the id of the run. It returns an
	// empty id if no process runs tasks here.
	Keep(ctx context.Context, args json.RawMessage) (id string, err error)

	// Await waits for the end of a run and returns its result. It passes the questions of the run to
	// the client of ctx. If own is true, the run ends when the client cancels the call.
	Await(ctx context.Context, id string, own bool) (script.Result, error)

	// Ended returns the result of a run, or false if it has not ended. A run that was stopped has the
	// code [engine.Interrupted], [toolfold.Cancelled] or [toolfold.TimedOut].
	Ended(ctx context.Context, id string) (result script.Result, ended bool, err error)

	// Resume starts an ended run again. Outcomes has the records of its unknown calls by their path in
	// the journal of the run: nil for a call that was not done. Calls without an outcome stay unknown.
	Resume(ctx context.Context, id string, outcomes map[string]json.RawMessage) error

	// Last returns the id of the last run of the caller that ended well, among the runs of its session if
	// it has one. It returns an empty id if there is no such run.
	Last(ctx context.Context) (id string, err error)

	// Source returns the script that a run runs.
	Source(ctx context.Context, id string) (string, error)
}

// Service runs the script actions. It is safe for concurrent use.
type Service struct {
	// ReadTime limits a run of script.read, which ends with its request.
	ReadTime time.Duration

	runner  *script.Runner
	runs    Runs
	library *Library // nil = scripts have no names
}

// New returns a service. If runs is nil, a run ends with its process.
func New(runner *script.Runner, runs Runs) *Service {
	return &Service{ReadTime: 10 * time.Minute, runner: runner, runs: runs}
}

// nested marks the context of calls by a script.
type nested bool

// Run runs a script, or goes on with a run. The run is kept as a task, unless it is part of a run
// that records its steps or that must not.
func (s *Service) Run(ctx context.Context, in RunIn) (script.Result, error) {
	if in.ID != "" {
		return s.resume(ctx, in)
	}
	if len(in.Outcome) > 0 {
		return script.Result{}, toolfold.Errorf(toolfold.InvalidInput, "outcome belongs to the id of a run").
			About(toolfold.ProblemRefused, outcome.Name).
			WithHint("a run that stops with unknown calls answers its id")
	}
	run, job, err := s.job(ctx, in)
	if err != nil {
		return script.Result{}, err
	}
	if err := s.check(run, job); err != nil {
		return script.Result{}, err
	}
	journal, _, within := engine.JournalOf(ctx)
	switch {
	case within && journal == nil:
		return s.unrecorded(run, job, "it is part of a run that is not recorded either, or of a model's step")
	case within || s.runs == nil:
		return s.start(run, job)
	}
	args, err := json.Marshal(map[string]any{code.Name: job.Source, input.Name: job.Input})
	if err != nil {
		return script.Result{}, fmt.Errorf("encoding the script: %w", err)
	}
	id, err := s.runs.Keep(run, args)
	if err != nil {
		return script.Result{}, err
	}
	if id == "" {
		return s.unrecorded(run, job, "no process runs tasks here")
	}
	result, err := s.runs.Await(ctx, id, true)
	warnNothing(ctx, job, result)
	return result, err
}

// warnNothing tells the caller of a script that only its functions return something.
func warnNothing(ctx context.Context, job script.Job, result script.Result) {
	if string(result.Result) != "null" || result.Logs != "" {
		return
	}
	if itself, within := js.Returns(job.Source); within && !itself {
		callctx.Warn(ctx, "only functions of the script return something, the script itself does not: return what you want to know")
	}
}

// unrecorded runs a script that no other process can go on with, and tells the caller why.
func (s *Service) unrecorded(ctx context.Context, job script.Job, why string) (script.Result, error) {
	callctx.Warn(ctx, "the run is not recorded and ends with this process: "+why)
	return s.start(ctx, job)
}

// job returns the script of a call, and the context for its run.
func (s *Service) job(ctx context.Context, in RunIn) (context.Context, script.Job, error) {
	switch {
	case in.Name != "":
		return s.named(ctx, in)
	case in.Code == "":
		return ctx, script.Job{}, toolfold.Errorf(toolfold.InvalidInput, "there is nothing to run").
			About(toolfold.ProblemMissing, code.Name).WithHint("give code, the name of a stored script, or the id of a run to go on with")
	}
	return ctx, script.Job{Source: in.Code, Input: in.Input}, nil
}

// Read runs a script that only reads, within the request.
func (s *Service) Read(ctx context.Context, in ReadIn) (script.Result, error) {
	ctx, job, err := s.job(ctx, RunIn{Code: in.Code, Name: in.Name, Input: in.Input})
	if err != nil {
		return script.Result{}, err
	}
	job.ReadsOnly = true
	if err := s.check(ctx, job); err != nil {
		return script.Result{}, err
	}
	late := toolfold.Errorf(toolfold.TimedOut, "the script ran for %v, which is the limit of script.read", s.ReadTime).
		WithHint("run it with script.run, or read less at a time")
	limited, done := context.WithTimeoutCause(engine.WithJournalAt(ctx, nil, ""), s.ReadTime, late)
	defer done()
	result, err := s.start(limited, job)
	if err != nil && ctx.Err() == nil && context.Cause(limited) == error(late) {
		return script.Result{}, late
	}
	return result, err
}

// check rejects scripts that can only fail: those started by another script, and those with a fault
// that the runner finds before it runs them.
func (s *Service) check(ctx context.Context, job script.Job) error {
	if callctx.Of[nested](ctx) {
		return toolfold.Errorf(toolfold.InvalidInput, "a script does not call actions of the tool script that run or check scripts").
			WithHint("call a stored one: await scripts.name(input)")
	}
	return s.judge(ctx, job)
}

// CheckCode rejects the source of a script that can only fail. It runs nothing.
func (s *Service) CheckCode(ctx context.Context, source string) error {
	return s.judge(ctx, script.Job{Source: source})
}

func (s *Service) judge(ctx context.Context, job script.Job) error {
	err := s.runner.Check(ctx, job)
	if failure, ok := errors.AsType[*script.Failure](err); ok {
		return failure.Refusal()
	}
	return err
}

func (s *Service) start(ctx context.Context, job script.Job) (script.Result, error) {
	result, err := s.runner.Run(callctx.With(ctx, nested(true)), job)
	warnNothing(ctx, job, result)
	return result, err
}

// resume waits for a run, or goes on with one that has stopped.
func (s *Service) resume(ctx context.Context, in RunIn) (script.Result, error) {
	if in.Code != "" || in.Name != "" || len(in.Input) > 0 {
		return script.Result{}, toolfold.Errorf(toolfold.InvalidInput, "id excludes code, name and input").
			About(toolfold.ProblemRefused, id.Param().Name).WithHint("a run goes on with the script that it was begun with")
	}
	if s.runs == nil {
		return script.Result{}, noRuns()
	}
	result, ended, err := s.runs.Ended(ctx, in.ID)
	switch {
	case err != nil:
		return script.Result{}, err
	case !ended && len(in.Outcome) > 0:
		return script.Result{}, toolfold.Errorf(toolfold.InvalidInput, "the run has not stopped, so no call of it is unknown").
			About(toolfold.ProblemRefused, outcome.Name).WithHint("leave outcome out to wait for the run")
	case !ended:
		return s.runs.Await(ctx, in.ID, false)
	case !result.Stopped():
		return result, nil
	}
	if err := s.askOpen(ctx, result.Unknown, &in); err != nil {
		return script.Result{}, err
	}
	if len(result.Unknown) > 0 && len(in.Outcome) == 0 {
		return result, nil
	}
	outcomes, err := outcomesOf(result.Unknown, in.Outcome)
	if err != nil {
		return script.Result{}, err
	}
	if err := s.runs.Resume(ctx, in.ID, outcomes); err != nil {
		return script.Result{}, err
	}
	return s.runs.Await(ctx, in.ID, true)
}

// askOpen asks the user the questions of a run, if the client can be asked, and adds the answers to the outcomes.
// No client answers for its user.
func (s *Service) askOpen(ctx context.Context, unknown []script.Unknown, in *RunIn) error {
	if string(callctx.Of[work.UserOutcome](ctx)) == in.ID {
		return nil
	}
	for _, u := range unknown {
		if number := strconv.Itoa(u.Call); u.IsQuestion() && in.Outcome[number] != nil {
			return toolfold.Errorf(toolfold.InvalidInput, "call %s is a question to the user, whom no argument answers for", number).
				About(toolfold.ProblemRefused, outcome.Name).WithHint("leave the call out: the user is asked, or "+script.Answers, in.ID, u.Call)
		}
	}
	if !ask.CanAsk(ctx) || slices.ContainsFunc(unknown, func(u script.Unknown) bool {
		return !u.IsQuestion() && in.Outcome[strconv.Itoa(u.Call)] == nil // the run would not go on
	}) {
		return nil
	}
	given := maps.Clone(in.Outcome)
	if given == nil {
		given = map[string]json.RawMessage{}
	}
	var waiting []script.Unknown
	for _, u := range unknown {
		if u.Waits != "" {
			waiting = append(waiting, u)
		}
		if u.Action != script.Confirm {
			continue
		}
		err := script.Ask(ctx, u.Call, u.Arguments)
		refused, ok := errors.AsType[*toolfold.Error](err)
		if err != nil && (!ok || refused.Code != ask.Declined) {
			return err
		}
		given[strconv.Itoa(u.Call)] = json.RawMessage(map[bool]string{true: `"yes"`, false: `"no"`}[err == nil])
	}
	if len(waiting) > 0 {
		answer, err := script.AskConsent(ctx, waiting)
		if err != nil {
			return err
		}
		for _, u := range waiting {
			given[strconv.Itoa(u.Call)] = ordered.MustJSON(wordOf[answer])
		}
	}
	in.Outcome = given
	return nil
}

// wordOf has the outcome of a call that waits for each answer of the user.
var wordOf = map[string]string{script.These: "yes", script.All: "all", script.Stop: "no"}

// consentOf returns the record of an outcome of a call that waits.
func consentOf(u script.Unknown, given json.RawMessage) (json.RawMessage, error) {
	var word string
	_ = json.Unmarshal(given, &word) // another form is no word
	for answer, w := range wordOf {
		if w == word {
			return script.Consented(u, answer), nil
		}
	}
	return nil, toolfold.Errorf(toolfold.InvalidInput, `call %d waits for the user, and its outcome is "yes", "all" or "no"`, u.Call).
		About(toolfold.ProblemRefused, outcome.Name).
		WithHint(`ask the user; "all" is yes to all calls of this tool in this run, "no" stops the run`)
}

// outcomesOf returns the outcomes of unknown calls for [Runs.Resume]. Each unknown call must have one.
func outcomesOf(unknown []script.Unknown, given map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	open := map[string]script.Unknown{}
	for _, u := range unknown {
		open[strconv.Itoa(u.Call)] = u
	}
	outcomes := map[string]json.RawMessage{}
	for _, number := range slices.Sorted(maps.Keys(given)) {
		u, is := open[number]
		if !is {
			return nil, toolfold.Errorf(toolfold.InvalidInput, "call %s is not unknown", number).About(toolfold.ProblemRefused, outcome.Name)
		}
		delete(open, number)
		call := u.Call
		var word string
		var object struct {
			Result json.RawMessage `json:"result"`
		}
		switch raw := given[number]; {
		case u.Waits != "":
			consent, err := consentOf(u, raw)
			if err != nil {
				return nil, err
			}
			outcomes[script.ConsentPath(call)] = consent
		case u.IsQuestion():
			if _ = json.Unmarshal(raw, &word); word != "yes" && word != "no" {
				return nil, toolfold.Errorf(toolfold.InvalidInput, `call %s is a question, and its outcome is "yes" or "no"`, number).
					About(toolfold.ProblemRefused, outcome.Name).WithHint("ask the user")
			}
			outcomes[script.Path(call)] = script.Confirmed(word == "yes")
		case json.Unmarshal(raw, &word) == nil && word == "done":
			outcomes[script.Path(call)] = script.Settled(nil)
		case word == "not done":
			outcomes[script.Path(call)] = nil
		case json.Unmarshal(raw, &object) == nil && object.Result != nil:
			outcomes[script.Path(call)] = script.Settled(object.Result)
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
	return outcomes, nil
}
