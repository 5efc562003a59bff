package engine

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/expression"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// toolAction calls an action. Its output is the result.
type toolAction struct {
	name      string
	arguments template
}

func (a toolAction) run(ctx context.Context, f *frame) (any, error) {
	arguments, err := evalObject(ctx, f, "arguments", a.arguments)
	if err != nil {
		return nil, err
	}
	if f.run.Names == nil || !work.Repeatable(f.run.Names, a.name, arguments) {
		if err := f.begin(ctx); err != nil {
			return nil, err
		}
	}
	answer := f.run.Caller.Call(f.forCall(ctx), a.name, arguments)
	if answer.Err != nil {
		return nil, toolFailure(a.name, answer.Err)
	}
	return f.run.output(answer.Content, ToolExecutionError)
}

// scriptAction runs a script. Its output is what the script returns.
type scriptAction struct{ call toolAction }

func (a scriptAction) run(ctx context.Context, f *frame) (any, error) {
	answer, err := a.call.run(ctx, f)
	result, _ := answer.(map[string]any)
	if err == nil {
		return result["result"], nil
	}
	if failure, ok := errors.AsType[*Failure](err); ok && failure.final && result != nil {
		failure.ends = true // its unknown calls have to be settled first
	}
	return answer, err
}

// toolFailure converts the error of a call: separate codes for an unknown tool, for rejected
// arguments, for delegation beyond its depth, and for work that failed.
func toolFailure(name string, err *toolfold.Error) *Failure {
	f := &Failure{Code: ToolExecutionError, Message: err.Message, Hint: err.Hint}
	switch err.Code {
	case toolfold.UnknownTool:
		f.Code, f.final = ToolNotFound, true
	case toolfold.InvalidInput, toolfold.InvalidAction:
		f.Code, f.final = ToolConfigError, true
		if f.Hint == "" && err.Usage != "" {
			f.Hint = "usage: " + err.Usage
		}
	case DelegationDepth:
		f.Code, f.final = DelegationDepth, true
	case toolfold.Internal:
	default:
		f.Message = name + ": " + err.Code + ": " + err.Message
	}
	return f
}

// evalObject fills in a member that must be an object.
func evalObject(ctx context.Context, f *frame, what string, t template) (json.RawMessage, error) {
	value, err := t.eval(ctx, f)
	if err != nil {
		return nil, expressionFailure(what, err)
	}
	if value == nil {
		return json.RawMessage(`{}`), nil
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, fatal(StepFailed, "%s is %s, not an object", what, expression.KindOf(value))
	}
	raw, err := ordered.JSON(value)
	if err != nil {
		return nil, fatal(StepFailed, "%s cannot be written as JSON", what)
	}
	return raw, nil
}

// output decodes the result of an action. If the result reports success: false,
// as results of runs do, output returns it together with a failure of the step.
func (r *run) output(content json.RawMessage, code string) (any, error) {
	if tooMuch := r.chargeOutput(len(content)); tooMuch != nil {
		return nil, tooMuch
	}
	var reported struct {
		Success *bool    `json:"success"`
		Error   *Failure `json:"error"`
	}
	if json.Unmarshal(content, &reported) == nil && reported.Success != nil && !*reported.Success && reported.Error != nil {
		inner := reported.Error
		value, _ := expression.Decode(content)
		failure := failf(code, "%s: %s", inner.Code, inner.Message).hint("%s", inner.Hint)
		failure.final = inner.Code == Interrupted // what may have been done must not be done again
		return value, failure
	}
	return expression.Decode(content)
}

// delegateAction runs an agent. Its output is the agent's output.
type delegateAction struct {
	agent text
	input template
}

func (a delegateAction) run(ctx context.Context, f *frame) (any, error) {
	agent, err := a.agent.fill(ctx, f)
	if err != nil {
		return nil, expressionFailure("agentId", err)
	}
	input, err := evalObject(ctx, f, "input", a.input)
	if err != nil {
		return nil, err
	}
	call := map[string]any{"agentId": agent, "input": input}
	if f.run.job.Session != "" {
		call["sessionId"] = f.run.job.Session
	}
	answer := f.run.Caller.Call(f.forCall(ctx), "agent.run", ordered.MustJSON(call))
	if answer.Err != nil {
		failure := toolFailure("agent "+agent, answer.Err)
		if failure.Code != DelegationDepth {
			failure.Code = DependencyFailed
		}
		return nil, failure
	}
	result, err := f.run.output(answer.Content, DependencyFailed)
	var failure *Failure
	if errors.As(err, &failure) && failure.Code == DependencyFailed {
		failure.Message = "agent " + agent + " failed: " + failure.Message
	}
	object, _ := result.(map[string]any)
	if err != nil {
		outputs, _ := object["output"].(map[string]any)
		return made(outputs), err
	}
	return object["output"], nil
}
