package task

import (
	"github.com/toolfold/toolfold"
)

// The types of a task. The legacy tool had them as labels without effect.
const (
	Sequential = "sequential" // runs once
	Retry      = "retry"      // tries several times
	Timeout    = "timeout"    // has to have a time limit
	Wait       = "wait"       // runs nothing
	Other      = "other"      // runs once
)

var kinds = []string{Sequential, "parallel", "conditional", "loop", Retry, Timeout, Wait, "callback", Other}

// refusals say what to do in place of a type that a single task cannot have.
var refusals = map[string]string{
	"parallel":    "tasks of a queue run side by side anyway: submit several, or run a workflow with a parallel step",
	"conditional": "run a workflow or an agent with a conditional step",
	"loop":        "run a workflow or an agent with a loop step",
	"callback":    "submit the callback as a task that has this one in its dependencies",
}

// retryAttempts is the number of attempts of a task of type retry that sets no
// other.
const retryAttempts = 3

// applyKind checks the arguments that a type needs or excludes, and sets the
// number of attempts.
func applyKind(in SubmitIn, t *Task) error {
	if hint, refused := refusals[in.Type]; refused {
		return toolfold.Errorf(toolfold.InvalidInput, "a task cannot be of type %s", in.Type).
			About(toolfold.ProblemRefused, "type").WithHint("%s", hint)
	}
	t.MaxAttempts = max(1, in.MaxAttempts)
	switch in.Type {
	case Retry:
		if in.MaxAttempts == 0 {
			t.MaxAttempts = retryAttempts
		}
	case Timeout:
		if in.TimeoutMs == 0 {
			return toolfold.Errorf(toolfold.InvalidInput, "type timeout needs timeoutMs").About(toolfold.ProblemMissing, "timeoutMs").
				WithHint("add timeoutMs, the longest one attempt may take; any type may have it")
		}
	case Wait:
		if _, call := ParseCall(in.Input); call || in.AgentID != "" || in.WorkflowID != "" {
			return toolfold.Errorf(toolfold.InvalidInput, "type wait runs nothing, so it takes no agentId, workflowId or input.tool").
				About(toolfold.ProblemRefused, "type").
				WithHint("leave the type out to run them")
		}
		if len(in.Dependencies) == 0 && in.ScheduledAt.IsZero() {
			return toolfold.Errorf(toolfold.InvalidInput, "type wait has nothing to wait for").
				About(toolfold.ProblemMissing, "dependencies").
				WithHint("add dependencies or scheduledAt")
		}
	}
	return nil
}
