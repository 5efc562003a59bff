package task

import (
	"github.com/toolfold/toolfold"
)

// The types of a task. In the legacy tool they and oldKinds were labels without effect.
const (
	Sequential = "sequential" // runs once
	Retry      = "retry"      // several attempts
	Timeout    = "timeout"    // requires a time limit
	Wait       = "wait"       // waits for other tasks or for a time
	Other      = "other"      // runs once
)

var (
	kinds    = []string{Sequential, Retry, Timeout, Wait, Other}
	oldKinds = []string{Sequential, "parallel", "conditional", "loop", Retry, Timeout, Wait, "callback", Other}
)

// retryAttempts is the default number of attempts of a task of type retry.
const retryAttempts = 3

// applyKind checks the arguments that a type requires or excludes, and sets the number of attempts.
func applyKind(in SubmitIn, t *Task) error {
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
			return toolfold.Errorf(toolfold.InvalidInput, "type wait only waits: it takes no agentId, workflowId or input.tool").
				About(toolfold.ProblemRefused, "type").
				WithHint("leave the type out to run them")
		}
		if len(in.Dependencies) == 0 && t.ScheduledAt.IsZero() {
			return toolfold.Errorf(toolfold.InvalidInput, "type wait has nothing to wait for").
				About(toolfold.ProblemMissing, "dependencies").
				WithHint("add dependencies or scheduledAt")
		}
	}
	return nil
}
