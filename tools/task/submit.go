package task

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold/engine/queue"
	"github.com/toolfold/toolfold/tools"
)

// Submit accepts a task: once it answers, the task will run.
func (s *Service) Submit(ctx context.Context, in SubmitIn) (SubmitOut, error) {
	t, err := s.newTask(in)
	if err != nil {
		return SubmitOut{}, err
	}
	if in.Type != Wait {
		if err := s.checkWork(ctx, in); err != nil {
			return SubmitOut{}, err
		}
	}
	q, err := s.queue(ctx, in.QueueID)
	if err != nil {
		return SubmitOut{}, err
	}
	t.QueueID = q.ID
	if t.Priority == "" {
		t.Priority = q.DefaultPriority
	}
	placed, blocked, err := s.Store.Submit(ctx, t, t.CreatedAt)
	if err != nil {
		return SubmitOut{}, fmt.Errorf("submitting task: %w", err)
	}
	if len(blocked) > 0 {
		return SubmitOut{}, obstructed(blocked)
	}
	return SubmitOut{
		TaskID: t.ID, QueueID: t.QueueID, Status: placed.Status, Position: placed.Position, SubmittedAt: t.CreatedAt,
	}, nil
}

// newTask is the task that the arguments describe, without its queue.
func (s *Service) newTask(in SubmitIn) (queue.Task, error) {
	t := queue.Task{
		ID: s.NewID(), Name: in.Name, Description: in.Description, AgentID: in.AgentID, Input: in.Input,
		Priority: in.Priority, Type: in.Type, Dependencies: distinct(lower(in.Dependencies)), Tags: distinct(in.Tags),
		Attempt: 1, Timeout: time.Duration(in.TimeoutMs) * time.Millisecond, CreatedAt: s.moment(),
	}
	if !in.ScheduledAt.IsZero() {
		t.ScheduledAt = in.ScheduledAt.UTC().Truncate(time.Microsecond)
	}
	if t.AgentID != "" && len(t.Input) == 0 {
		t.Input = json.RawMessage(`{}`)
	}
	return t, applyKind(in, &t)
}

func lower(ids []string) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = strings.ToLower(id)
	}
	return list
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
// does not exist.
func (s *Service) checkWork(ctx context.Context, in SubmitIn) error {
	if in.AgentID != "" {
		return s.checkAgent(ctx, in.AgentID)
	}
	call, ok := queue.ParseCall(in.Input)
	if !ok {
		return tools.Errorf(tools.InvalidInput, "the task has nothing to run").
			WithHint(`give agentId to run an agent with input, or input {"tool": NAME, "arguments": {…}} to run an action`)
	}
	return s.checkCall(call)
}

func (s *Service) checkAgent(ctx context.Context, id string) error {
	args, err := json.Marshal(map[string]string{"agentId": id})
	if err != nil {
		return fmt.Errorf("looking for the agent: %w", err)
	}
	answer := s.Caller.Call(ctx, "agent.get", args)
	if answer.Err != nil {
		return answer.Err
	}
	var agent struct {
		Enabled *bool `json:"enabled"`
	}
	if json.Unmarshal(answer.Content, &agent) == nil && agent.Enabled != nil && !*agent.Enabled {
		return tools.Errorf("AGENT_PERMISSION_DENIED", "agent %q is disabled", tools.Shorten(id)).WithHint("choose another of agent.list")
	}
	return nil
}

// checkCall holds a call to the names there are, not to its other arguments:
// these are checked when it runs.
func (s *Service) checkCall(call queue.Call) error {
	entries := s.Names.Lookup(call.Tool)
	if len(entries) == 0 {
		err := tools.UnknownName(call.Tool)
		if near := s.Names.Nearest(call.Tool); near != "" {
			err.Message += fmt.Sprintf(", did you mean %q?", near)
		}
		return err.WithHint("input.tool is the name of an action, such as memory.store")
	}
	if entries[0].Selector == "" {
		return nil
	}
	var args struct {
		Action string `json:"action"`
	}
	if len(call.Arguments) > 0 && json.Unmarshal(call.Arguments, &args) != nil {
		return tools.Errorf(tools.InvalidInput, "input.arguments is not an object")
	}
	var actions []string
	for _, e := range entries {
		actions = append(actions, e.Selector)
	}
	if !slices.Contains(actions, args.Action) {
		return tools.Errorf(tools.InvalidAction, "input.arguments.action has to be one of %s", strings.Join(actions, ", ")).
			WithHint("or name the action in input.tool, such as %s.%s", call.Tool, actions[0])
	}
	return nil
}
