package config

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/toolfold/toolfold/tools"
)

// The scopes of a setting.
const (
	Global  = "global"  // of the user
	Local   = "local"   // of the workspace
	Merged  = "merged"  // defaults, then global, then local
	Default = "default" // where [Layers.Lookup] found a value that no file has
)

// LocalFile is where a workspace keeps its settings.
const LocalFile = ".toolfold/config.json"

// Files says where settings are kept.
type Files struct {
	Global    string // path of the user's file; empty = there is none
	Workspace string // directory that holds LocalFile; empty = there is none

	settings tools.Fields // nil = Settings
}

// DefaultFiles are the files of this user and a workspace. Without a home
// directory there is no global file.
func DefaultFiles(workspace string) Files {
	files := Files{Workspace: workspace}
	if dir, err := os.UserConfigDir(); err == nil {
		files.Global = filepath.Join(dir, "toolfold", "config.json")
	}
	return files
}

func (f Files) root() tools.Param {
	if f.settings == nil {
		return root(Settings)
	}
	return root(f.settings)
}

// Load reads both files. A file that does not exist has no settings; one that
// is not JSON or has an invalid value is a [*FileError]. Keys that no setting
// has are no error, because files outlive versions: see [Layers.Unknown].
func (f Files) Load() (*Layers, error) {
	return f.load(Global, Local)
}

// load reads the files of some scopes.
func (f Files) load(scopes ...string) (*Layers, error) {
	layers := &Layers{defaults: defaults(f.root())}
	for _, scope := range scopes {
		values, unknown, err := f.read(scope)
		if err != nil {
			return nil, err
		}
		layers.Unknown = append(layers.Unknown, unknown...)
		if scope == Global {
			layers.Global = values
		} else {
			layers.Local = values
		}
	}
	return layers, nil
}

// Layers are the settings as the scopes have them, checked. Numbers are
// [json.Number]. Treat them as read-only.
type Layers struct {
	Global, Local map[string]any
	Unknown       []Unknown // keys in the files that no setting has

	defaults map[string]any
}

// Unknown is a key in a settings file that no setting has. It does nothing
// and is kept when the file is written.
type Unknown struct {
	Scope   string `json:"scope"`
	Path    string `json:"path"`
	Suggest string `json:"suggest,omitempty"` // the setting that may be meant
	Reason  string `json:"reason,omitempty"`  // why it does nothing, where it is a setting
}

// Text says it in words.
func (u Unknown) Text() string {
	if u.Reason != "" {
		return fmt.Sprintf("%s settings: %q is left out: %s", u.Scope, u.Path, u.Reason)
	}
	text := fmt.Sprintf("%s settings: %q is unknown", u.Scope, u.Path)
	if u.Suggest != "" {
		text += fmt.Sprintf(", did you mean %q?", u.Suggest)
	}
	return text
}

// Merged returns what applies: defaults, then global, then local. Objects
// merge member by member, lists and everything else are replaced.
func (l *Layers) Merged() map[string]any {
	return merge(l.defaults, l.Global, l.Local)
}

// Lookup returns what applies at a dotted path, and the strongest scope that
// has any of it: Local, Global or Default.
func (l *Layers) Lookup(path string) (value any, from string, ok bool) {
	steps := split(path)
	value, ok = lookup(l.Merged(), steps)
	from = Default
	if _, has := lookup(l.Global, steps); has {
		from = Global
	}
	if _, has := lookup(l.Local, steps); has {
		from = Local
	}
	return value, from, ok
}

// scope returns the settings of one scope.
func (l *Layers) scope(name string) map[string]any {
	switch name {
	case Global:
		return l.Global
	case Local:
		return l.Local
	}
	return l.Merged()
}
