package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/validate"
	"github.com/toolfold/toolfold/internal/system/safefile"
	"github.com/toolfold/toolfold/internal/system/target"
	"github.com/toolfold/toolfold/internal/text/redact"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// The sources of a setting. The first three are also the scopes of the actions.
const (
	Global      = "global" // the user's file
	Local       = "local"  // the workspace's file
	Merged      = "merged" // the effective settings, from all sources
	Default     = "default"
	Environment = "environment"
	Flag        = "flag"
)

// LocalFile is the path of the workspace's settings, relative to the workspace.
const LocalFile = ".toolfold/config.json"

const (
	maxFile    = 64 << 10 // bytes of a settings file
	maxIgnored = 20       // entries of a file that are reported individually
)

// Files describes the sources of settings.
type Files struct {
	Global    string // path of the user's file; empty = no such file
	Workspace string // folder that contains LocalFile; empty = no workspace

	// Flags and Env hold the settings of the command line and the environment, as returned by
	// [Parse]. They do not change while the process runs.
	Flags, Env map[string]any

	// Trusted reports whether the user trusts the workspace, so that its file may change the
	// settings of [Trusted]. Nil means false.
	Trusted func() bool

	// Check returns an error for settings that are valid individually, but would prevent the next
	// start, such as an address that needs a token. Nil accepts everything.
	Check func(Options) error

	// Computed returns the effective values of unset settings without a declared default. Nil
	// computes none.
	Computed func(Options) map[string]any

	settings []Setting // nil = Settings; differs in tests
}

// DefaultFiles returns the files of this user and a workspace. Without a home directory there is no
// global file.
func DefaultFiles(workspace string) Files {
	files := Files{Workspace: workspace}
	if dir, err := os.UserConfigDir(); err == nil {
		files.Global = filepath.Join(dir, "toolfold", "config.json")
	}
	return files
}

func (f Files) declared() []Setting {
	if f.settings == nil {
		return Settings
	}
	return f.settings
}

func (f Files) defaults() map[string]any {
	values := map[string]any{}
	for _, p := range Params(f.declared()) {
		if p.Default != nil {
			values[p.Name] = p.Default
		}
	}
	return values
}

// Layers holds the validated settings of all sources. Numbers are [json.Number]. Treat them as
// read-only.
type Layers struct {
	Ignored []IgnoredEntry // entries of the files that have no effect

	layers    []layer  // strongest first
	narrowing []string // settings that only restrict, and are combined from all sources
}

// layer holds the settings of one source.
type layer struct {
	from   string
	values map[string]any
}

// IgnoredEntry is an entry of a settings file that has no effect. Writing the file keeps it.
type IgnoredEntry struct {
	Scope string `json:"scope" doc:"File that has the entry."`
	// dotted; empty = the whole file
	Path string `json:"path,omitempty" doc:"Dotted path of the entry; absent for a whole file that cannot be used."`
	// the setting that may be intended
	Suggest string `json:"suggest,omitempty" doc:"Setting that may be meant."`
	// empty = no setting has that name
	Reason string `json:"reason,omitempty" doc:"Why it does not apply; absent if no setting has that name."`
}

// Text returns the entry as a phrase, without its scope.
func (i IgnoredEntry) Text() string {
	switch {
	case i.Path == "":
		return i.Reason
	case i.Reason != "":
		return fmt.Sprintf("%q (%s)", i.Path, i.Reason)
	case i.Suggest != "":
		return fmt.Sprintf("%q (unknown, did you mean %q?)", i.Path, i.Suggest)
	}
	return fmt.Sprintf("%q (unknown)", i.Path)
}

// Load reads both files. The content of a workspace's file is never an error: settings that it may
// not change, or that cannot be read, are ignored, see [Layers.IgnoredEntry]. A user's file that cannot
// be read or has an invalid value is a [*FileError]. Unknown keys in it are not an error, because
// files outlive versions.
func (f Files) Load() (*Layers, error) {
	global, ignored, err := f.read(Global)
	if err != nil {
		return nil, err
	}
	local, more, err := f.read(Local)
	var broken *FileError
	if errors.As(err, &broken) {
		more = []IgnoredEntry{{Scope: Local, Reason: broken.Err.Error()}}
	}
	sources := []layer{{Flag, f.Flags}, {Environment, f.Env}, {Local, local}, {Global, global}}
	return &Layers{
		narrowing: narrowing(f.declared()),
		Ignored:   append(ignored, more...),
		layers:    append(append(sources, forHost(sources)...), layer{Default, f.defaults()}),
	}, nil
}

// ofHost is the prefix of the source for settings that suit a host.
const ofHost = "for "

// ForHost reports whether a setting's value comes from the host that is served.
func (l *Layers) ForHost(name string) bool { return strings.HasPrefix(l.From(name), ofHost) }

// forHost returns the settings for the host that the strongest source names. They are weaker than
// every setting that a user has set.
func forHost(sources []layer) []layer {
	for _, source := range sources {
		if name, ok := source.values["for"].(string); ok {
			return []layer{{ofHost + name, target.Find(name).Surface.Settings()}}
		}
	}
	return nil
}

// united combines the values of a restricting setting from two sources: true if either is true, and
// the patterns of both.
func united(a, b any) any {
	switch value := b.(type) {
	case bool:
		also, _ := a.(bool)
		return value || also
	case []any:
		list, _ := a.([]any)
		for _, item := range value {
			if !slices.Contains(list, item) {
				list = append(list[:len(list):len(list)], item)
			}
		}
		return list
	}
	return b
}

// Merged returns the effective settings: each from the strongest source that has it, and
// restricting ones combined from all sources.
func (l *Layers) Merged() map[string]any {
	merged := map[string]any{}
	for _, layer := range slices.Backward(l.layers) {
		for name, value := range layer.values {
			if before, isSet := merged[name]; isSet && slices.Contains(l.narrowing, name) {
				value = united(before, value)
			}
			merged[name] = value
		}
	}
	return merged
}

// Lists returns the values of a list setting by source, strongest first.
func (l *Layers) Lists(name string) (sources []string, values [][]string) {
	for _, layer := range l.layers {
		list, _ := layer.values[name].([]any)
		if len(list) == 0 {
			continue
		}
		var texts []string
		for _, item := range list {
			texts = append(texts, fmt.Sprint(item))
		}
		sources, values = append(sources, layer.from), append(values, texts)
	}
	return sources, values
}

// Redacted returns the effective settings without secrets, for display.
func (l *Layers) Redacted() map[string]any { return redact.Value(l.Merged()).(map[string]any) }

// From returns the source of a setting's value: [Default] if it is not set. For a restricting
// setting, it names every source that restricts.
func (l *Layers) From(name string) string {
	var all []string
	for _, layer := range l.layers {
		value, isSet := layer.values[name]
		switch {
		case !isSet:
		case !slices.Contains(l.narrowing, name):
			return layer.from
		case value != false:
			all = append(all, layer.from)
		}
	}
	if len(all) > 1 {
		all = slices.DeleteFunc(all, func(from string) bool { return from == Default })
	}
	if len(all) > 0 {
		return strings.Join(all, ", ")
	}
	for _, layer := range l.layers { // no source restricts
		if _, isSet := layer.values[name]; isSet {
			return layer.from
		}
	}
	return Default
}

// Options returns the effective settings, decoded.
func (l *Layers) Options() (Options, error) { return decode(l.Merged()) }

func decode(values map[string]any) (o Options, err error) {
	text, err := json.Marshal(values)
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		return Options{}, fmt.Errorf("decoding settings: %w", err)
	}
	return o, nil
}

// FileError is an error of a scope's settings file. It does not contain the path, which models must
// not see.
type FileError struct {
	Scope string
	Err   error
}

// Error returns the scope and the reason.
func (e *FileError) Error() string { return e.Scope + " settings file: " + e.Err.Error() }

// Unwrap returns the reason.
func (e *FileError) Unwrap() error { return e.Err }

// fail returns a FileError for err, and removes the path from file system errors.
func fail(scope string, err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return &FileError{scope, err}
}

// place returns the folder that a scope's file may not leave, and the file's name in it. The user's
// file may be a link to anywhere.
func (f Files) place(scope string) (dir, name string) {
	if scope == Local {
		return f.Workspace, LocalFile
	}
	path := f.Global
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return filepath.Dir(path), filepath.Base(path)
}

func (f Files) has(scope string) bool {
	return scope == Local && f.Workspace != "" || scope == Global && f.Global != ""
}

// read returns the effective settings in a scope's file, and the ignored entries. The error is a
// [*FileError].
func (f Files) read(scope string) (values map[string]any, ignored []IgnoredEntry, err error) {
	if !f.has(scope) {
		return nil, nil, nil
	}
	dir, name := f.place(scope)
	var text []byte
	root, err := os.OpenRoot(dir)
	if err == nil {
		defer root.Close()
		text, err = safefile.Read(root, name, maxFile)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fail(scope, err)
	}
	if values, err = parse(text); err != nil {
		return nil, nil, fail(scope, err)
	}
	known := names(f.declared(), User)
	allowed := known
	if scope == Local {
		allowed = names(f.declared(), Narrowing)
		if f.Trusted != nil && f.Trusted() {
			allowed = names(f.declared(), Trusted)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if slices.Contains(allowed, name) {
			continue
		}
		delete(values, name)
		entry := IgnoredEntry{Scope: scope, Path: shorten.Quoted(name)}
		switch {
		case slices.Contains(names(f.declared(), Trusted), name):
			entry.Reason = "only the user may set it, or the file of a workspace that the user trusts"
		case slices.Contains(known, name):
			entry.Reason = "only the user may set it"
		case len(ignored) < maxIgnored: // suggestions are expensive
			entry.Suggest = suggest.Nearest(entry.Path, allowed)
		}
		ignored = append(ignored, entry)
	}
	var invalid []string
	for _, p := range validate.Fields(Params(f.declared()), values) {
		path := dotted(p)
		top, _, _ := strings.Cut(path, ".")
		switch {
		case p.Kind == toolfold.ProblemUnknown:
			if i := strings.LastIndex(path, "."); p.Suggest != "" {
				p.Suggest = path[:i+1] + p.Suggest
			}
			ignored = append(ignored, IgnoredEntry{Scope: scope, Path: shorten.Quoted(path), Suggest: p.Suggest})
		case scope == Local:
			delete(values, top)
			ignored = append(ignored, IgnoredEntry{Scope: scope, Path: top, Reason: explain(path, p)})
		default:
			invalid = append(invalid, explain(path, p))
		}
	}
	if invalid != nil {
		return nil, nil, fail(scope, errors.New(strings.Join(invalid, "; ")))
	}
	if more := len(ignored) - maxIgnored; more > 0 {
		ignored = append(ignored[:maxIgnored], IgnoredEntry{Scope: scope, Path: "…", Reason: fmt.Sprintf("and %d more", more)})
	}
	return values, ignored, nil
}

// update replaces the text of a scope's file with the result of edit. It creates the file and its
// folder if missing. Concurrent updates by several processes are not lost, see [safefile.Lock];
// editors take no lock.
func (f Files) update(ctx context.Context, scope string, edit func(text []byte) ([]byte, error)) error {
	lock := ""
	if f.Global != "" {
		lock = f.Global + ".lock"
		// Settings can contain the password of a store, so the folder is private.
		if err := os.MkdirAll(filepath.Dir(lock), 0o700); err != nil && scope == Global {
			return fail(scope, err)
		}
	}
	unlock, err := safefile.Lock(ctx, lock)
	if err != nil {
		return fmt.Errorf("waiting for the settings files: %w", err)
	}
	defer unlock()
	dir, name := f.place(scope)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fail(scope, err)
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fail(scope, err)
	}
	old, err := safefile.Read(root, name, maxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(scope, err)
	}
	text, err := edit(old)
	if err != nil {
		return err
	}
	if len(text) > maxFile {
		return fail(scope, fmt.Errorf("it would have more than %d bytes", maxFile))
	}
	if err := safefile.Replace(root, name, text); err != nil {
		return fail(scope, err)
	}
	return nil
}

// parse parses a settings file. An empty file has no settings, and null counts as not set. Errors
// contain the line.
func parse(text []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return map[string]any{}, nil
	}
	var v any
	err := unmarshal(text, &v)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		line := 1 + bytes.Count(text[:max(0, syntax.Offset-1)], []byte("\n")) // the offset is after the invalid byte
		return nil, fmt.Errorf("line %d: not valid JSON: %w", line, err)
	}
	values, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("the file must hold a JSON object")
	}
	maps.DeleteFunc(values, func(_ string, v any) bool { return v == nil })
	return values, nil
}

// unmarshal decodes exactly one JSON value, with numbers as [json.Number].
func unmarshal(text []byte, v any) error {
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(whole))
	dec.UseNumber()
	return dec.Decode(v)
}

// dotted returns the path of a problem in dotted form.
func dotted(p toolfold.Problem) string {
	return strings.NewReplacer("/", ".", "~1", "/", "~0", "~").Replace(strings.TrimPrefix(p.Path, "/"))
}

// explain describes the problem of the value called name, and the allowed values.
func explain(name string, p toolfold.Problem) string {
	if p.Kind == toolfold.ProblemType && p.Want == string(toolfold.KindBoolean) {
		return name + " must be true or false"
	}
	if p.Kind == toolfold.ProblemEnum {
		return suggest.OneOf(name, fmt.Sprint(p.Got), p.Allowed)
	}
	p.Path = "/" + name
	return p.Text()
}
