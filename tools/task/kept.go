package task

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/carried"
	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/internal/pins"
	"github.com/toolfold/toolfold/internal/sampling"
)

// CallsQueue is the id and the name of the queue of kept calls. It is made by the first
// of them, so that one is not held up by tasks that were submitted.
const CallsQueue = "calls"

// keptInput is the input of a task that is a kept call. What task.submit takes has no
// member called.
type keptInput struct {
	Call
	Called *Call `json:"called"` // the call as its client made it; nil for what was submitted
}

// Keep keeps a call, so that it runs whatever becomes of this process, and returns the id
// of its task. The caller needs no right but that of the call. Called is the call as its
// client made it. An [*toolfold.Error] says that the call is none that a task can run:
// its arguments are refused, or it may ask the model that the client lends.
func (s *Service) Keep(ctx context.Context, call, called Call) (id string, err error) {
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
	if err := s.refuseInput(ctx, t, call); err != nil {
		return "", err
	}
	if err := s.refuseLent(ctx, t); err != nil {
		return "", err
	}
	if t.Input, err = compact(ordered.MustJSON(keptInput{call, &called})); err != nil {
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

// refuseInput refuses the run of a workflow whose input does not fit.
func (s *Service) refuseInput(ctx context.Context, t Task, call Call) error {
	root, _ := t.reference(s.Names)
	if root.Kind != pins.Workflow {
		return nil
	}
	args := struct {
		Input json.RawMessage `json:"input"`
	}{json.RawMessage(`{}`)}
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return fmt.Errorf("decoding arguments: %w", err)
	}
	return checkInput(ctx, Task{WorkflowID: root.ID, Input: args.Input}, t.Definition, nil)
}

// refuseLent refuses a task that may ask the model that its caller lends, and that a
// worker has not: the call itself can.
func (s *Service) refuseLent(ctx context.Context, t Task) error {
	if carried.Of[sampling.Sampler](ctx) == nil || s.NoModel == nil {
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
		if kind == pins.Agent && len(steps) == 0 {
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

// Worked reports whether a process runs the tasks of the service's workspace.
func (s *Service) Worked(ctx context.Context) (bool, error) {
	worked, err := s.Store.Worked(ctx, s.Workspace)
	if err != nil {
		return false, fmt.Errorf("looking for workers: %w", err)
	}
	return worked, nil
}
