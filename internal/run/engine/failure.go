package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/toolfold/toolfold"
)

// Codes of failures.
const (
	StepFailed          = "STEP_FAILED" // a prompt or an expression
	ToolNotFound        = "TOOL_NOT_FOUND"
	ToolConfigError     = "TOOL_CONFIG_ERROR" // the tool refused its arguments
	ToolExecutionError  = "TOOL_EXECUTION_ERROR"
	DependencyFailed    = "AGENT_DEPENDENCY_FAILED" // an agent that the step ran
	DelegationDepth     = "AGENT_DELEGATION_DEPTH_EXCEEDED"
	ProviderUnavailable = "PROVIDER_NOT_CONFIGURED"
	TimedOut            = toolfold.TimedOut
	Cancelled           = toolfold.Cancelled
)

// Failure describes the failure of a step. All of it reaches the model.
type Failure struct {
	Code    string `json:"code" doc:"Kind of failure."`
	Message string `json:"message" doc:"The error."`
	Hint    string `json:"hint,omitempty" doc:"The next step."`
	StepID  string `json:"stepId,omitempty" doc:"Step that failed."` // the innermost step that failed

	// final is true if another attempt would fail the same way.
	final bool
	// ends is true if the failure ends the whole run, also past continueOnError.
	ends bool
}

// seen is the failure as expressions read it.
func (f *Failure) seen() map[string]any {
	return map[string]any{"code": f.Code, "message": f.Message, "stepId": f.StepID}
}

// Error implements error.
func (f *Failure) Error() string { return f.Code + ": " + f.Message }

// FailureFields declares the members of a failure.
var FailureFields = toolfold.Fields{
	toolfold.String{Name: "code", Doc: "Kind of failure."},
	toolfold.String{Name: "message", Doc: "The error."},
	toolfold.String{Name: "hint", Doc: "The next step."},
	toolfold.String{Name: "stepId", Doc: "Step that failed."},
}

// failf returns a failure that another attempt may avoid.
func failf(code, format string, args ...any) *Failure {
	return &Failure{Code: code, Message: fmt.Sprintf(format, args...)}
}

// fatal returns a failure that every attempt would repeat.
func fatal(code, format string, args ...any) *Failure {
	f := failf(code, format, args...)
	f.final = true
	return f
}

// over returns the failure of a run that reached one of its limits.
func over(format string, args ...any) *Failure {
	f := fatal(StepFailed, format, args...)
	f.ends = true
	return f
}

func (f *Failure) hint(format string, args ...any) *Failure {
	f.Hint = fmt.Sprintf(format, args...)
	return f
}

// asFailure converts any error to a failure. The context of the attempt decides
// between a timeout, a cancellation and the error itself.
func asFailure(ctx context.Context, err error) *Failure {
	var known *Failure
	isKnown := errors.As(err, &known)
	switch cause := context.Cause(ctx); {
	case cause == nil, isKnown && known.Code == TimedOut:
	case errors.Is(cause, errTimeout):
		return failf(TimedOut, "it took longer than it may").hint("give the step more timeoutMs, or less to do")
	default:
		return fatal(Cancelled, "it was cancelled")
	}
	if isKnown {
		return known
	}
	return failf(StepFailed, "%v", err)
}

// errTimeout is the cause of a context whose step took too long.
var errTimeout = errors.New("the step took too long")

// maxQuote bounds the bytes of a foreign text that an error quotes.
const maxQuote = 240

// short cuts a foreign text to maxQuote bytes.
func short(s string) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, ""))
	if len(s) > maxQuote {
		s = strings.ToValidUTF8(s[:maxQuote], "") + "…"
	}
	return s
}
