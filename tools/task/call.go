package task

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// CallsQueue is the id and name of the queue of task calls. The first task call creates it.
// Task calls do not wait behind submitted tasks.
const CallsQueue = "calls"

// Kept is the input of a task call. Inputs of task.submit have no member called.
type Kept struct {
	Call
	ClientCall *Call `json:"called"` // in the client's form; nil for a submitted task

	// Client has the client's capabilities for questions; nil if it cannot be asked.
	Client json.RawMessage `json:"client,omitempty"`

	// Caller identifies the session or the caller; empty if neither is known.
	Caller string `json:"caller,omitempty"`

	// By has the caller, for the audit of the calls that the task makes; nil if it is not known.
	By json.RawMessage `json:"by,omitempty"`

	// As is the client of the call, for display; empty if it is not known.
	As string `json:"as,omitempty"`
}

// Question is a question of a task call to its client.
type Question struct {
	Key, Method string
	Params      json.RawMessage
	Answer      json.RawMessage // nil until answered
	AskedAt     time.Time
}

// ClientOf returns the client's capabilities from the input of a task call; nil if
// the client cannot be asked.
func ClientOf(input json.RawMessage) json.RawMessage {
	var call Kept
	_ = json.Unmarshal(input, &call) // fails for the input of an agent or workflow
	return call.Client
}

// CallerOf returns the caller of a task call and its client, see [Kept]; nil and empty if they are not known. The input
// of an agent or workflow does not count: its submitter may name any caller in it.
func CallerOf(t Task) (by json.RawMessage, as string) {
	var call Kept
	if t.AgentID != "" || t.WorkflowID != "" || json.Unmarshal(t.Input, &call) != nil || call.ClientCall == nil {
		return nil, ""
	}
	return call.By, call.As
}

// IsCall reports whether the input belongs to a task call.
func IsCall(input json.RawMessage) bool {
	var call Kept
	return json.Unmarshal(input, &call) == nil && call.ClientCall != nil // of another form where an agent or a workflow is run
}

// Keep stores a call as a task, so that it runs even if this process ends, and returns the task's
// id. It requires only the rights of the call. Keep returns an [*toolfold.Error] if no task can run
// the call: it is rejected, or it may ask the client's own model.
func (s *Service) Keep(ctx context.Context, call Kept) (id string, err error) {
	t, err := s.begin(ctx)
	if err != nil {
		return "", err
	}
	t.Name, t.QueueID = call.Tool, CallsQueue
	if t.Input, err = compact(ordered.MustJSON(call.Call)); err != nil {
		return "", err
	}
	if t.Definition, err = s.checkWork(ctx, t); err != nil {
		return "", together(err)
	}
	if err := s.refuseLent(ctx, t); err != nil {
		return "", err
	}
	if t.Input, err = compact(ordered.MustJSON(call)); err != nil {
		return "", err
	}
	submission, err := s.Store.Submit(ctx, t, t.CreatedAt, s.MaxOpen)
	if err == nil && submission.QueueID == "" {
		if err = s.Store.AddQueue(ctx, CallsQueue, t.CreatedAt); err == nil {
			submission, err = s.Store.Submit(ctx, t, t.CreatedAt, s.MaxOpen)
		}
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("keeping a call: %w", err)
	case submission.Full:
		return "", toolfold.Errorf(toolfold.LimitReached, "%d tasks of this workspace have not ended, which is the most there may be", s.MaxOpen)
	}
	return t.ID, nil
}

// refuseLent fails if the task may ask the model of its client, which a worker does not have.
func (s *Service) refuseLent(ctx context.Context, t Task) error {
	if callctx.SamplerOf(ctx) == nil || s.NoModel == nil {
		return nil
	}
	set, err := Pins(t.Definition)
	if err != nil {
		return err
	}
	for name, described := range set {
		kind, _, _ := strings.Cut(name, " ")
		steps := stepsOf(described)
		providers := anyPrompts(described)
		if kind == work.Agent && len(steps) == 0 {
			providers = append(providers, "")
		}
		for _, provider := range providers {
			if refused := s.NoModel(provider); refused != nil {
				return refused
			}
		}
	}
	return nil
}

// anyPrompts lists the providers of all prompts of a definition, nested and conditional ones too.
// An agent named by an expression counts as the default provider.
func anyPrompts(described json.RawMessage) (providers []string) {
	var value any
	_ = json.Unmarshal(described, &value) // encoded by agent.get or workflow.describe
	var walk func(value any)
	walk = func(value any) {
		switch value := value.(type) {
		case []any:
			for _, item := range value {
				walk(item)
			}
		case map[string]any:
			config, _ := value["config"].(map[string]any)
			switch value["type"] {
			case "prompt":
				provider, _ := config["provider"].(string)
				providers = append(providers, provider)
			case "delegate", "tool":
				if strings.Contains(string(ordered.MustJSON(config)), "{{") && slices.ContainsFunc([]string{"agentId", "workflowId", "tool"},
					func(name string) bool { text, _ := config[name].(string); return strings.Contains(text, "{{") }) {
					providers = append(providers, "")
				}
			}
			for _, member := range value {
				walk(member)
			}
		}
	}
	walk(value)
	return providers
}

// ClientTask is a task from the view of the client that took it instead of an answer.
type ClientTask struct {
	Task
	Message    string // progress, or the reason for waiting; may be empty
	ClientCall *Call  // nil for a submitted task

	Questions []Question // unanswered questions of an open task
}

// ClientTask returns a task to callers who may see it: with the rights in [Task.Rights], or with the
// right to call task.status.
func (s *Service) ClientTask(ctx context.Context, id string) (k ClientTask, found bool, err error) {
	if k.Task, found, err = s.Store.Get(ctx, strings.ToLower(id)); err != nil {
		return k, false, fmt.Errorf("reading task: %w", err)
	}
	if !found {
		return k, false, nil
	}
	var input Kept
	if json.Unmarshal(k.Input, &input) == nil { // of another form where an agent or a workflow is run
		k.ClientCall = input.ClientCall
	}
	if input.Client != nil && !Final(k.Status) {
		if k.Questions, err = s.Store.Questions(ctx, k.ID); err != nil {
			return k, false, fmt.Errorf("reading questions: %w", err)
		}
		k.Questions = slices.DeleteFunc(k.Questions, func(q Question) bool { return q.Answer != nil })
	}
	switch k.Status {
	case Completed, Failed, Cancelled, TimedOut:
	case Running:
		p, _, err := s.Store.Progress(ctx, k.ID, k.Turn)
		if err != nil {
			return k, false, fmt.Errorf("reading progress: %w", err)
		}
		if p.Total > 0 {
			k.Message = fmt.Sprintf("%.0f %% done", 100*p.Done/p.Total)
		}
		if len(p.Lines) > 0 {
			k.Message = strings.TrimPrefix(k.Message+": "+p.Lines[len(p.Lines)-1], ": ")
		}
	default:
		waits, err := s.waitsFor(ctx, k.Task)
		if err != nil {
			return k, false, err
		}
		k.Message = "waits for " + waits
	}
	return k, true, nil
}

// maxLooked limits the ended task calls among which [Service.LastCall] looks.
const maxLooked = 500

// LastCall returns the newest completed task call of an action by a caller, see [Kept]. It looks among
// the last 500 completed task calls of the workspace.
func (s *Service) LastCall(ctx context.Context, action, caller string) (t Task, found bool, err error) {
	page, err := s.Store.List(ctx, Query{Workspace: &s.Workspace, QueueID: CallsQueue, Statuses: []string{Completed}, Limit: maxLooked})
	if err != nil {
		return t, false, fmt.Errorf("listing task calls: %w", err)
	}
	for _, t := range page.Tasks {
		if t.Name != action {
			continue
		}
		if t, found, err = s.Store.Get(ctx, t.ID); err != nil {
			return t, false, fmt.Errorf("reading task: %w", err)
		}
		var input Kept
		if found && json.Unmarshal(t.Input, &input) == nil && input.ClientCall != nil && input.Caller == caller {
			return t, true, nil
		}
	}
	return Task{}, false, nil
}

// Stop requests the end of a task without waiting for it. An ended task stays unchanged.
func (s *Service) Stop(ctx context.Context, id string) error {
	_, _, err := s.Store.Cancel(ctx, Cancellation{TaskID: strings.ToLower(id), Reason: "cancelled by its client", At: s.now()})
	if err != nil {
		return fmt.Errorf("cancelling task: %w", err)
	}
	return nil
}

// Answer stores the client's answers to questions of a task call, by key.
func (s *Service) Answer(ctx context.Context, id string, answers map[string]json.RawMessage) error {
	if err := s.Store.Answer(ctx, strings.ToLower(id), answers); err != nil {
		return fmt.Errorf("answering a task: %w", err)
	}
	return nil
}

// Resume starts a task call again that has ended, with the outcomes of its interrupted steps, see
// [Retrial].
func (s *Service) Resume(ctx context.Context, id string, outcomes map[string]json.RawMessage) error {
	if outcomes == nil {
		outcomes = map[string]json.RawMessage{}
	}
	_, blocked, err := s.Store.Retry(ctx, Retrial{TaskID: strings.ToLower(id), At: s.now(), Outcomes: outcomes})
	if err != nil {
		return fmt.Errorf("resuming a task: %w", err)
	}
	if len(blocked) > 0 && strings.EqualFold(blocked[0].TaskID, id) {
		return toolfold.Errorf(InvalidState, "another caller has gone on with the task: it is %s", blocked[0].Status)
	}
	if len(blocked) > 0 {
		return obstructed(blocked)
	}
	return nil
}

// Worked reports whether a process runs tasks of the service's workspace.
func (s *Service) Worked(ctx context.Context) (bool, error) {
	worked, err := s.Store.Worked(ctx, s.Workspace)
	if err != nil {
		return false, fmt.Errorf("looking for workers: %w", err)
	}
	return worked, nil
}
