package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/expression"
)

// Runner runs programs. It is safe for concurrent use.
type Runner struct {
	Caller    toolfold.Caller
	Providers *Providers

	// Names resolves the actions that prompts may offer to models; nil offers no actions. Bounded
	// calls them, with short answers: a model pays for every byte. Nil means Caller.
	Names   Names
	Bounded toolfold.Caller

	// Tracer opens the spans of runs and steps. Nil means the global provider.
	Tracer trace.TracerProvider

	// Now returns the time, for durations. Nil means time.Now.
	Now func() time.Time

	// Log receives the stack of a panicking step, which callers must not see. Nil means
	// slog.Default.
	Log *slog.Logger
}

// Job is one run of a program.
type Job struct {
	Kind Kind
	ID   string // of the agent or the workflow

	Program *Program
	Input   map[string]any
	Agent   map[string]any // the variable agent of expressions; nil for a workflow

	// Session is passed to agents that the run delegates to. It may be empty.
	Session string

	// Inject returns a text to add to the system prompt. Nil adds no text.
	Inject func(ctx context.Context, prompt string) (string, error)
}

// Kind is the kind of a job.
type Kind string

// The kinds.
const (
	AgentJob    Kind = "agent"
	WorkflowJob Kind = "workflow"
)

// Result is the result of a run. After a failure it has the outputs of the successful steps and the
// partial outputs of the failed ones.
type Result struct {
	Outputs    map[string]any // by stepId, of the outermost steps
	Last       any            // output of the last outermost step in the order written; nil unless it ended
	Completed  int            // outermost steps that succeeded
	Steps      []StepResult   // of started outermost steps and of calls by models, in the order of their ends
	DurationMs int64
	Failure    *Failure // nil on success
}

// StepResult is the result of one step.
type StepResult struct {
	StepID     string   `json:"stepId" doc:"Step."`
	Tool       string   `json:"tool,omitempty" doc:"Action that a model called."`
	Success    bool     `json:"success" doc:"Whether it succeeded."`
	DurationMs int64    `json:"durationMs" doc:"How long it took."`
	Error      *Failure `json:"error,omitempty" doc:"Why it failed."`
}

// StepResultFields declares the members of a step result.
var StepResultFields = toolfold.Fields{
	toolfold.String{Name: "stepId", Doc: "Step."},
	toolfold.String{Name: "tool", Doc: "Action that a model called."},
	toolfold.Bool{Name: "success", Doc: "Whether it succeeded."},
	toolfold.Int{Name: "durationMs", Doc: "How long it took."},
	toolfold.Object{Name: "error", Doc: "Why it failed.", Optional: FailureFields},
}

// Run runs a program until it ends, a step fails or the context ends. When it returns, no step is
// running.
func (r *Runner) Run(ctx context.Context, job Job) Result {
	start := r.now()
	ctx, end := r.startRun(callctx.WithoutUser(ctx), job)
	state := &run{Runner: r, job: job, system: job.Program.system}
	report := func(p toolfold.Progress) { toolfold.Report(ctx, p) }
	progress := &meter{root: &root{total: float64(len(job.Program.steps.nodes)), report: report}}
	f := &frame{run: state, vars: job.vars(), steps: map[string]any{}, progress: progress}
	state.journal, f.path, _ = JournalOf(ctx)
	out := job.Program.steps.run(ctx, f)
	if out.failure == nil && ctx.Err() != nil && !out.complete {
		out.failure = fatal(Cancelled, "the run was cancelled")
	}
	end(out.failure)
	result := Result{
		Outputs: out.outputs, Completed: out.succeeded, Steps: out.results, Failure: out.failure,
		DurationMs: r.now().Sub(start).Milliseconds(),
	}
	for i := range result.Steps {
		if result.Steps[i].Error == out.failure {
			result.Steps[i].Error = nil // the result has it once
		}
	}
	if n := len(job.Program.steps.nodes); n > 0 {
		result.Last = out.outputs[job.Program.steps.nodes[n-1].id]
	}
	return result
}

func (j Job) vars() map[string]any {
	input := j.Input
	if input == nil {
		input = map[string]any{}
	}
	vars := map[string]any{inputName: input, errorsName: map[string]any{}}
	if j.Kind == AgentJob {
		vars[agentName] = j.Agent
	}
	return vars
}

// Input decodes the input of a job. Empty input is an empty object.
func Input(raw json.RawMessage) (map[string]any, error) {
	value, err := expression.Decode(raw)
	if err != nil {
		return nil, err
	}
	if value == nil {
		return map[string]any{}, nil
	}
	input, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("decoding input: it is %s, not an object", expression.KindOf(value))
	}
	return input, nil
}

func (r *Runner) now() time.Time {
	if r.Now == nil {
		return time.Now()
	}
	return r.Now()
}
