package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolfold/toolfold/engine"
	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/tools"
)

// abilityTokens is how much knowledge a prompt gets at most.
const abilityTokens = 10_000

// maxTask is how much of a prompt abilities are picked by, in characters.
const maxTask = 5000

// profileFields are what expressions may read of agent.
var profileFields = []string{"agentId", "displayName", "version", "description", "role", "expertise", "capabilities", "team", "tags"}

// answerStep is the step of an agent that has none, and answerLines the same
// where the input is a single text.
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

// compile makes a program of a profile. Faults lie where the profile has
// them.
func (s *Service) compile(p Profile) (*engine.Program, engine.Faults) {
	return s.program(p, p.Workflow)
}

func (s *Service) program(p Profile, steps []engine.Step) (*engine.Program, engine.Faults) {
	return engine.Compile(engine.Definition{
		Steps: steps, StepsAt: "/workflow", System: p.SystemPrompt, SystemAt: "/systemPrompt", AgentFields: profileFields,
	}, s.Tools)
}

// Run runs an agent. What keeps it from starting is an error; a step that
// fails is a result that says so, with all that was done before: a caller
// can mend that step and needs what the others gave.
func (s *Service) Run(ctx context.Context, in RunIn) (RunOut, error) {
	p, err := s.find(ctx, in.AgentID)
	if err != nil {
		return RunOut{}, err
	}
	job, err := s.job(p, in)
	if err != nil {
		return RunOut{}, err
	}
	nested := engine.Nested(ctx)
	ctx, refused := engine.Enter(ctx, engine.AgentJob, p.AgentID, p.depth())
	if refused != nil {
		return RunOut{}, refused
	}
	if in.SessionID != "" {
		if err := s.join(ctx, in.SessionID, p.AgentID, nested); err != nil {
			return RunOut{}, err
		}
	}
	return report(p, in, s.Runner.Run(ctx, job)), nil
}

func (p Profile) depth() int {
	if p.Orchestration == nil || p.Orchestration.MaxDelegationDepth == nil {
		return -1
	}
	return *p.Orchestration.MaxDelegationDepth
}

// job makes a profile ready to run.
func (s *Service) job(p Profile, in RunIn) (engine.Job, error) {
	if !p.Enabled {
		return engine.Job{}, tools.Errorf(PermissionDenied, "agent %q is disabled", p.AgentID).
			WithHint("remove it and register it with enabled=true, or enable it in its file")
	}
	input, err := engine.Input(in.Input)
	if err != nil {
		return engine.Job{}, err
	}
	steps := p.Workflow
	if len(steps) == 0 {
		if steps, err = implied(input); err != nil {
			return engine.Job{}, err
		}
		if p.SystemPrompt == "" {
			p.SystemPrompt = "{{ agent.description }}"
		}
	}
	program, faults := s.program(p, steps)
	if len(faults) > 0 {
		return engine.Job{}, tools.Errorf(ValidationError, "agent %q cannot run: %s", p.AgentID, faults[0].Text()).
			WithHint("%d faults; agent.get shows its workflow; remove it and register it mended", len(faults))
	}
	return engine.Job{
		Kind: engine.AgentJob, ID: p.AgentID, Program: program, Input: input, Agent: p.seen(),
		Session: in.SessionID, Inject: s.inject(p.AgentID),
	}, nil
}

// implied is the step of an agent without any.
func implied(input map[string]any) ([]engine.Step, error) {
	if len(input) == 0 {
		return nil, &tools.Error{
			Code: tools.InvalidInput, Message: "agent.run: input is missing: an agent without steps has nothing else to work on",
			Problems: []tools.Problem{{Path: "/input", Kind: tools.ProblemMissing}},
		}
	}
	for _, value := range input {
		if _, text := value.(string); text && len(input) == 1 {
			return answerLines, nil
		}
	}
	return answerStep, nil
}

// seen is the profile as expressions read it: every field is there.
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

// join makes the agent a participant of a session, which must be active.
func (s *Service) join(ctx context.Context, session, agent string, delegated bool) error {
	role := "collaborator"
	if delegated {
		role = "delegate"
	}
	answer := s.Runner.Caller.Call(ctx, "session.join", encode(map[string]string{"sessionId": session, "agentId": agent, "role": role}))
	if answer.Err != nil {
		return answer.Err
	}
	return nil
}

// inject returns the abilities that fit a prompt. A server without abilities
// has none that fit.
func (s *Service) inject(agent string) func(context.Context, string) (string, error) {
	return func(ctx context.Context, prompt string) (string, error) {
		task := []rune(prompt)
		answer := s.Runner.Caller.Call(ctx, "ability.inject", encode(map[string]any{
			"agentId": agent, "task": string(task[:min(len(task), maxTask)]), "maxTokens": abilityTokens,
			tools.IncludeFields: []string{"combinedContent"},
		}))
		if answer.Err != nil && answer.Err.Code == tools.UnknownTool {
			return "", nil
		}
		if answer.Err != nil {
			return "", fmt.Errorf("finding abilities: %s", answer.Err.Message)
		}
		var found struct {
			CombinedContent string `json:"combinedContent"`
		}
		if err := json.Unmarshal(answer.Content, &found); err != nil {
			return "", fmt.Errorf("reading abilities: %w", err)
		}
		return found.CombinedContent, nil
	}
}

// report makes the result of agent.run of a run.
func report(p Profile, in RunIn, r engine.Result) RunOut {
	out := RunOut{
		Success: r.Failure == nil, AgentID: p.AgentID, SessionID: in.SessionID, Output: r.Outputs,
		StepResults: r.Steps, TotalDurationMs: r.DurationMs, Error: coded(r.Failure),
	}
	if out.StepResults == nil {
		out.StepResults = []engine.StepResult{}
	}
	for i := range out.StepResults {
		out.StepResults[i].Error = coded(out.StepResults[i].Error)
	}
	return out
}

// coded gives a failure the code that callers of agents know.
func coded(f *engine.Failure) *engine.Failure {
	if f == nil || f.Code != engine.StepFailed {
		return f
	}
	known := *f
	known.Code = StageFailed
	return &known
}
