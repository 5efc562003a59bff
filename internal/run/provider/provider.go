// Package provider defines the settings of model providers: the options, and their meaning. The
// engine uses them to call models; tools/config shows and changes them. Settings open, start and
// call nothing; [Client] sends requests to endpoints.
package provider

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// The types of provider.
const (
	Command  = "command"  // a program: prompt on its input, answer on its output
	OpenAI   = "openai"   // an endpoint of OpenAI's chat API
	Sampling = "sampling" // the connected client's own model
)

// Types lists the types of provider.
var Types = []string{Command, OpenAI, Sampling}

// The names of the settings that [Read] reads.
const (
	ProvidersSetting = "providers"       // an object with providers by name
	DefaultSetting   = "defaultProvider" // the name of a provider
)

// Descriptions of the settings.
const (
	ProvidersDoc = "Models for prompt steps, by name: type (command, openai or sampling) and its options."
	DefaultDoc   = "Provider of prompt steps without one."
)

// Upper limits of the options.
const (
	MaxTimeoutMs   = 3_600_000
	MaxTokens      = 1_000_000
	MaxArguments   = 100      // including the program
	MaxOutputBytes = 16 << 20 // of a command's answer
)

// Kind is the JSON form of an option.
type Kind string

// The kinds.
const (
	Text  Kind = "string"
	Whole Kind = "integer"
	Texts Kind = "array" // of strings
)

// Option declares an option of a provider.
type Option struct {
	Name, Doc string
	Kind      Kind
	Enum      []string // allowed strings; nil = any but the empty one
	Max       int      // largest number, or most strings; the minimum is 1; zero for a string
	Only      string   // the only type of provider that has it; empty = all types
}

// Options lists the options of a provider. Only type is required.
var Options = []Option{
	{Name: "type", Doc: "Type.", Kind: Text, Enum: Types},
	{Name: "timeoutMs", Doc: "Time for a prompt.", Kind: Whole, Max: MaxTimeoutMs},
	{Name: "model", Doc: "Model, unless a step names one.", Kind: Text},
	{Name: "maxTokens", Doc: "Most tokens of an answer, unless a step has a limit.", Kind: Whole, Max: MaxTokens},
	{
		Name: "command", Doc: "Program and arguments; {system}, {model} and {maxTokens} are filled in.",
		Kind: Texts, Max: MaxArguments, Only: Command,
	},
	{Name: "maxOutputBytes", Doc: "Most bytes of an answer: 1048576 unless set.", Kind: Whole, Max: MaxOutputBytes, Only: Command},
	{Name: "baseURL", Doc: "Address of the API, up to /v1.", Kind: Text, Only: OpenAI},
	{Name: "apiKeyEnv", Doc: "Environment variable that holds the key.", Kind: Text, Only: OpenAI},
}

// Config is a configured provider. Its JSON names are those in [Options].
type Config struct {
	Type           string   `json:"type"`
	Command        []string `json:"command"`
	BaseURL        string   `json:"baseURL"`
	APIKeyEnv      string   `json:"apiKeyEnv"`
	Model          string   `json:"model"`
	MaxTokens      int      `json:"maxTokens"`      // zero = not set
	TimeoutMs      int      `json:"timeoutMs"`      // zero = only the step's limit
	MaxOutputBytes int      `json:"maxOutputBytes"` // zero = the default
}

// Settings holds all configured providers.
type Settings struct {
	Providers map[string]Config
	Default   string // empty = not set
}

// Read reads the provider settings out of all settings. An error names the invalid setting, for the
// user.
func Read(all map[string]any) (Settings, error) {
	s := Settings{Providers: map[string]Config{}}
	s.Default, _ = all[DefaultSetting].(string)
	configured, _ := all[ProvidersSetting].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		c, err := read(ProvidersSetting+"/"+name, configured[name])
		if err != nil {
			return Settings{}, err
		}
		s.Providers[name] = c
	}
	return s, nil
}

func read(at string, value any) (c Config, err error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return c, fmt.Errorf("%s cannot be written as JSON", at)
	}
	var object map[string]any
	if jsonx.Decode(raw, &object) != nil || object == nil {
		return c, fmt.Errorf("%s must be object, got %s", at, typeName(value))
	}
	kind, _ := object["type"].(string)
	if !slices.Contains(Types, kind) {
		return c, fmt.Errorf("%s/type must be one of %s", at, strings.Join(Types, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if err := checkOption(kind, at, name, object[name]); err != nil {
			return c, err
		}
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, fmt.Errorf("%s is not a provider", at)
	}
	switch {
	case c.Type == Command && len(c.Command) == 0:
		return c, fmt.Errorf("%s/command is missing", at)
	case c.Type == OpenAI && c.BaseURL == "":
		return c, fmt.Errorf("%s/baseURL is missing", at)
	case c.Type == OpenAI:
		u, err := url.Parse(c.BaseURL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			return c, fmt.Errorf("%s/baseURL must be a http or https URL without a password", at)
		}
	}
	return c, nil
}

// checkOption checks a member of a provider against its declaration.
func checkOption(kind, at, name string, value any) error {
	var taken []string
	for _, o := range Options {
		if o.Only == "" || o.Only == kind {
			taken = append(taken, o.Name)
		}
	}
	i := slices.IndexFunc(Options, func(o Option) bool { return o.Name == name && slices.Contains(taken, name) })
	if i < 0 {
		if near := suggest.Nearest(name, taken); near != "" {
			return fmt.Errorf("%q is unknown, did you mean %q?", at+"/"+name, near)
		}
		return fmt.Errorf("%q is unknown; a provider of type %s takes %s", at+"/"+name, kind, strings.Join(taken, ", "))
	}
	o := Options[i]
	at += "/" + name
	wrongType := fmt.Errorf("%s must be %s, got %s", at, o.Kind, typeName(value))
	switch o.Kind {
	case Text:
		text, ok := value.(string)
		switch {
		case !ok:
			return wrongType
		case text == "":
			return fmt.Errorf("%s must not be empty", at)
		}
	case Whole:
		number, ok := value.(json.Number)
		if !ok {
			return wrongType
		}
		if n, err := number.Int64(); err != nil || n < 1 || n > int64(o.Max) {
			return fmt.Errorf("%s must be a whole number from 1 to %d, got %.40s", at, o.Max, number)
		}
	case Texts:
		list, ok := value.([]any)
		if !ok {
			return wrongType
		}
		if len(list) < 1 || len(list) > o.Max {
			return fmt.Errorf("%s must be 1 to %d long, got %d", at, o.Max, len(list))
		}
		for j, item := range list {
			if _, ok := item.(string); !ok {
				return fmt.Errorf("%s/%d must be string, got %s", at, j, typeName(item))
			}
		}
	}
	return nil
}

// typeName returns the JSON type of a value from [encoding/json], or of a plain Go value.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "number"
}

// Names lists the providers, sorted.
func (s Settings) Names() []string { return slices.Sorted(maps.Keys(s.Providers)) }

// Usual returns the provider to use by default: the configured one, else the only one. It is "" if
// there is no provider, or several.
func (s Settings) Usual() string {
	if s.Default == "" && len(s.Providers) == 1 {
		return s.Names()[0]
	}
	return s.Default
}
