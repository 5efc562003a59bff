// Package config declares the config tool: toolfold's own settings by dotted path, in files of the
// user and of the workspace.
//
// [Settings] declares the settings and who may set them. [Files] reads the files, for the tool and
// for the command line. [Options] holds the effective settings. The tool writes settings; a running
// server keeps those it started with.
//
// It is not a stable API: see docs/stability.md.
package config

import (
	_ "embed"
	"encoding/json"

	"github.com/toolfold/toolfold"
)

var (
	path  = toolfold.String{Name: "path", Doc: "Dotted path of a setting; numbers index lists.", MinLen: 1, Unclear: true}
	value = toolfold.Any{Name: "value", Doc: "JSON or plain text."}
	model = toolfold.String{Name: "provider", Doc: "Provider to ask; else the default one.", MinLen: 1}
	scope = toolfold.String{Name: "scope", Doc: "User's file, the workspace's, or both.", Enum: []string{Global, Local, Merged}}
)

//go:embed asks.txt
var asksText string

// Family declares the config tool.
var Family = toolfold.Family{
	Name: "config", Summary: "toolfold's settings", Category: "settings", Tier: toolfold.Core,
	Words: "configuration, options, preferences, knobs",
	Doc: "Flags go before the environment, local settings before global ones, these before defaults. " +
		"A running server keeps the settings it started with.",
	Asks: asksText,
	Actions: []*toolfold.Action{{
		Name:     "get",
		Legacy:   toolfold.Was("config_get"),
		Summary:  "Read one setting by dotted path.",
		Words:    "preference, configured, configuration value, look up, which value",
		Changed:  "A path that is no setting is an error that names the nearest one, not found=false.",
		Required: toolfold.Fields{path},
		Optional: toolfold.Fields{scope.With(toolfold.Default(Merged))},
		Effect:   toolfold.Reads,
		Example:  `{"path": "toolMode"}`,
		Related:  []string{"config.set", "config.show"},
		Run:      toolfold.Method((*Service).Get),
	}, {
		Name:    "set",
		Legacy:  toolfold.Was("config_set"),
		Summary: "Write one setting to the user's or the workspace's file.",
		Words:   "change, modify, switch, turn on, turn off, configure, adjust, tweak, tune",
		Doc:     "Takes effect when the server starts again. " + rights(),
		Changed: "The file is created when missing. Unknown keys, formerly dropped, and invalid values are refused. " +
			"The setting's type decides how a text is read: \"true\" stays text if the setting is text. Only the user of a machine may " +
			"write the settings that decide which programs run on it or who may use it.",
		Required: toolfold.Fields{path, value},
		Optional: toolfold.Fields{scope.With(toolfold.OneOf(Global, Local), toolfold.Default(Global))},
		Effect:   toolfold.Sets,
		Example:  `{"path": "listing", "value": "signature", "scope": "local"}`,
		Related:  []string{"config.get", "config.show"},
		Run:      toolfold.Method((*Service).Set),
		Writes:   toolfold.Files((*Service).Writes),
	}, {
		Name:     "show",
		Legacy:   toolfold.Was("config_show"),
		Summary:  "Read all settings of a scope.",
		Words:    "print, display, dump, view, all options, whole configuration, sheet",
		Changed:  "The settings are in the member config, which was the whole result. A missing file has no settings and is no error.",
		Optional: toolfold.Fields{scope.With(toolfold.Default(Merged))},
		Effect:   toolfold.Reads,
		Example:  `{"scope": "local"}`,
		Related:  []string{"config.get", "config.set"},
		Run:      toolfold.Method((*Service).Show),
	}, {
		Name:     "unset",
		Summary:  "Take one setting out of a file.",
		Words:    "remove, reset, clear",
		Doc:      "Rights as for config.set.",
		Required: toolfold.Fields{path},
		Optional: toolfold.Fields{scope.With(toolfold.OneOf(Global, Local), toolfold.Default(Global))},
		Effect:   toolfold.Deletes,
		Example:  `{"path": "listing", "scope": "local"}`,
		Related:  []string{"config.set", "config.get"},
		Run:      toolfold.Method((*Service).Unset),
		Writes:   toolfold.Files((*Service).Writes),
	}, {
		Name:     "test",
		Means:    "ask-model",
		Summary:  "Ask a model provider for one word.",
		Words:    "check, try, ping, latency, connection, provider works",
		Doc:      "Returns how long it took, or the failure and how to fix it.",
		Optional: toolfold.Fields{model},
		Effect:   toolfold.Runs,
		Example:  `{"provider": "local"}`,
		Related:  []string{"config.set", "agent.run"},
		Run:      toolfold.Method((*Service).Test),
	}},
}

// GetIn holds the arguments of config.get.
type GetIn struct {
	Path  string `json:"path"`
	Scope string `json:"scope"`
}

// GetOut is the result of config.get.
type GetOut struct {
	Path  string `json:"path" doc:"Dotted path of a setting; numbers index lists."`
	Value any    `json:"value,omitempty" doc:"The value, if found."`
	Scope string `json:"scope" doc:"User's file, the workspace's, or both." enum:"global,local,merged"`
	Found bool   `json:"found" doc:"Whether the scope has a value there."`

	// Source is empty for a single file.
	Source string `json:"source,omitempty" doc:"Its origin, of scope merged." enum:"flag,environment,local,global,default"`
}

// SetIn holds the arguments of config.set.
type SetIn struct {
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
	Scope string          `json:"scope"`
}

// SetOut is the result of config.set.
type SetOut struct {
	Success  bool   `json:"success" doc:"Always true; failures are errors."`
	Path     string `json:"path" doc:"Dotted path of a setting; numbers index lists."`
	OldValue any    `json:"oldValue,omitempty" doc:"The value the scope had, if any."`
	NewValue any    `json:"newValue" doc:"The value it has now."`
	Scope    string `json:"scope" doc:"User's file, the workspace's, or both." enum:"global,local,merged"`
}

// ShowIn holds the arguments of config.show.
type ShowIn struct {
	Scope string `json:"scope"`
}

// ShowOut is the result of config.show.
type ShowOut struct {
	Scope   string         `json:"scope" doc:"User's file, the workspace's, or both." enum:"global,local,merged"`
	Config  map[string]any `json:"config" doc:"The settings."`
	Unknown []IgnoredEntry `json:"unknown,omitempty" doc:"Entries of the files that do not apply."`

	// Sources is nil for a single file.
	Sources map[string]string `json:"sources,omitempty" doc:"Origin of settings, of scope merged: flag, environment, local or global; the rest are defaults."`
}

// UnsetIn holds the arguments of config.unset.
type UnsetIn struct {
	Path  string `json:"path"`
	Scope string `json:"scope"`
}

// UnsetOut is the result of config.unset.
type UnsetOut struct {
	Path     string `json:"path" doc:"Dotted path of a setting; numbers index lists."`
	Removed  bool   `json:"removed" doc:"Whether the scope had a value."`
	OldValue any    `json:"oldValue,omitempty" doc:"The value the scope had, if any."`
	Scope    string `json:"scope" doc:"User's file, the workspace's, or both." enum:"global,local,merged"`
}

// TestIn holds the arguments of config.test.
type TestIn struct {
	Provider string `json:"provider"`
}

// TestOut is the result of config.test.
type TestOut struct {
	Success    bool           `json:"success" doc:"Whether it answered."`
	Provider   string         `json:"provider" doc:"Provider that was asked."`
	Model      string         `json:"model,omitempty" doc:"Model that answered, if named."`
	Answer     string         `json:"answer,omitempty" doc:"The answer, shortened."`
	DurationMs int64          `json:"durationMs" doc:"How long it took."`
	Error      *ProviderError `json:"error,omitempty" doc:"Why it failed."`
}

// ProviderError is the reason why a provider did not answer.
type ProviderError struct {
	Code    string `json:"code" doc:"Kind of failure."`
	Message string `json:"message" doc:"The failure in words."`
	Hint    string `json:"hint,omitempty" doc:"How to fix it."`
}
