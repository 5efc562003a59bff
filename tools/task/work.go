package task

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/jsonx"
	"github.com/toolfold/toolfold/internal/workspace"
)

// Actions knows what tasks may call. *call.Runner implements it.
type Actions interface {
	toolfold.Names

	// Refusal returns why a call would be refused before its action runs; nil
	// where it would run. Paths of its problems begin with at; problems at
	// paths for which open is true are left out.
	Refusal(ctx context.Context, name string, args json.RawMessage, at string, open func(path string) bool) *toolfold.Error
}

// checkWork refuses what could only fail later: an agent, a workflow or an
// action that does not exist, and input that it does not take. It returns the
// definition of an agent or workflow.
func (s *Service) checkWork(ctx context.Context, t Task) (definition string, err error) {
	open, err := s.checkReferences(ctx, t)
	if err != nil {
		return "", err
	}
	call, named := ParseCall(t.Input)
	if t.AgentID != "" || t.WorkflowID != "" {
		// An agent may have an input of its own that is called tool.
		calls := named && (call.Arguments != nil || len(s.permitted(ctx, call.Tool)) > 0)
		if calls || t.AgentID != "" && t.WorkflowID != "" {
			return "", toolfold.Errorf(toolfold.InvalidInput, "a task runs one of agentId, workflowId and input.tool").
				WithHint("submit a task for each, with dependencies where one is to follow the other")
		}
		described, definition, err := t.Describe(ctx, s.Caller)
		if err != nil || t.WorkflowID == "" {
			return definition, err
		}
		return definition, checkInput(ctx, t, described["inputSchema"], open)
	}
	if !named {
		return "", toolfold.Errorf(toolfold.InvalidInput, "the task has nothing to run").
			WithHint(`give agentId or workflowId to run that with input, or input {"tool": NAME, "arguments": {…}} to run an action`)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(t.Input, &members); err != nil {
		return "", fmt.Errorf("decoding input: %w", err)
	}
	meant := "arguments"
	if call.Arguments != nil {
		meant = ""
	}
	var problems []toolfold.Problem
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name != "tool" && name != "arguments" {
			problems = append(problems, toolfold.Problem{Path: jsonx.Pointer("/input", name), Kind: toolfold.ProblemUnknown, Suggest: meant})
		}
	}
	if len(problems) > 0 {
		e := &toolfold.Error{Code: toolfold.InvalidInput, Problems: problems}
		return "", e.WithHint("beside tool, input has arguments, an object")
	}
	if len(s.permitted(ctx, call.Tool)) == 0 {
		err := toolfold.UnknownName(call.Tool)
		if near := s.Names.Nearest(call.Tool); near != "" && len(s.permitted(ctx, near)) > 0 {
			err.Message += fmt.Sprintf(", did you mean %q?", near)
		}
		return "", err.WithHint("input.tool is the name of an action, such as memory.store")
	}
	const at = "/input/arguments"
	if open[at] {
		return "", nil // all of them are an output
	}
	if refused := s.Names.Refusal(ctx, call.Tool, call.Arguments, at, func(path string) bool { return open[path] }); refused != nil {
		return "", refused
	}
	return "", nil
}

// permitted returns the entries that a name stands for of actions that the
// caller may run.
func (s *Service) permitted(ctx context.Context, name string) []*toolfold.Entry {
	rights := toolfold.OriginOf(ctx).Rights
	return slices.DeleteFunc(slices.Clone(s.Names.Lookup(name)), func(e *toolfold.Entry) bool { return !rights.Allow(e.Action) })
}

// checkInput holds the input of a workflow against its schema.
func checkInput(ctx context.Context, t Task, schema json.RawMessage, open map[string]bool) error {
	bounded, err := workspace.BoundSchema(schema)
	if err != nil {
		return fmt.Errorf("reading inputSchema of %s: %w", t.WorkflowID, err)
	}
	_, problems, err := workspace.CheckInput(ctx, t.WorkflowID, bounded, t.Input)
	problems = slices.DeleteFunc(problems, func(p toolfold.Problem) bool { return open[p.Path] })
	if err != nil || len(problems) == 0 {
		return err
	}
	e := &toolfold.Error{Code: toolfold.InvalidInput, Problems: problems}
	return e.WithHint("workflow.describe has the inputSchema of %s", t.WorkflowID)
}

// Describe returns the agent or the workflow of a task, and a digest of all that
// decides what it does. It refuses one that does not exist, must not run or is
// not trusted. A task of neither has nothing to describe.
func (t Task) Describe(ctx context.Context, caller toolfold.Caller) (described map[string]json.RawMessage, digest string, err error) {
	action, param, id := "agent.get", "agentId", t.AgentID
	decisive := []string{
		"displayName", "version", "description", "role", "expertise", "capabilities", "team", "tags",
		"systemPrompt", "workflow", "orchestration",
	}
	if t.WorkflowID != "" {
		action, param, id = "workflow.describe", "workflowId", t.WorkflowID
		decisive = []string{"inputSchema", "steps"}
	}
	if id == "" {
		return nil, "", nil
	}
	described, err = toolfold.Do[map[string]json.RawMessage](ctx, caller, action, map[string]string{param: id})
	short := toolfold.Shorten(id)
	switch {
	case err != nil:
		return nil, "", err
	case string(described["enabled"]) == "false":
		return nil, "", toolfold.Errorf("AGENT_PERMISSION_DENIED", "agent %q is disabled", short).WithHint("choose another of agent.list")
	case t.WorkflowID != "" && string(described["status"]) != `"active"`:
		return nil, "", toolfold.Errorf("WORKFLOW_NOT_ACTIVE", "workflow %q is not active", short).WithHint("set status: active in its file, or choose another of workflow.list")
	case string(described["trusted"]) == "false":
		return nil, "", toolfold.Errorf(workspace.Untrusted, "%s %q is a file of a workspace that is not trusted", param[:len(param)-2], short).
			WithHint("the user has to type, in the workspace: toolfold trust")
	}
	sum := sha256.New()
	for _, member := range decisive {
		fmt.Fprintf(sum, "%s=%d:%s\n", member, len(described[member]), described[member])
	}
	return described, hex.EncodeToString(sum.Sum(nil)), nil
}
