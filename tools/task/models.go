package task

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/toolfold/toolfold/internal/run/work"
)

// defined is [Task.Define] for a submitted task. It also fails if the definition certainly asks a
// model and no provider can answer.
func (s *Service) defined(ctx context.Context, t Task) (definition string, err error) {
	definition, err = t.Define(ctx, s.Caller, s.Names)
	root, found := t.reference(s.Names)
	if err != nil || !found || s.NoModel == nil {
		return definition, err
	}
	set, err := Pins(definition)
	if err != nil {
		return "", err
	}
	for _, provider := range asks(set, root, nil) {
		if refused := s.NoModel(provider); refused != nil {
			refused.Message = root.String() + " asks a model, and a task has no client to lend it one: " + refused.Message
			return "", refused
		}
	}
	return definition, nil
}

// asks lists the providers that every run asks. Conditional steps, loops, steps with
// continueOnError, and agents named by an expression do not count. An empty name is the default
// provider.
func asks(set work.Pins, r work.Reference, within []work.Reference) (providers []string) {
	described, found := set[r.String()]
	if !found || slices.Contains(within, r) {
		return nil
	}
	steps := stepsOf(described)
	if len(steps) == 0 && r.Kind == work.Agent {
		return []string{""} // an agent without steps is one prompt
	}
	return providersOf(set, steps, append(within, r))
}

func providersOf(set work.Pins, steps []work.Step, within []work.Reference) (providers []string) {
	for _, s := range steps {
		var config struct {
			Provider string      `json:"provider"`
			Steps    []work.Step `json:"steps"`
		}
		_ = json.Unmarshal(s.Config, &config) // an invalid config fails when the step runs
		switch {
		case s.ContinueOnError:
		case s.Type == "prompt":
			providers = append(providers, config.Provider)
		case s.Type == "parallel":
			providers = append(providers, providersOf(set, config.Steps, within)...)
		case s.Type == "delegate":
			for _, inner := range work.Named(nil, []work.Step{s}) {
				providers = append(providers, asks(set, inner, within)...)
			}
		}
	}
	return providers
}
