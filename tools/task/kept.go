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

// CallsQueue is the id and the name of the queue of kept calls. It is made by the first
// of them, so that one is not held up by tasks that were submitted.
const CallsQueue = "calls"

// keptInput is the input of a task that is a kept call. What task.submit takes has no
// member called.
type keptInput struct {
	Call
	Called *Call `json:"called"` // the call as its client made it; nil for what was submitted

	// Client says what the client can be asked; nil for nothing.
	Client json.RawMessage `json:"client,omitempty"`
}

// Question holds what a kept call has asked its client.
type Question struct {
	Key, Method string
	Params      json.RawMessage
	Answer      json.RawMessage // nil until there is one
	AskedAt     time.Time
}

// ClientOf returns what the client of a kept call can be asked, by the input of its task;
// nil for nothing.
func ClientOf(input json.RawMessage) json.RawMessage {
	var kept keptInput
	_ = json.Unmarshal(input, &kept) // of another form where an agent or a workflow is run
	return kept.Client
}

// IsKept reports whether the input of a task is that of a kept call.
func IsKept(input json.RawMessage) bool {
	var kept keptInput
	return json.Unmarshal(input, &kept) == nil && kept.Called != nil // of another form where an agent or a workflow is run
}

// Keep keeps a call, so that it runs whatever becomes of this process, and returns the id
// of its task. The caller needs no right but that of the call. Called is the call as its
// client made it, and client what that can be asked, nil for nothing. An [*toolfold.Error]
// says that the call is none that a task can run: it is refused, or it may ask the model
// that the client lends.
func (s *Service) Keep(ctx context.Context, call, called Call, client json.RawMessage) (id string, err error) {
	t, err := s.begin(ctx)
	if err != nil {
		return "", err
	}
	t.Name, t.QueueID = call.Tool, CallsQueue
	if t.Input, err = compact(ordered.MustJSON(call)); err != nil {
		return "", err
	}
	if t.Definition, err = s.checkWork(ctx, t); err != nil {
		return "", err
	}
	if err := s.refuseLent(ctx, t); err != nil {
		return "", err
	}
	if t.Input, err = compact(ordered.MustJSON(keptInput{call, &called, client})); err != nil {
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

// refuseLent refuses a task that may ask the model that its caller lends, and that a
// worker has not: the call itself can.
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

// anyPrompts lists the providers of all that may ask a model in a definition, however deep
// and under whatever condition: of prompts, and the default one for what an expression
// names.
func anyPrompts(described json.RawMessage) (providers []string) {
	var value any
	_ = json.Unmarshal(described, &value) // it was encoded by agent.get or workflow.describe
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

// Kept is a task as the client sees it that took it for an answer.
type Kept struct {
	Task
	Says   string // how far it is, or what it waits for; empty for nothing
	Called *Call  // nil where the task is no kept call

	Asks []Question // of a task that has not ended, those without an answer
}

// Kept returns a task. It is for callers that may see it: those with the rights under
// which it was kept, see [Task.Rights], and those of task.status.
func (s *Service) Kept(ctx context.Context, id string) (k Kept, found bool, err error) {
	if k.Task, found, err = s.Store.Get(ctx, strings.ToLower(id)); err != nil {
		return k, false, fmt.Errorf("reading task: %w", err)
	}
	if !found {
		return k, false, nil
	}
	var input keptInput
	if json.Unmarshal(k.Input, &input) == nil { // of another form where an agent or a workflow is run
		k.Called = input.Called
	}
	if input.Client != nil && !Final(k.Status) {
		if k.Asks, err = s.Store.Questions(ctx, k.ID); err != nil {
			return k, false, fmt.Errorf("reading questions: %w", err)
		}
		k.Asks = slices.DeleteFunc(k.Asks, func(q Question) bool { return q.Answer != nil })
	}
	switch k.Status {
	case Completed, Failed, Cancelled, TimedOut:
	case Running:
		p, _, err := s.Store.Progress(ctx, k.ID, k.Turn)
		if err != nil {
			return k, false, fmt.Errorf("reading progress: %w", err)
		}
		if p.Total > 0 {
			k.Says = fmt.Sprintf("%.0f %% done", 100*p.Done/p.Total)
		}
		if len(p.Lines) > 0 {
			k.Says = strings.TrimPrefix(k.Says+": "+p.Lines[len(p.Lines)-1], ": ")
		}
	default:
		waits, err := s.waitsFor(ctx, k.Task)
		if err != nil {
			return k, false, err
		}
		k.Says = "waits for " + waits
	}
	return k, true, nil
}

// Stop asks for the end of a task, and does not wait for it. One that has ended stays as
// it is.
func (s *Service) Stop(ctx context.Context, id string) error {
	_, _, err := s.Store.Cancel(ctx, Cancellation{TaskID: strings.ToLower(id), Reason: "cancelled by its client", At: s.now()})
	if err != nil {
		return fmt.Errorf("cancelling task: %w", err)
	}
	return nil
}

// Answer keeps the answers of a client to what a kept call asks, by key.
func (s *Service) Answer(ctx context.Context, id string, answers map[string]json.RawMessage) error {
	if err := s.Store.Answer(ctx, strings.ToLower(id), answers); err != nil {
		return fmt.Errorf("answering a task: %w", err)
	}
	return nil
}

// Worked reports whether a process runs the tasks of the service's workspace.
func (s *Service) Worked(ctx context.Context) (bool, error) {
	worked, err := s.Store.Worked(ctx, s.Workspace)
	if err != nil {
		return false, fmt.Errorf("looking for workers: %w", err)
	}
	return worked, nil
}
