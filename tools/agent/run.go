package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// abilityTokens limits the abilities in a prompt, in tokens.
const abilityTokens = 10_000

// maxTask limits the characters of a prompt that select abilities.
const maxTask = 5000

// profileFields lists the fields of agent that expressions may read.
var profileFields = []string{"agentId", "displayName", "version", "description", "role", "expertise", "capabilities", "team", "tags"}

// answerStep is the step of an agent without steps; answerLines is the same for an input with a
// single text.
var (
	answerStep  = promptStep(`{{ input }}`)
	answerLines = promptStep(`{{ values(input)[0] }}`)
)

func promptStep(prompt string) []engine.Step {
	return []engine.Step{{
		StepID: "answer", Type: engine.TypePrompt,
		Config: ordered.MustJSON(map[string]string{"prompt": prompt}),
	}}
}

// steps returns the definition of an agent's run. Its faults point to the steps and system prompt
// of the profile.
func (p Profile) steps(steps []engine.Step) engine.Definition {
	return engine.Definition{
		Steps: steps, StepsAt: "/workflow", System: p.SystemPrompt, SystemAt: "/systemPrompt", AgentFields: profileFields,
	}
}

// Run runs an agent. A run that cannot start is an error. A failed step is a result with the
// failure and all earlier outputs: the caller can repair that step and needs the outputs of the
// other steps.
func (s *Service) Run(ctx context.Context, in RunIn) (RunOut, error) {
	p, err := s.findToRun(ctx, in.AgentID)
	if err != nil {
		return RunOut{}, err
	}
	if p.Source == workspace.InFile && !s.Folder.IsTrusted() {
		return RunOut{}, toolfold.Errorf(workspace.Untrusted, "agent %q is the file %s of a workspace that is not trusted", p.AgentID, p.File).
			WithHint("%s", s.Folder.HowToTrust())
	}
	used := &injectedAbilities{}
	job, err := s.job(p, in, used)
	if err != nil {
		return RunOut{}, err
	}
	below := -1
	if p.Orchestration != nil && p.Orchestration.MaxDelegationDepth != nil {
		below = *p.Orchestration.MaxDelegationDepth
	}
	nested := engine.Nested(ctx)
	ctx, refused := engine.Enter(ctx, engine.AgentJob, p.AgentID, below)
	if refused != nil {
		return RunOut{}, refused
	}
	if ctx, err = s.withinRights(ctx, p); err != nil {
		return RunOut{}, err
	}
	if in.SessionID != "" {
		role := "collaborator"
		if nested {
			role = "delegate"
		}
		joins := map[string]string{"sessionId": in.SessionID, "agentId": p.AgentID, "role": role}
		if _, err := toolfold.Do[json.RawMessage](ctx, s.Runner.Caller, "session.join", joins); err != nil {
			return RunOut{}, err
		}
		ctx = work.InSessions(ctx, strings.ToLower(in.SessionID))
	}
	r := s.Runner.Run(ctx, job)
	out := RunOut{
		Success: r.Failure == nil, AgentID: p.AgentID, Source: p.Source, SessionID: in.SessionID, Output: r.Outputs,
		StepResults: r.Steps, Abilities: used.list, TotalDurationMs: r.DurationMs, Error: coded(r.Failure),
	}
	if out.StepResults == nil {
		out.StepResults = []engine.StepResult{}
	}
	for i := range out.StepResults {
		out.StepResults[i].Error = coded(out.StepResults[i].Error)
	}
	return out, nil
}

// findToRun returns the profile for a run. A task uses the profile at its submission, as long as
// the agent still exists. The current profile decides whether it may run, and with which rights.
func (s *Service) findToRun(ctx context.Context, id string) (Profile, error) {
	present, err := s.find(ctx, id)
	definition, pinned := work.Pinned(ctx, work.Reference{Kind: work.Agent, ID: id})
	if !pinned {
		return present, err
	}
	var then Profile
	if err := json.Unmarshal(definition, &then); err != nil {
		return Profile{}, fmt.Errorf("decoding agent of a task: %w", err)
	}
	if refused, ok := errors.AsType[*toolfold.Error](err); ok && refused.Code == ValidationError && then.Source == workspace.InFile {
		present, err = Profile{Source: then.Source, File: then.File, Enabled: true}, nil // its file is broken at the moment
	}
	if err != nil {
		return Profile{}, err
	}
	if present.Source != then.Source || !then.CreatedAt.IsZero() && !then.CreatedAt.Equal(present.CreatedAt) {
		return Profile{}, toolfold.Errorf(NotFound, "agent %q was removed after the task was submitted; another one has its id",
			shorten.Quoted(id)).
			WithHint("task.submit it again to run that one")
	}
	then.Enabled, then.Source, then.File, then.Rights = present.Enabled, present.Source, present.File, present.Rights
	return then, nil
}

// withinRights returns the context of a run, with the rights that its caller and everyone who
// registered or changed the agent have in common.
func (s *Service) withinRights(ctx context.Context, p Profile) (context.Context, error) {
	if p.Rights == "" {
		return ctx, nil
	}
	limits, err := s.ParseRights(p.Rights)
	if err != nil {
		return nil, toolfold.Errorf(PermissionDenied, "the rights of who changed agent %q cannot be read: a later toolfold wrote them",
			p.AgentID).
			WithHint("agent.remove it and agent.register it again")
	}
	origin := toolfold.OriginOf(ctx)
	origin.Rights = origin.Rights.And(limits)
	return callctx.With(ctx, origin), nil
}

// job returns the job of a profile. The run adds the abilities in its prompts to used.
func (s *Service) job(p Profile, in RunIn, used *injectedAbilities) (engine.Job, error) {
	if !p.Enabled {
		return engine.Job{}, toolfold.Errorf(PermissionDenied, "agent %q is disabled", p.AgentID).
			WithHint("agent.update it with enabled=true, or enable it in its file")
	}
	input, err := engine.Input(in.Input)
	if err != nil {
		return engine.Job{}, err
	}
	steps := p.Workflow
	if len(steps) == 0 {
		if steps, err = implied(p.AgentID, input); err != nil {
			return engine.Job{}, err
		}
		if p.SystemPrompt == "" {
			p.SystemPrompt = "{{ agent.description }}"
		}
	}
	program, faults := engine.Compile(p.steps(steps), s.Tools)
	if len(faults) == 0 {
		faults, _ = s.Runner.Providers.Check(program)
	}
	if len(faults) > 0 {
		return engine.Job{}, toolfold.Errorf(ValidationError, "agent %q cannot run: %s", p.AgentID, faults[0].Text()).
			WithHint("%d faults; agent.get shows its workflow, agent.update or its file mends it", len(faults))
	}
	return engine.Job{
		Kind: engine.AgentJob, ID: p.AgentID, Program: program, Input: input, Agent: p.seen(),
		Session: in.SessionID, Inject: s.inject(p.AgentID, used),
	}, nil
}

// implied returns the step of an agent without steps.
func implied(agentID string, input map[string]any) ([]engine.Step, error) {
	if len(input) == 0 {
		return nil, &toolfold.Error{
			Code: toolfold.InvalidInput, Problems: []toolfold.Problem{{Path: "/input", Kind: toolfold.ProblemMissing}},
			Hint:    "an agent without steps has nothing else to work on",
			Example: ordered.MustJSON(map[string]any{"agentId": agentID, "input": map[string]any{"question": "Which notes are stale?"}}),
		}
	}
	for _, value := range input {
		if _, text := value.(string); text && len(input) == 1 {
			return answerLines, nil
		}
	}
	return answerStep, nil
}

// seen returns the profile for expressions, with every field present.
func (p Profile) seen() map[string]any {
	list := func(texts []string) []any {
		all := make([]any, len(texts))
		for i, text := range texts {
			all[i] = text
		}
		return all
	}
	return map[string]any{
		"agentId": p.AgentID, "displayName": p.DisplayName, "version": p.Version, "description": p.Description, "role": p.Role,
		"expertise": list(p.Expertise), "capabilities": list(p.Capabilities), "team": p.Team, "tags": list(p.Tags),
	}
}

// injectedAbilities collects the abilities in the prompts of a run, without duplicates, in the order of
// their first use. Steps may add to it concurrently.
type injectedAbilities struct {
	mu   sync.Mutex
	list []Ability
}

func (i *injectedAbilities) add(list []Ability) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, a := range list {
		if !slices.Contains(i.list, a) {
			i.list = append(i.list, a)
		}
	}
}

// inject returns a function that returns the abilities for a prompt and adds them to used. Without
// abilities on the server, the result is empty.
func (s *Service) inject(agent string, used *injectedAbilities) func(context.Context, string) (string, error) {
	return func(ctx context.Context, prompt string) (string, error) {
		task := []rune(prompt)
		found, err := toolfold.Do[struct {
			CombinedContent string
			Injected        []Ability
		}](ctx, s.Runner.Caller, "ability.inject", map[string]any{
			"agentId": agent, "task": string(task[:min(len(task), maxTask)]), "maxTokens": abilityTokens,
			callctx.ArgFields: []string{"combinedContent", "injected.abilityId", "injected.tokens"},
		})
		var refused *toolfold.Error
		switch {
		case errors.As(err, &refused) && refused.Code == toolfold.UnknownTool:
			return "", nil
		case err != nil:
			return "", fmt.Errorf("finding abilities: %w", err)
		}
		used.add(found.Injected)
		return found.CombinedContent, nil
	}
}

// coded replaces the code of a failure by the code for callers of agents.
func coded(f *engine.Failure) *engine.Failure {
	if f == nil || f.Code != engine.StepFailed {
		return f
	}
	known := *f
	known.Code = StageFailed
	return &known
}
