package task

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolfold/toolfold/tools"
)

// Bounds of a task that its recorded legacy declaration does not have.
const (
	maxInput = 1 << 20 // bytes of compact JSON
	maxTag   = 100     // characters
)

// Submit accepts a task: once it answers, the task will run.
func (s *Service) Submit(ctx context.Context, in SubmitIn) (SubmitOut, error) {
	t := Task{
		ID: s.NewID(), QueueID: in.QueueID, Name: in.Name, Description: in.Description, AgentID: in.AgentID,
		Priority: in.Priority, Type: in.Type, Tags: distinct(in.Tags), Attempt: 1,
		Timeout: time.Duration(in.TimeoutMs) * time.Millisecond, CreatedAt: s.now(),
		Workspace: s.Workspace, Sessions: tools.SessionsOf(ctx),
	}
	if depth, within := ctx.Value(depthKey{}).(int); within {
		t.Depth = depth + 1
	}
	if t.Depth > MaxDepth {
		return SubmitOut{}, tools.Errorf(TooDeep, "tasks that submit tasks may lead to each other %d times at most", MaxDepth).
			WithHint("do the work in the task that runs, or submit it from outside of a task")
	}
	for _, tag := range t.Tags {
		if n := utf8.RuneCountInString(tag); n > maxTag {
			return SubmitOut{}, tools.Errorf(tools.InvalidInput, "a tag has %d characters, the limit is %d", n, maxTag).
				WithHint("tags are labels; description takes longer texts")
		}
	}
	if t.QueueID == "" {
		t.QueueID = DefaultQueue
	}
	var ids []string
	for _, id := range in.Dependencies {
		ids = append(ids, strings.ToLower(id))
	}
	t.Dependencies = distinct(ids)
	if !in.ScheduledAt.IsZero() {
		t.ScheduledAt = in.ScheduledAt.UTC().Truncate(time.Microsecond)
	}
	var err error
	if t.Input, err = compact(in.Input); err != nil {
		return SubmitOut{}, err
	}
	if t.AgentID != "" && t.Input == nil {
		t.Input = json.RawMessage(`{}`)
	}
	if err := applyKind(in, &t); err != nil {
		return SubmitOut{}, err
	}
	if in.Type != Wait {
		if t.Definition, err = s.checkWork(ctx, in); err != nil {
			return SubmitOut{}, err
		}
	}
	made, err := s.Store.Submit(ctx, t, t.CreatedAt, s.MaxOpen)
	switch {
	case err != nil:
		return SubmitOut{}, fmt.Errorf("submitting task: %w", err)
	case made.QueueID == "":
		return SubmitOut{}, queueNotFound(in.QueueID)
	case made.Full:
		return SubmitOut{}, tools.Errorf(TooMany, "%d tasks of this workspace have not ended, which is the most there may be", s.MaxOpen).
			WithHint("wait for some to end, or task.cancel those that are not needed; task.list shows them")
	case len(made.Blocked) > 0:
		return SubmitOut{}, obstructed(made.Blocked)
	}
	return SubmitOut{
		TaskID: t.ID, QueueID: made.QueueID, Status: made.Status, Position: made.Position, SubmittedAt: t.CreatedAt,
	}, nil
}

// compact removes the spaces of an input and holds it to its limit. No input
// is nil.
func compact(input json.RawMessage) (json.RawMessage, error) {
	if len(input) == 0 {
		return nil, nil
	}
	var buf bytes.Buffer
	if err := json.Compact(&buf, input); err != nil {
		return nil, tools.Errorf(tools.InvalidInput, "input is not JSON")
	}
	if buf.Len() > maxInput {
		return nil, tools.Errorf(tools.InvalidInput, "input has %d bytes of compact JSON, the limit is %d", buf.Len(), maxInput).
			WithHint("keep large data elsewhere, such as in a file or with memory.store, and pass its name")
	}
	return buf.Bytes(), nil
}

// distinct drops repetitions, and is never nil.
func distinct(texts []string) []string {
	list := []string{}
	for _, text := range texts {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// checkWork refuses what could only fail later: an agent or an action that
// does not exist. It returns the definition of an agent.
func (s *Service) checkWork(ctx context.Context, in SubmitIn) (definition string, err error) {
	call, named := ParseCall(in.Input)
	switch {
	case in.AgentID != "":
		return Definition(ctx, s.Caller, in.AgentID)
	case !named:
		return "", tools.Errorf(tools.InvalidInput, "the task has nothing to run").
			WithHint(`give agentId to run an agent with input, or input {"tool": NAME, "arguments": {…}} to run an action`)
	}
	entries := s.Names.Lookup(call.Tool)
	if len(entries) == 0 {
		err := tools.UnknownName(call.Tool)
		if near := s.Names.Nearest(call.Tool); near != "" {
			err.Message += fmt.Sprintf(", did you mean %q?", near)
		}
		return "", err.WithHint("input.tool is the name of an action, such as memory.store")
	}
	if entries[0].Selector == "" {
		return "", nil
	}
	// The other arguments are checked when the call runs.
	var args struct {
		Action string `json:"action"`
	}
	if len(call.Arguments) > 0 && json.Unmarshal(call.Arguments, &args) != nil {
		return "", tools.Errorf(tools.InvalidInput, "input.arguments is not an object")
	}
	var actions []string
	for _, e := range entries {
		actions = append(actions, e.Selector)
	}
	if !slices.Contains(actions, args.Action) {
		return "", tools.Errorf(tools.InvalidAction, "input.arguments.action has to be one of %s", strings.Join(actions, ", ")).
			WithHint("or name the action in input.tool, such as %s.%s", call.Tool, actions[0])
	}
	return "", nil
}

// Definition returns a digest of all that decides what an agent does. It
// refuses an agent that does not exist, is disabled or not trusted.
func Definition(ctx context.Context, caller tools.Caller, agentID string) (string, error) {
	agent, err := tools.Do[map[string]json.RawMessage](ctx, caller, "agent.get", map[string]string{"agentId": agentID})
	switch {
	case err != nil:
		return "", err
	case string(agent["enabled"]) == "false":
		return "", tools.Errorf("AGENT_PERMISSION_DENIED", "agent %q is disabled", tools.Shorten(agentID)).WithHint("choose another of agent.list")
	case string(agent["trusted"]) == "false":
		return "", tools.Errorf("WORKSPACE_UNTRUSTED", "agent %q is a file of a workspace that is not trusted", tools.Shorten(agentID)).
			WithHint("the user has to type, in the workspace: toolfold trust")
	}
	digest := sha256.New()
	for _, member := range []string{
		"displayName", "version", "description", "role", "expertise", "capabilities", "team", "tags",
		"systemPrompt", "workflow", "orchestration",
	} {
		fmt.Fprintf(digest, "%s=%d:%s\n", member, len(agent[member]), agent[member])
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}
