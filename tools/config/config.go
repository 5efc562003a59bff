// Package config declares the config tool: toolfold's own settings by dotted
// path, in a file of the user and one of the workspace.
//
// [Settings] declares what can be set. [Files] reads the files for the tool
// and for the command line alike. The tool writes settings; a running server
// goes by those it started with.
package config

import (
	"encoding/json"

	"github.com/toolfold/toolfold/tools"
)

var (
	path    = tools.String{Name: "path", Doc: "Dotted path of a setting; numbers index lists.", MinLen: 1, Unclear: true}
	value   = tools.Any{Name: "value", Doc: "JSON or plain text."}
	scope   = tools.String{Name: "scope", Doc: "The user's file, the workspace's, or what applies.", Enum: []string{Global, Local, Merged}}
	config  = tools.Object{Name: "config", Doc: "The settings."}
	found   = tools.Bool{Name: "found", Doc: "Whether the scope has a value there."}
	success = tools.Bool{Name: "success", Doc: "True: a set that fails is an error."}
	current = tools.Any{Name: "value", Doc: "The value, if found."}
	before  = tools.Any{Name: "oldValue", Doc: "The value the scope had, if any."}
	after   = tools.Any{Name: "newValue", Doc: "The value it has now."}
	unknown = tools.List{Name: "unknown", Doc: "Keys in the files that no setting has; they do nothing.", Of: tools.Object{
		Required: tools.Fields{
			tools.String{Name: "scope", Doc: "File that has the key."},
			tools.String{Name: "path", Doc: "Dotted path of the key."},
		},
		Optional: tools.Fields{
			tools.String{Name: "suggest", Doc: "Setting that may be meant."},
			tools.String{Name: "reason", Doc: "Why a setting does nothing there."},
		},
	}}
)

// Family declares the config tool.
var Family = tools.Family[*Service]{
	Name: "config", Summary: "toolfold's own settings", Category: tools.Settings, Tier: tools.Core,
	Words: "configuration, options, preferences",
	Doc:   "Local settings go before global ones, these before defaults. A running server keeps the settings it started with.",
	Actions: []tools.Action[*Service]{{
		Name:     "get",
		Legacy:   tools.Was("config_get"),
		Summary:  "Read one setting by dotted path.",
		Words:    "what is the current option, preference, configured, configuration value, look up",
		Changed:  "A path that is neither a setting nor in a file is an error that names the nearest setting, not found=false.",
		Required: tools.Fields{path},
		Optional: tools.Fields{scope.With(tools.Default(Merged))},
		Returns:  tools.Fields{path, current, scope, found},
		Effect:   tools.Reads,
		Example:  `{"path": "toolMode"}`,
		Related:  []string{"config.set", "config.show"},
		Run:      tools.Method((*Service).Get),
	}, {
		Name:    "set",
		Legacy:  tools.Was("config_set"),
		Summary: "Write one setting to the user's or the workspace's file.",
		Words:   "change, modify, switch, turn on, turn off, configure, update an option or preference",
		Doc:     "Takes effect when the server starts again. Settings: " + index(root(Settings)) + ".",
		Changed: "The file is created when missing. Unknown keys and invalid values are refused, where unknown keys " +
			"were dropped; the setting's type decides how a text is read, so \"true\" stays text where text is due.",
		Required: tools.Fields{path, value},
		Optional: tools.Fields{scope.With(tools.OneOf(Global, Local), tools.Default(Global))},
		Returns:  tools.Fields{success, path, before, after, scope},
		Effect:   tools.Sets,
		Example:  `{"path": "listing", "value": "signature", "scope": "local"}`,
		Related:  []string{"config.get", "config.show"},
		Run:      tools.Method((*Service).Set),
	}, {
		Name:     "show",
		Legacy:   tools.Was("config_show"),
		Summary:  "Read all settings of a scope.",
		Words:    "print, display, dump, view, all options, whole configuration, preferences in effect",
		Changed:  "The settings are in the member config, which was the whole result. A missing file has no settings and is no error.",
		Optional: tools.Fields{scope.With(tools.Default(Merged))},
		Returns:  tools.Fields{scope, config, unknown},
		Effect:   tools.Reads,
		Example:  `{"scope": "local"}`,
		Related:  []string{"config.get", "config.set"},
		Run:      tools.Method((*Service).Show),
	}},
}

// GetIn are the arguments of config.get.
type GetIn struct {
	Path  string `json:"path"`
	Scope string `json:"scope"`
}

// GetOut is the result of config.get.
type GetOut struct {
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
	Scope string `json:"scope"`
	Found bool   `json:"found"`
}

// SetIn are the arguments of config.set.
type SetIn struct {
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
	Scope string          `json:"scope"`
}

// SetOut is the result of config.set.
type SetOut struct {
	Success  bool   `json:"success"`
	Path     string `json:"path"`
	OldValue any    `json:"oldValue,omitempty"`
	NewValue any    `json:"newValue"`
	Scope    string `json:"scope"`
}

// ShowIn are the arguments of config.show.
type ShowIn struct {
	Scope string `json:"scope"`
}

// ShowOut is the result of config.show.
type ShowOut struct {
	Scope   string         `json:"scope"`
	Config  map[string]any `json:"config"`
	Unknown []Unknown      `json:"unknown,omitempty"`
}
