package engine

import (
	"context"
	"slices"

	"github.com/toolfold/toolfold/internal/suggest"
)

// Prompt is one request to a model.
type Prompt struct {
	Text      string
	System    string // may be empty
	Model     string // empty = the provider's
	MaxTokens int    // zero = the provider's
}

// Completion is a model's answer.
type Completion struct {
	Text                      string
	Model                     string // empty where the provider does not tell
	InputTokens, OutputTokens int    // zero where the provider does not tell
}

// Provider answers prompts. Implementations are safe for concurrent use, end
// with the context, and leave nothing running. Their errors reach the caller:
// they hold no key.
type Provider interface {
	Complete(ctx context.Context, p Prompt) (Completion, error)
}

// Sampler asks the model of the client that is connected.
type Sampler interface {
	Sample(ctx context.Context, p Prompt) (Completion, error)
}

type samplerKey struct{}

// WithSampler offers the model of a connected client to runs under the
// context.
func WithSampler(ctx context.Context, s Sampler) context.Context {
	return context.WithValue(ctx, samplerKey{}, s)
}

func samplerOf(ctx context.Context) Sampler {
	s, _ := ctx.Value(samplerKey{}).(Sampler)
	return s
}

// Providers finds the provider of a prompt step by the present settings.
type Providers struct {
	settings func() (map[string]any, error)
	dir      string
}

// NewProviders goes by settings, which returns all settings that apply, of
// which [ProviderSettings] are read. It is asked for every prompt, so that a
// change needs no restart. Commands run in dir; empty is the process's own.
func NewProviders(settings func() (map[string]any, error), dir string) *Providers {
	return &Providers{settings: settings, dir: dir}
}

// picked is a provider with what spans say of it.
type picked struct {
	Provider
	name, kind string
	defaults   providerConfig
}

func (p picked) model(prompt Prompt) string {
	if prompt.Model != "" {
		return prompt.Model
	}
	return p.defaults.Model
}

// howToConfigure is the hint of a server without a model.
const howToConfigure = `have the user run: toolfold call config.set '{"path":"providers.main","value":{"type":"openai",` +
	`"baseURL":"http://127.0.0.1:11434/v1","model":"…"}}' (or "type":"command","command":["claude","-p"]); ` +
	`or use a client that offers sampling`

// pick finds the provider called name. An empty name is the default one: the
// one that defaultProvider names, else the only one there is, else the
// connected client's model.
func (ps *Providers) pick(ctx context.Context, name string) (picked, error) {
	s, err := ps.load()
	if err != nil {
		return picked{}, err
	}
	if name == "" {
		name = s.usual()
	}
	if config, ok := s.Providers[name]; ok {
		return ps.build(ctx, name, config)
	}
	switch {
	case name != "":
		return picked{}, s.unknown(name)
	case len(s.Providers) > 0:
		return picked{}, fatal(ProviderUnavailable, "several providers are configured and none is the default").
			hint(`call config.set {"path":"defaultProvider","value":%q}, or name one in the step's config`, s.names()[0])
	case samplerOf(ctx) == nil:
		return picked{}, fatal(ProviderUnavailable, "no model is configured for prompts, and the client offers none").hint("%s", howToConfigure)
	}
	return ps.build(ctx, "client", providerConfig{Type: typeSampling})
}

func (ps *Providers) load() (providerSettings, error) {
	if ps == nil || ps.settings == nil {
		return providerSettings{}, nil
	}
	all, err := ps.settings()
	if err != nil {
		return providerSettings{}, fatal(ProviderUnavailable, "the settings cannot be read: %v", err)
	}
	return readSettings(all)
}

// usual is the name of the provider to use where none is named; empty when
// there is none, or a choice.
func (s providerSettings) usual() string {
	if s.Default == "" && len(s.Providers) == 1 {
		return s.names()[0]
	}
	return s.Default
}

func (s providerSettings) unknown(name string) error {
	names := s.names()
	f := fatal(ProviderUnavailable, "no provider is called %q%s", name, meant(suggest.Nearest(name, names)))
	if len(names) == 0 {
		return f.hint("%s", howToConfigure)
	}
	return f.hint("configured: %v", names)
}

func (s providerSettings) names() []string {
	var names []string
	for name := range s.Providers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (ps *Providers) build(ctx context.Context, name string, c providerConfig) (picked, error) {
	p := picked{name: name, kind: c.Type, defaults: c}
	switch c.Type {
	case typeCommand:
		p.Provider = command{config: c, name: name, dir: ps.dir}
	case typeOpenAI:
		p.Provider = openAI{config: c, name: name}
	default:
		sampler := samplerOf(ctx)
		if sampler == nil {
			return picked{}, fatal(ProviderUnavailable, "provider %q is the client's own model, and no client that offers it is connected", name).
				hint("%s", howToConfigure)
		}
		p.Provider = sampling{config: c, sampler: sampler}
	}
	return p, nil
}

// sampling asks the model of the connected client.
type sampling struct {
	config  providerConfig
	sampler Sampler
}

// Complete implements [Provider].
func (s sampling) Complete(ctx context.Context, p Prompt) (Completion, error) {
	ctx, cancel := s.config.limit(ctx)
	defer cancel()
	return s.sampler.Sample(ctx, s.config.fill(p))
}
