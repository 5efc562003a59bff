package work

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/expression"
)

// Script is the action that runs a script, whose calls are recorded as steps.
const Script = "script.run"

// The kinds of references.
const (
	Agent    = "agent"
	Workflow = "workflow"
	Stored   = "script" // with a name
)

// Reference refers to an agent, a workflow or a stored script.
type Reference struct {
	Kind string
	ID   string
}

// String returns the kind and the id, such as "agent planner".
func (r Reference) String() string { return r.Kind + " " + r.ID }

// Action returns the action that runs it, and the parameter for its id.
func (r Reference) Action() (name, param string) {
	if r.Kind == Stored {
		return Script, "name"
	}
	return r.Kind + ".run", r.Kind + "Id"
}

// UserOutcome is the id of a run of a script. In a context with it, the outcomes of that run's calls, and the answers
// to its questions, are stated by this machine's user, not by a client.
type UserOutcome string

// Account names the action that returns the definition of an object, and the code of its error if there
// is no such object.
type Account struct {
	Action   string
	NotFound string
}

// Accounts are the accounts of agents, workflows and stored scripts, by kind.
var Accounts = map[string]Account{
	Agent:    {"agent.get", "AGENT_NOT_FOUND"},
	Workflow: {"workflow.describe", "WORKFLOW_NOT_FOUND"},
	Stored:   {"script.show", "SCRIPT_NOT_FOUND"},
}

// Pins maps [Reference.String] to a fixed definition of an agent, a workflow or a script: the result of
// agent.get, workflow.describe or script.show. A task's runs use the definitions from its submission.
type Pins map[string]json.RawMessage

// WithPins makes runs under the context use these definitions instead of the current ones. Whether
// an agent or workflow exists, is enabled and is trusted still depends on the current one. A script is
// the pinned one, if the workspace is trusted now.
func WithPins(ctx context.Context, pins Pins) context.Context {
	return callctx.With(ctx, pins)
}

// Pinned returns the definition that runs under the context use, or false for the current one.
func Pinned(ctx context.Context, r Reference) (definition json.RawMessage, pinned bool) {
	definition, pinned = callctx.Of[Pins](ctx)[r.String()]
	return definition, pinned
}

// Called returns the agent, workflow or stored script that a call runs, if the arguments contain its id literally.
// tool may be any name of the action.
func Called(names entry.Names, tool string, arguments json.RawMessage) (r Reference, found bool) {
	var args map[string]json.RawMessage
	_ = json.Unmarshal(arguments, &args) // nil if it is a placeholder
	text := func(name string) (value string) {
		for _, holder := range []map[string]json.RawMessage{args, membersOf(args["params"])} {
			if value == "" {
				_ = json.Unmarshal(holder[name], &value)
			}
		}
		return value
	}
	for _, kind := range []string{Agent, Workflow, Stored} {
		r := Reference{Kind: kind}
		action, param := r.Action()
		if r.ID = text(param); r.ID == "" || strings.Contains(r.ID, expression.Opening) {
			continue
		}
		if slices.ContainsFunc(names.Lookup(tool), func(e *entry.Entry) bool {
			return e.Action != nil && e.Action.FullName() == action && (e.Selector == "" || e.Selector == text(callctx.ArgAction))
		}) {
			return r, true
		}
	}
	return Reference{}, false
}

func membersOf(raw json.RawMessage) (members map[string]json.RawMessage) {
	_ = json.Unmarshal(raw, &members) // nil for anything but an object
	return members
}

// Step holds the parts of a step that can refer to an agent or workflow.
type Step struct {
	Type   string          `json:"type"`
	Config json.RawMessage `json:"config"`

	ContinueOnError bool `json:"continueOnError"`
}

// Named lists the agents, workflows and stored scripts whose ids are literal in steps, including nested steps.
// Computed ids are only known when the step runs.
func Named(names entry.Names, steps []Step) (list []Reference) {
	for _, s := range steps {
		config := membersOf(s.Config)
		text := func(name string) (value string) {
			_ = json.Unmarshal(config[name], &value)
			return value
		}
		switch s.Type {
		case "delegate":
			for _, name := range []string{"agentId", "targetAgent", "targetAgentId"} {
				if id := text(name); id != "" && !strings.Contains(id, expression.Opening) {
					list = append(list, Reference{Agent, id})
				}
			}
		case "script":
			if name := text("name"); name != "" && !strings.Contains(name, expression.Opening) {
				list = append(list, Reference{Stored, name})
			}
		case "tool":
			if r, found := Called(names, text("tool"), config["arguments"]); found {
				list = append(list, r)
			}
		}
		for _, name := range []string{"then", "else", "steps"} {
			var inner []Step
			if json.Unmarshal(config[name], &inner) == nil {
				list = append(list, Named(names, inner)...)
			}
		}
	}
	return list
}

// Repeatable reports whether a call may be repeated if it is unknown whether it was done: its
// action is idempotent, or the user allowed it, or it runs steps that are recorded themselves.
func Repeatable(names entry.Names, tool string, arguments json.RawMessage) bool {
	if _, runs := Called(names, tool, arguments); runs {
		return true
	}
	args := membersOf(arguments)
	var selector string
	_ = json.Unmarshal(args[callctx.ArgAction], &selector)
	entries := names.Lookup(tool)
	return len(entries) > 0 && !slices.ContainsFunc(entries, func(e *entry.Entry) bool {
		return e.Action == nil || (e.Selector == "" || e.Selector == selector) && !e.Action.Once && !e.Action.Hints().Idempotent &&
			e.Action.FullName() != Script
	})
}
