package engine

import (
	"context"
	"encoding/json"
	"net/url"
	"time"

	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/tools"
)

// The types of provider.
const (
	typeCommand  = "command"  // a program: prompt on its input, answer on its output
	typeOpenAI   = "openai"   // an endpoint that speaks OpenAI's chat API
	typeSampling = "sampling" // the connected client's own model
)

// ProviderSettings declares the settings that prompt steps go by.
var ProviderSettings = tools.Fields{
	tools.Map{
		Name: "providers", Doc: "Models for prompt steps, by name: type (command, openai or sampling) and its options.",
		Of: tools.Object{
			Required: tools.Fields{providerType},
			Optional: tools.Fields{timeout, model, maxTokens, argv, maxOutput, baseURL, apiKeyEnv},
		},
	},
	tools.String{Name: "defaultProvider", Doc: "Provider of prompt steps that name none.", MinLen: 1},
}

// providerFields declares what each type of provider takes.
var providerFields = map[string]tools.Fields{
	typeCommand: {
		providerType, timeout, model, maxTokens,
		argv, maxOutput,
	},
	typeOpenAI: {
		providerType, timeout, model, maxTokens,
		baseURL, apiKeyEnv,
	},
	typeSampling: {providerType, timeout, model, maxTokens},
}

var (
	providerType = tools.String{Name: "type", Doc: "Type.", Enum: []string{typeCommand, typeOpenAI, typeSampling}}
	timeout      = tools.Int{Name: "timeoutMs", Doc: "Time per prompt.", Min: 1, Max: MaxStepTimeout}
	model        = tools.String{Name: "model", Doc: "Model, unless a step names one.", MinLen: 1}
	maxTokens    = tools.Int{Name: "maxTokens", Doc: "Longest answer, unless a step says.", Min: 1, Max: 1_000_000}
	argv         = tools.List{
		Name: "command", Doc: "Program and arguments; {system}, {model} and {maxTokens} are filled in.",
		Of: tools.String{}, MinItems: 1, MaxItems: 100,
	}
	maxOutput = tools.Int{Name: "maxOutputBytes", Doc: "Longest answer.", Min: 1, Max: maxOutputs}
	baseURL   = tools.String{Name: "baseURL", Doc: "Where the API is, up to /v1.", MinLen: 1}
	apiKeyEnv = tools.String{Name: "apiKeyEnv", Doc: "Environment variable that holds the key.", MinLen: 1}
)

// providerSettings are the settings as read.
type providerSettings struct {
	Providers map[string]providerConfig
	Default   string
}

// providerConfig is one provider as configured.
type providerConfig struct {
	Type           string   `json:"type"`
	Command        []string `json:"command"`
	BaseURL        string   `json:"baseURL"`
	APIKeyEnv      string   `json:"apiKeyEnv"`
	Model          string   `json:"model"`
	MaxTokens      int      `json:"maxTokens"`
	TimeoutMs      int      `json:"timeoutMs"` // zero = the step's time alone
	MaxOutputBytes int      `json:"maxOutputBytes"`
}

// readSettings reads the provider settings among others. An error names the
// setting.
func readSettings(all map[string]any) (providerSettings, error) {
	s := providerSettings{Providers: map[string]providerConfig{}}
	s.Default, _ = all["defaultProvider"].(string)
	configured, _ := all["providers"].(map[string]any)
	for name, value := range configured {
		c, err := readProvider("/providers/"+escape(name), value)
		if err != nil {
			return providerSettings{}, err
		}
		s.Providers[name] = c
	}
	return s, nil
}

func readProvider(at string, value any) (c providerConfig, err error) {
	object := map[string]any{}
	if raw, err := ordered.JSON(value); err != nil || decodeJSON(raw, &object) != nil {
		return c, misconfigured(tools.Problem{Path: at, Kind: tools.ProblemType, Want: "object", Got: tools.TypeName(value)})
	}
	kind, _ := object["type"].(string)
	fields, known := providerFields[kind]
	if !known {
		return c, misconfigured(tools.Problem{Path: at + "/type", Kind: tools.ProblemFormat, Want: "type: command, openai or sampling"})
	}
	if problems := tools.CheckFields(fields.Params(), object); len(problems) > 0 {
		p := problems[0]
		p.Path = at + p.Path
		return c, misconfigured(p)
	}
	if err := json.Unmarshal(ordered.MustJSON(object), &c); err != nil {
		return c, misconfigured(tools.Problem{Path: at, Kind: tools.ProblemFormat, Want: "provider"})
	}
	return c, c.check(at)
}

// check refuses what the declaration alone cannot: what is missing, and a URL
// that is none or holds a password.
func (c providerConfig) check(at string) error {
	missing := func(name string) error {
		return misconfigured(tools.Problem{Path: at + "/" + name, Kind: tools.ProblemMissing})
	}
	switch {
	case c.Type == typeCommand && len(c.Command) == 0:
		return missing("command")
	case c.Type == typeOpenAI && c.BaseURL == "":
		return missing("baseURL")
	case c.Type == typeOpenAI:
		u, err := url.Parse(c.BaseURL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			return misconfigured(tools.Problem{Path: at + "/baseURL", Kind: tools.ProblemFormat, Want: "http or https URL without a password"})
		}
	}
	return nil
}

func misconfigured(p tools.Problem) error {
	return fatal(ProviderUnavailable, "the settings are wrong: %s", p.Text()).hint("the user can mend it in their config.json or with toolfold call config.set; config.show has all settings")
}

// fill puts the provider's model and limit where the prompt has none.
func (c providerConfig) fill(p Prompt) Prompt {
	if p.Model == "" {
		p.Model = c.Model
	}
	if p.MaxTokens == 0 {
		p.MaxTokens = c.MaxTokens
	}
	return p
}

// limit is the context of one prompt.
func (c providerConfig) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.TimeoutMs == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, time.Duration(c.TimeoutMs)*time.Millisecond, errTimeout)
}
