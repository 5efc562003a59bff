package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/toolfold/toolfold/tools"
)

// Runner runs programs. It is safe for concurrent use.
type Runner struct {
	Caller    tools.Caller
	Providers *Providers

	// Tracer opens the spans of runs and steps. Nil is the process's.
	Tracer trace.TracerProvider

	// Now tells the time for durations. Nil is the real one.
	Now func() time.Time

	// Log gets what no caller may see of a step that broke down. Nil is the
	// process's.
	Log *slog.Logger
}

// Job is one run of a program.
type Job struct {
	Kind Kind
	ID   string // of the agent or the workflow

	Program *Program
	Input   map[string]any
	Agent   map[string]any // what expressions read as agent; nil for a workflow

	// Session is handed on to agents that the run delegates to. Empty = none.
	Session string

	// Inject returns what to add to the system prompt of a prompt. Nil adds
	// nothing.
	Inject func(ctx context.Context, prompt string) (string, error)
}

// Kind is what a job runs.
type Kind string

// The kinds.
const (
	AgentJob    Kind = "agent"
	WorkflowJob Kind = "workflow"
)

// Result is what a run came to. Where a step failed it holds the outputs of
// the steps that had succeeded.
type Result struct {
	Outputs    map[string]any // by stepId, of the outermost steps
	Last       any            // output of the last outermost step as written; nil unless it succeeded
	Steps      []StepResult   // of the outermost steps that started, in the order they ended
	DurationMs int64
	Failure    *Failure // nil for success
}

// StepResult is how one step went.
type StepResult struct {
	StepID     string   `json:"stepId"`
	Success    bool     `json:"success"`
	DurationMs int64    `json:"durationMs"`
	Error      *Failure `json:"error,omitempty"`
}

// StepResultFields declares the members of a step result.
var StepResultFields = tools.Fields{
	tools.String{Name: "stepId", Doc: "Step."},
	tools.Bool{Name: "success", Doc: "Whether it succeeded."},
	tools.Int{Name: "durationMs", Doc: "How long it took."},
	tools.Object{Name: "error", Doc: "Why it failed.", Optional: FailureFields},
}

// Run runs a program to its end, or until a step fails or the context ends.
// When it returns, nothing of the run is left running.
func (r *Runner) Run(ctx context.Context, job Job) Result {
	start := r.now()
	ctx, end := r.startRun(ctx, job)
	state := &run{Runner: r, job: job, system: job.Program.system}
	f := &frame{run: state, vars: job.vars(), steps: map[string]any{}, meter: newMeter(ctx, len(job.Program.steps.nodes))}
	out := job.Program.steps.run(ctx, f)
	if out.failure == nil && ctx.Err() != nil && len(out.outputs) < len(job.Program.steps.nodes) {
		out.failure = fatal(Cancelled, "the run was cancelled")
	}
	end(out.failure)
	result := Result{
		Outputs: out.outputs, Steps: out.results, Failure: out.failure,
		DurationMs: r.now().Sub(start).Milliseconds(),
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
	vars := map[string]any{inputName: input}
	if j.Kind == AgentJob {
		vars[agentName] = j.Agent
	}
	return vars
}

// Input reads the input of a job from JSON. Nothing is an empty object.
func Input(raw json.RawMessage) (map[string]any, error) {
	value, err := decodeValue(raw)
	if err != nil {
		return nil, err
	}
	if value == nil {
		return map[string]any{}, nil
	}
	input, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("decoding input: it is %s, not an object", kindOf(value))
	}
	return input, nil
}

func (r *Runner) log() *slog.Logger {
	if r.Log == nil {
		return slog.Default()
	}
	return r.Log
}

func (r *Runner) now() time.Time {
	if r.Now == nil {
		return time.Now()
	}
	return r.Now()
}
