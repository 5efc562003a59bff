package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/jsonx"
)

// Actions resolves the actions that tasks may call. *call.Runner implements it.
type Actions interface {
	entry.Names

	// Refusal returns the error with which a call would fail before its action runs, or nil. Paths
	// of its problems begin with at. Problems at paths for which open is true are omitted.
	Refusal(ctx context.Context, name string, args json.RawMessage, at string, open func(path string) bool) *toolfold.Error
}

// checkWork fails for tasks that could only fail later: an unknown agent, workflow or action, or an
// invalid input. It returns the definition of [Task.Define]. Its error joins all refusals, for
// [together].
func (s *Service) checkWork(ctx context.Context, t Task) (definition string, err error) {
	open, references := s.checkReferences(ctx, t)
	definition, err = s.checkCall(ctx, t, open)
	return definition, errors.Join(references, err)
}

// checkCall is checkWork for an input of which the values at the JSON pointers open are not known yet.
func (s *Service) checkCall(ctx context.Context, t Task, open map[string]bool) (definition string, err error) {
	call, named := ParseCall(t.Input)
	if t.AgentID != "" || t.WorkflowID != "" {
		// The input of an agent may have a member tool of its own.
		calls := named && (call.Arguments != nil || len(s.permitted(ctx, call.Tool)) > 0)
		if calls || t.AgentID != "" && t.WorkflowID != "" {
			return "", toolfold.Errorf(toolfold.InvalidInput, "a task runs one of agentId, workflowId and input.tool").
				About(toolfold.ProblemRefused, "agentId", "workflowId", "input").
				WithHint("submit a task for each, with dependencies if one is to follow the other")
		}
		definition, err := s.defined(ctx, t)
		if err != nil || t.WorkflowID == "" {
			return definition, err
		}
		return definition, s.checkInput(ctx, t, definition, t.Input, "/input", open)
	}
	if !named {
		return "", toolfold.Errorf(toolfold.InvalidInput, "the task has nothing to run").About(toolfold.ProblemMissing, "input").
			WithHint(`give agentId or workflowId to run that with input, or input {"tool": NAME, "arguments": {…}} to run an action`)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(t.Input, &members); err != nil {
		return "", fmt.Errorf("decoding input: %w", err)
	}
	suggestion := "arguments"
	if call.Arguments != nil {
		suggestion = ""
	}
	var problems []toolfold.Problem
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name != "tool" && name != "arguments" {
			problems = append(problems, toolfold.Problem{Path: jsonx.Pointer("/input", name), Kind: toolfold.ProblemUnknown, Suggest: suggestion})
		}
	}
	if len(problems) > 0 {
		e := &toolfold.Error{Code: toolfold.InvalidInput, Problems: problems}
		return "", e.WithHint("beside tool, input has arguments, an object")
	}
	const at = "/input/arguments"
	refused := s.Names.Refusal(ctx, call.Tool, call.Arguments, at, func(path string) bool { return open[path] })
	if refused != nil && refused.Code == toolfold.UpstreamError { // its server has no tools at the moment
		return "", refused
	}
	if len(s.permitted(ctx, call.Tool)) == 0 {
		err := entry.Unknown(call.Tool)
		if near := s.Names.Nearest(call.Tool); near != "" && len(s.permitted(ctx, near)) > 0 {
			err.Message += fmt.Sprintf(", did you mean %q?", near)
		}
		return "", err.WithHint("input.tool is the name of an action, such as memory.store")
	}
	if open[at] {
		return "", nil // the arguments are the output of a dependency
	}
	if refused != nil {
		return "", refused
	}
	definition, err = s.defined(ctx, t)
	if r, runs := t.reference(s.Names); err == nil && runs && r.Kind != work.Agent {
		input, place, known := call.argument("input")
		if place = "/input" + place; known && !open[place] {
			err = s.checkInput(ctx, t, definition, input, place, open)
		}
	}
	return definition, err
}

// argument returns an object among the arguments of a call or in params, and its JSON pointer. Value
// is nil if the argument is absent or null. Known is false if only the run can tell: params or the
// argument is an expression.
func (c Call) argument(name string) (value json.RawMessage, at string, known bool) {
	var args, params, object map[string]json.RawMessage
	_ = json.Unmarshal(plain(c.Arguments), &args) // nil for nothing
	inner := plain(args[callctx.ArgParams])
	known = inner == nil || json.Unmarshal(inner, &params) == nil
	if value, at = args[name], "/arguments"; params[name] != nil {
		value, at = params[name], jsonx.Pointer(at, callctx.ArgParams)
	}
	value = plain(value)
	known = known && (value == nil || json.Unmarshal(value, &object) == nil)
	return value, jsonx.Pointer(at, name), known
}

// plain returns a value, or the JSON in it if it is a text; nil for null and for nothing.
func plain(raw json.RawMessage) json.RawMessage {
	var text *string
	switch err := json.Unmarshal(raw, &text); {
	case err == nil && text == nil, len(raw) == 0:
		return nil
	case err == nil:
		return json.RawMessage(*text)
	}
	return raw
}

// permitted returns the entries with that name whose actions the caller may run.
func (s *Service) permitted(ctx context.Context, name string) []*entry.Entry {
	rights := toolfold.OriginOf(ctx).Rights
	return slices.DeleteFunc(slices.Clone(s.Names.Lookup(name)), func(e *entry.Entry) bool { return !rights.Allow(e.Action) })
}

// checkInput validates the input of the workflow or script that a task runs by its schema. At is the JSON
// pointer of the input in the arguments of task.submit.
func (s *Service) checkInput(ctx context.Context, t Task, definition string, input json.RawMessage, at string, open map[string]bool) error {
	set, err := Pins(definition)
	if err != nil {
		return err
	}
	var described struct {
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	root, _ := t.reference(s.Names)
	if err := json.Unmarshal(set[root.String()], &described); err != nil {
		return fmt.Errorf("decoding %s: %w", root, err)
	}
	if len(described.InputSchema) == 0 {
		return nil
	}
	bounded, err := workspace.BoundSchema(described.InputSchema)
	if err != nil {
		return fmt.Errorf("reading inputSchema of %s: %w", root.ID, err)
	}
	var unknown []string
	for place := range open {
		if below, within := strings.CutPrefix(place, at); within {
			unknown = append(unknown, "/input"+below)
		}
	}
	problems, err := workspace.CheckWritten(ctx, root.ID, bounded, input, unknown)
	if err != nil || len(problems) == 0 {
		return err
	}
	for i, p := range problems {
		problems[i].Path = at + strings.TrimPrefix(p.Path, "/input")
	}
	e := &toolfold.Error{Code: toolfold.InvalidInput, Problems: problems}
	return e.WithHint("%s has the inputSchema of %s", work.Accounts[root.Kind].Action, root.ID)
}
