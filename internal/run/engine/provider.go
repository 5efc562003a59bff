package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/provider"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// Provider answers prompts. Implementations are safe for concurrent use, end with the context, and
// leave nothing running. Their errors reach the caller and must not contain a key.
type Provider interface {
	Complete(ctx context.Context, p callctx.Prompt) (callctx.Completion, error)
}

// Providers finds the provider of a prompt step in the current settings.
type Providers struct {
	settings func() (map[string]any, error)
	dir      string
}

// NewProviders returns providers that read settings for every prompt, so that a change needs no
// restart; see [provider.Read]. Commands run in dir, or in the working directory if it is empty.
func NewProviders(settings func() (map[string]any, error), dir string) *Providers {
	return &Providers{settings: settings, dir: dir}
}

// namedProvider is a provider with its name and settings.
type namedProvider struct {
	Provider
	name   string
	config provider.Config
}

// howToName is the hint for a task without a model; howToConfigure is the hint for a call, which
// may use a model of the client.
const (
	howToName = `have the user run: toolfold call config.set '{"path":"providers.main","value":{"type":"openai",` +
		`"baseURL":"http://127.0.0.1:11434/v1","model":"…"}}' (or "type":"command","command":["claude","-p"])`
	howToConfigure = howToName + `; or use a client that offers sampling`
)

// read returns the current settings, empty if ps is nil.
func (ps *Providers) read() (s provider.Settings, err error) {
	if ps == nil || ps.settings == nil {
		return s, nil
	}
	all, err := ps.settings()
	if err != nil {
		return s, fatal(ProviderUnavailable, "the settings cannot be read: %v", err)
	}
	if s, err = provider.Read(all); err != nil {
		return s, fatal(ProviderUnavailable, "the settings are wrong: %v", err).
			hint("the user can mend it in their config.json or with toolfold call config.set; config.show has all settings")
	}
	return s, nil
}

// pick finds the provider called name. An empty name means defaultProvider, or the only provider,
// or the model of the connected client, in this order.
func (ps *Providers) pick(ctx context.Context, name string) (namedProvider, error) {
	s, err := ps.read()
	if err != nil {
		return namedProvider{}, err
	}
	if name == "" {
		name = s.Usual()
	}
	names := s.Names()
	config, ok := s.Providers[name]
	switch {
	case ok:
	case name != "":
		f := fatal(ProviderUnavailable, "no provider is called %q%s", name, suggestion(suggest.Nearest(name, names)))
		if len(names) == 0 {
			return namedProvider{}, f.hint("%s", howToConfigure)
		}
		return namedProvider{}, f.hint("configured: %v", names)
	case len(names) > 0:
		return namedProvider{}, fatal(ProviderUnavailable, "several providers are configured and there is no default").
			hint(`name one in the step's config, or ask the user to run: toolfold call config.set '{"path":"defaultProvider","value":%q}'`, names[0])
	case callctx.SamplerOf(ctx) == nil:
		return namedProvider{}, fatal(ProviderUnavailable, "no model is configured for prompts, and no client lends one").
			hint("%s", howToConfigure)
	default:
		name, config = "client", provider.Config{Type: provider.Sampling}
	}
	p := namedProvider{name: name, config: config}
	switch config.Type {
	case provider.Command:
		p.Provider = command{name: name, config: config, dir: ps.dir}
	case provider.OpenAI:
		p.Provider = openAI{name: name, config: config}
	default:
		sampler := callctx.SamplerOf(ctx)
		if sampler == nil {
			return namedProvider{}, fatal(ProviderUnavailable,
				"provider %q is the client's own model, and no client that offers it is connected", name).
				hint("%s", howToConfigure)
		}
		p.Provider = lentModel{name: name, config: config, sampler: sampler}
	}
	return p, nil
}

// Refusal returns an error if a provider cannot answer the prompts of a task, which cannot use a
// model of the client. An empty name means the default provider.
func (ps *Providers) Refusal(name string) *toolfold.Error {
	_, err := ps.pick(context.Background(), name)
	failure, ok := errors.AsType[*Failure](err)
	if !ok {
		return nil
	}
	refusal := toolfold.Errorf(failure.Code, "%s", failure.Message)
	refusal.Hint = strings.Replace(failure.Hint, howToConfigure, howToName, 1)
	return refusal
}

// complete asks the provider, within its timeoutMs. An empty or truncated answer is a failure:
// later steps would continue with incomplete text.
func (p namedProvider) complete(ctx context.Context, prompt callctx.Prompt) (callctx.Completion, error) {
	if p.config.TimeoutMs > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, time.Duration(p.config.TimeoutMs)*time.Millisecond, errTimeout)
		defer cancel()
		ctx = limited
	}
	prompt = p.fill(prompt)
	if err := p.calls(prompt); err != nil {
		return callctx.Completion{}, err
	}
	done, err := p.Complete(ctx, prompt)
	switch {
	case err != nil:
	case done.Truncated:
		err = failf(StepFailed, "provider %q: the answer was cut off at its longest length", p.name).
			hint("raise maxTokens of the step or the provider, or ask for less")
	case strings.TrimSpace(done.Text) == "" && len(done.Calls) == 0:
		err = failf(StepFailed, "provider %q: the answer is empty", p.name).
			hint("the model may need more maxTokens, or another prompt")
	}
	return done, err
}

// calls fails if the prompt has tools and the provider's model cannot call tools.
func (p namedProvider) calls(prompt callctx.Prompt) error {
	if len(prompt.Tools) == 0 || p.config.Type != provider.Command {
		return nil
	}
	return fatal(ProviderUnavailable, "provider %q is a command, and %s", p.name, noCalls).
		hint("name a provider of type %s or %s in the step, or leave tools out", provider.OpenAI, provider.Sampling)
}

// noCalls is the reason for which a command gets no tools.
const noCalls = "a command has no way to call tools"

// fill sets the provider's model and limit if the prompt has no own ones.
func (p namedProvider) fill(prompt callctx.Prompt) callctx.Prompt {
	if prompt.Model == "" {
		prompt.Model = p.config.Model
	}
	if prompt.MaxTokens == 0 {
		prompt.MaxTokens = p.config.MaxTokens
	}
	return prompt
}

// lentModel asks the model of the connected client.
type lentModel struct {
	name    string
	config  provider.Config
	sampler callctx.Sampler
}

// Complete implements [Provider].
func (s lentModel) Complete(ctx context.Context, p callctx.Prompt) (callctx.Completion, error) {
	done, err := s.sampler.Sample(ctx, inWords(p))
	if errors.Is(err, callctx.ErrNoTools) {
		return callctx.Completion{}, fatal(ProviderUnavailable, "%v", err).
			hint("name a provider of type %s in the step, or leave tools out", provider.OpenAI)
	}
	return done, err
}
