package task

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// maxDefinition limits the definition stored with a task, in bytes.
const maxDefinition = 1 << 20

// reference returns the agent, workflow or stored script that a task runs. Found is false if it runs no such thing, or if
// the input names it by an expression.
func (t Task) reference(names entry.Names) (r work.Reference, found bool) {
	switch {
	case t.AgentID != "":
		return work.Reference{Kind: work.Agent, ID: t.AgentID}, true
	case t.WorkflowID != "":
		return work.Reference{Kind: work.Workflow, ID: t.WorkflowID}, true
	}
	call, ok := ParseCall(t.Input)
	if !ok {
		return r, false
	}
	return work.Called(names, call.Tool, call.Arguments)
}

// Define returns the current definitions of the agent, workflow or stored script that a task runs, and
// of all that these name. It is empty for a task that runs none of them. Define fails if
// the first does not exist, must not run or is not trusted. If a nested one is not
// usable, it is omitted, and the step that names it will fail.
func (t Task) Define(ctx context.Context, caller toolfold.Caller, names entry.Names) (definition string, err error) {
	root, found := t.reference(names)
	if !found {
		return "", nil
	}
	set := work.Pins{}
	for left := []work.Reference{root}; len(left) > 0; left = left[1:] {
		r := left[0]
		if set[r.String()] != nil {
			continue
		}
		described, err := describe(ctx, caller, r)
		if refused, ok := errors.AsType[*toolfold.Error](err); ok && r != root && refused.Code != toolfold.Internal {
			continue
		}
		if err != nil {
			return "", err
		}
		set[r.String()] = described
		left = append(left, work.Named(names, stepsOf(described))...)
	}
	text := ordered.MustJSON(set)
	if len(text) > maxDefinition {
		return "", toolfold.Errorf(toolfold.InvalidInput, "%s, with all that it names, is defined in %d bytes, the limit for a task is %d", root,
			len(text), maxDefinition).
			WithHint("have it name agents by an expression, such as {{ input.agent }}: those are looked up when the step runs")
	}
	return string(text), nil
}

// Pins reads a definition that Define returned.
func Pins(definition string) (set map[string]json.RawMessage, err error) {
	if definition == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(definition), &set); err != nil {
		return nil, fmt.Errorf("decoding definition of a task: %w", err)
	}
	return set, nil
}

// Lacking returns the first agent, workflow or script in set, the definitions of a submitted task, that is
// defined by a file and missing in the folder of this process. It returns an empty text if all are
// present. Root is the error of [Task.Define].
func Lacking(ctx context.Context, caller toolfold.Caller, set map[string]json.RawMessage, root error) (what string, err error) {
	if refused, ok := absent(root); ok {
		return refused.Message, nil
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		kind, id, _ := strings.Cut(name, " ")
		var then struct {
			Source string `json:"source"`
		}
		_ = json.Unmarshal(set[name], &then) // workflows are always files
		if kind != work.Workflow && then.Source != workspace.InFile {
			continue
		}
		_, err := describe(ctx, caller, work.Reference{Kind: kind, ID: id})
		if refused, ok := absent(err); ok {
			return refused.Message, nil
		}
		if _, ok := errors.AsType[*toolfold.Error](err); err != nil && !ok {
			return "", err
		}
	}
	return "", nil
}

// absent returns err as a toolfold.Error, and whether it reports an agent, workflow or script that does not exist.
func absent(err error) (*toolfold.Error, bool) {
	refused, ok := errors.AsType[*toolfold.Error](err)
	if !ok {
		return nil, false
	}
	for _, a := range work.Accounts {
		if a.NotFound == refused.Code {
			return refused, true
		}
	}
	return refused, false
}

// stepsOf returns the steps of the result of agent.get or workflow.describe.
func stepsOf(described json.RawMessage) []work.Step {
	var holder struct {
		Workflow []work.Step `json:"workflow"`
		Steps    []work.Step `json:"steps"`
	}
	_ = json.Unmarshal(described, &holder) // invalid steps name no agent
	return slices.Concat(holder.Workflow, holder.Steps)
}

// describe returns the result of agent.get, workflow.describe or script.show. It fails if the agent,
// workflow or script must not run or is not trusted.
func describe(ctx context.Context, caller toolfold.Caller, r work.Reference) (json.RawMessage, error) {
	_, param := r.Action()
	action := work.Accounts[r.Kind].Action
	raw, err := toolfold.Do[json.RawMessage](ctx, caller, action, map[string]string{param: r.ID})
	if err != nil {
		return nil, err
	}
	state := struct {
		Enabled *bool  `json:"enabled"`
		Status  string `json:"status"`
		Trusted *bool  `json:"trusted"`
	}{}
	if err := json.Unmarshal(raw, &state); err != nil {
		return nil, fmt.Errorf("decoding result of %s: %w", action, err)
	}
	short := shorten.Quoted(r.ID)
	switch {
	case state.Enabled != nil && !*state.Enabled:
		return nil, toolfold.Errorf("AGENT_PERMISSION_DENIED", "agent %q is disabled", short).WithHint("choose another of agent.list")
	case r.Kind == work.Workflow && state.Status != "active":
		return nil, toolfold.Errorf("WORKFLOW_NOT_ACTIVE", "workflow %q is not active", short).
			WithHint("set status: active in its file, or choose another of workflow.list")
	case state.Trusted != nil && !*state.Trusted:
		return nil, toolfold.Errorf(workspace.Untrusted, "%s %q is a file of a workspace that is not trusted", r.Kind, short).
			WithHint("the user has to type, in the workspace: toolfold trust")
	}
	return raw, nil
}

// decisive are the members of a description that change a run.
var decisive = []string{
	"displayName", "version", "description", "role", "expertise", "capabilities", "team", "tags",
	"systemPrompt", "workflow", "orchestration", "inputSchema", "steps", "code",
}

// changed lists the agents and workflows of a definition that have changed or no longer exist.
func changed(then, now map[string]json.RawMessage) []string {
	var list []string
	for name, before := range then {
		var a, b map[string]json.RawMessage
		_ = json.Unmarshal(before, &a)
		_ = json.Unmarshal(now[name], &b) // nil if it no longer exists
		if b == nil || slices.ContainsFunc(decisive, func(member string) bool { return !bytes.Equal(a[member], b[member]) }) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}
