package config

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/call/validate"
	"github.com/toolfold/toolfold/internal/run/provider"
	"github.com/toolfold/toolfold/internal/text/jsonedit"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/redact"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// FileProblem is the error code for an unreadable, unwritable or invalid settings file.
const FileProblem = "CONFIG_FILE_ERROR"

// Service runs the config actions. It is safe for concurrent use.
type Service struct {
	files Files
	try   func(ctx context.Context, provider string) TestOut
}

// New returns the service for the settings in files. try asks a model provider for one word; an
// empty name means the usual provider.
func New(files Files, try func(ctx context.Context, provider string) TestOut) *Service {
	return &Service{files, try}
}

// Get returns one setting.
func (s *Service) Get(_ context.Context, in GetIn) (GetOut, error) {
	if _, known := declared(object(s.files.declared()), split(in.Path)); !known {
		return GetOut{}, s.unknownPath(in.Path)
	}
	values, layers, _, err := s.values(in.Scope)
	if err != nil {
		return GetOut{}, err
	}
	var plain any // computed values have Go types
	if err := unmarshal(ordered.MustJSON(redact.Value(values)), &plain); err != nil {
		return GetOut{}, fmt.Errorf("reading the settings: %w", err)
	}
	out := GetOut{Path: in.Path, Scope: in.Scope}
	if value, found := valueAt(plain, split(in.Path)); found && value != nil {
		out.Found, out.Value = true, ordered.MustJSON(value)
		if layers != nil {
			out.Source = layers.From(split(in.Path)[0])
		}
	}
	return out, nil
}

// Show returns all settings of a scope.
func (s *Service) Show(_ context.Context, in ShowIn) (ShowOut, error) {
	values, layers, ignored, err := s.values(in.Scope)
	if err != nil {
		return ShowOut{}, err
	}
	out := ShowOut{Scope: in.Scope, Config: redact.Value(values).(map[string]any), Unknown: ignored}
	if layers != nil {
		out.Sources = map[string]string{}
		for name := range values {
			if from := layers.From(name); from != Default {
				out.Sources[name] = from
			}
		}
	}
	return out, nil
}

// values returns the settings of a scope. For [Merged], they include computed values of unset
// settings. Layers are nil for a single file.
func (s *Service) values(scope string) (map[string]any, *Layers, []IgnoredEntry, error) {
	if scope != Merged {
		if !s.files.has(scope) {
			return nil, nil, nil, noFile(scope)
		}
		values, ignored, err := s.files.read(scope)
		return values, nil, ignored, tell(err)
	}
	layers, err := s.files.Load()
	if err != nil {
		return nil, nil, nil, tell(err)
	}
	values := layers.Merged()
	if s.files.Computed != nil {
		o, err := layers.Options()
		if err != nil {
			return nil, nil, nil, err
		}
		for name, value := range s.files.Computed(o) {
			if _, set := values[name]; !set {
				values[name] = value
			}
		}
	}
	return values, layers, layers.Ignored, nil
}

// Test asks a provider for one word.
func (s *Service) Test(ctx context.Context, in TestIn) (TestOut, error) {
	return s.try(ctx, in.Provider), nil
}

// Unset removes one setting from a file. A missing setting is not an error.
func (s *Service) Unset(ctx context.Context, in UnsetIn) (out UnsetOut, err error) {
	if _, err := s.open(ctx, "config.unset", in.Path, in.Scope); err != nil {
		return UnsetOut{}, err
	}
	out = UnsetOut{Path: in.Path, Scope: in.Scope}
	out.OldValue, out.Removed, err = s.edit(ctx, "config.unset", in.Path, in.Scope, nil)
	return out, err
}

// byUser marks calls by this machine's user.
type byUser bool

// ByUser marks a context for a call of config.set by this machine's user, from the shell. Do not
// mark calls that run other calls, such as workflow.run: agents and workflows do not act for the
// user.
func ByUser(ctx context.Context) context.Context {
	return callctx.With[byUser](ctx, true)
}

// Set writes one setting. Other values in the file stay unchanged, even invalid ones, so that
// faults can be fixed one by one.
func (s *Service) Set(ctx context.Context, in SetIn) (out SetOut, err error) {
	setting, err := s.open(ctx, "config.set", in.Path, in.Scope)
	if err != nil {
		return SetOut{}, err
	}
	value, err := read(setting, in.Value)
	if err != nil {
		return SetOut{}, err
	}
	out = SetOut{Success: true, Path: in.Path, NewValue: redact.Value(value), Scope: in.Scope}
	out.OldValue, _, err = s.edit(ctx, "config.set", in.Path, in.Scope, ordered.MustJSON(value))
	return out, err
}

// open returns the declaration of a setting, if an action may change it in a scope.
func (s *Service) open(ctx context.Context, action, path, scope string) (toolfold.Param, error) {
	steps := split(path)
	setting, known := declared(object(s.files.declared()), steps)
	if !known {
		return setting, s.unknownPath(path)
	}
	if err := s.permit(ctx, action, steps[0], scope); err != nil {
		return setting, err
	}
	if !s.files.has(scope) {
		return setting, noFile(scope)
	}
	return setting, nil
}

// edit sets a value in the file of a scope, or removes it if value is nil. It returns the old
// value, redacted, and whether there was one.
func (s *Service) edit(ctx context.Context, action, path, scope string, value json.RawMessage) (old any, found bool, err error) {
	steps := split(path)
	err = s.files.update(ctx, scope, func(text []byte) ([]byte, error) {
		before, err := parse(text)
		if err != nil {
			return nil, fail(scope, err)
		}
		var current any // null included, which before lacks; nil for an empty file
		_ = unmarshal(text, &current)
		if old, found = valueAt(current, steps); found {
			old = redact.Value(old)
		}
		if !found && value == nil {
			return text, nil
		}
		edited, err := s.put(text, steps, value)
		if errors.Is(err, jsonedit.ErrTwice) {
			return nil, toolfold.Errorf(toolfold.InvalidInput, "%s: the %s settings file has %s twice", action, scope, steps[0]).
				WithHint("ask the user to take one of them out")
		}
		if err != nil {
			return nil, toolfold.Errorf(toolfold.InvalidInput, "%s: %s cannot be reached: %v", action, path, err).
				About(toolfold.ProblemRefused, "path").WithHint("set %s as a whole", steps[0])
		}
		after, err := parse(edited)
		if err != nil {
			return nil, fail(scope, err)
		}
		return edited, s.compare(action, scope, steps[0], before, after)
	})
	return old, found, tell(err)
}

// Writes returns the workspace's settings file if the call writes it, and no file for the user's
// scope.
func (s *Service) Writes(_ context.Context, in struct {
	Scope string `json:"scope"`
}) ([]string, error) {
	if in.Scope != Local {
		return nil, nil
	}
	return []string{LocalFile}, nil
}

// permit returns an error if the caller may not change a setting in a scope.
func (s *Service) permit(ctx context.Context, action, name, scope string) error {
	user := bool(callctx.Of[byUser](ctx))
	needed := Client
	switch {
	case scope == Local && user:
		needed = Narrowing
	case scope == Local:
		needed = Workspace
	case user:
		return nil
	}
	if slices.Contains(names(s.files.declared(), needed), name) {
		return nil
	}
	refusal := toolfold.Errorf(toolfold.PermissionDenied, "%s: %s may only be set by the user of this machine", action, name)
	command := fmt.Sprintf(`toolfold call %s '{"path":%q,"value":…}'`, action, name)
	if action == "config.unset" {
		command = fmt.Sprintf(`toolfold call %s '{"path":%q}'`, action, name)
	}
	if slices.Contains(names(s.files.declared(), Workspace), name) {
		return refusal.WithHint("use scope local, or ask the user to run: %s", command)
	}
	return refusal.WithHint("ask the user to run: %s", command)
}

// compare returns an error if an edit makes a setting as a whole invalid, or incompatible with
// others: a valid value may still make the list around it too long.
func (s *Service) compare(action, scope, name string, before, after map[string]any) error {
	if value, set := after[name]; set {
		for _, p := range validate.Fields(Params(s.files.declared()), map[string]any{name: value}) {
			if p.Kind != toolfold.ProblemUnknown {
				return toolfold.Errorf(toolfold.InvalidInput, "%s: %s", action, explain(dotted(p), p)).
					About(toolfold.ProblemRefused, "path").WithHint("set %s as a whole", name)
			}
		}
	}
	if scope == Local {
		return nil
	}
	if wrong := s.providerFault(after); wrong != nil {
		if had := s.providerFault(before); had == nil || had.Error() != wrong.Error() {
			return toolfold.Errorf(toolfold.InvalidInput, "%s: %v", action, wrong).About(toolfold.ProblemRefused, "path").
				WithHint(`set a provider as a whole, such as {"type":"openai","baseURL":"http://127.0.0.1:11434/v1",`+
					`"model":"…"} or {"type":"command","command":["claude","-p"]}, and %s after it`, provider.DefaultSetting)
		}
	}
	if s.files.Check == nil {
		return nil
	}
	fault := s.startFault(after)
	if had := s.startFault(before); fault == nil || had != nil && had.Error() == fault.Error() {
		return nil
	}
	return toolfold.Errorf(toolfold.InvalidInput, "%s: toolfold could not start with that: %v", action, fault).
		About(toolfold.ProblemRefused, "path").
		WithHint("set the settings it needs first, or another value")
}

// providerFault returns the fault of the providers in the user's file and the process: an invalid
// provider, or an unknown default.
func (s *Service) providerFault(global map[string]any) error {
	values := maps.Clone(global)
	maps.Copy(values, s.files.Env)
	maps.Copy(values, s.files.Flags)
	set, err := provider.Read(values)
	if err != nil {
		return err
	}
	if _, known := set.Providers[set.Default]; set.Default != "" && !known {
		return fmt.Errorf("%s is %q, and no provider is called that; there are %s", provider.DefaultSetting, shorten.Quoted(set.Default),
			cmp.Or(strings.Join(set.Names(), ", "), "none"))
	}
	return nil
}

// startFault returns the error that would prevent a start with these settings in the user's file,
// without flags. An invalid file is no fault, because it is being fixed value by value.
func (s *Service) startFault(global map[string]any) error {
	values := s.files.defaults()
	maps.Copy(values, global)
	o, err := decode(values)
	if err != nil {
		return nil
	}
	return s.files.Check(o)
}

// put returns the JSON text with the value at the path, or without it if value is nil. It edits the
// text instead of decoded values, so that a file written by hand keeps the order of its members,
// the digits of its numbers and unknown members. A file in our layout stays in it; other files keep
// their layout.
func (s *Service) put(text []byte, steps []string, value []byte) (edited []byte, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}")
	}
	edited, err = putMember(text, object(s.files.declared()), steps, value)
	if err != nil || string(text) != "{}" && !bytes.Equal(text, laidOut(text)) {
		return edited, err
	}
	return laidOut(edited), nil
}

// putMember returns the text of an object with the value at the steps, or without it if value is
// nil. A list on the way is rewritten as a whole.
func putMember(text []byte, at toolfold.Param, steps []string, value []byte) ([]byte, error) {
	for i := 1; i < len(steps); i++ {
		current, err := jsonedit.Get(text, steps[:i]...)
		if err != nil {
			return nil, err
		}
		if inner, _ := declared(at, steps[:i]); inner.Kind == toolfold.KindArray {
			if value, err = putItem(current, *inner.Items, steps[i:], value); err != nil {
				return nil, err
			}
			steps = steps[:i]
		} else if string(current) == "null" {
			if text, err = jsonedit.Set(text, []byte("{}"), steps[:i]...); err != nil {
				return nil, err
			}
		}
	}
	if value == nil {
		return jsonedit.Remove(text, steps...)
	}
	return jsonedit.Set(text, value, steps...)
}

// putItem is putMember for a list, which may be missing. Missing items before the index become
// null.
func putItem(text []byte, at toolfold.Param, steps []string, value []byte) ([]byte, error) {
	var items []json.RawMessage
	if text != nil && json.Unmarshal(text, &items) != nil {
		return nil, errors.New("it is not a list")
	}
	i, _ := strconv.Atoi(steps[0]) // checked against the declaration
	for len(items) <= i {
		items = append(items, json.RawMessage("null"))
	}
	var err error
	switch isNull := string(items[i]) == "null"; {
	case len(steps) == 1 && value == nil:
		items = slices.Delete(items, i, i+1)
	case len(steps) == 1:
		items[i] = value
	case at.Kind == toolfold.KindArray && isNull:
		items[i], err = putItem(nil, *at.Items, steps[1:], value)
	case at.Kind == toolfold.KindArray:
		items[i], err = putItem(items[i], *at.Items, steps[1:], value)
	case isNull:
		items[i], err = putMember([]byte("{}"), at, steps[1:], value)
	default:
		items[i], err = putMember(items[i], at, steps[1:], value)
	}
	return ordered.MustJSON(items), err
}

// laidOut indents valid JSON in toolfold's layout.
func laidOut(text []byte) []byte {
	var buf bytes.Buffer
	_ = json.Indent(&buf, bytes.TrimSpace(text), "", "  ")
	buf.WriteByte('\n')
	return buf.Bytes()
}

// split splits a dotted path. A name that contains a dot cannot be reached: set the object that
// contains it.
func split(path string) []string { return strings.Split(path, ".") }

// valueAt returns the value at the steps.
func valueAt(value any, steps []string) (any, bool) {
	for _, step := range steps {
		switch holder := value.(type) {
		case map[string]any:
			inner, found := holder[step]
			if !found {
				return nil, false
			}
			value = inner
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(holder) {
				return nil, false
			}
			value = holder[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// declared follows steps through a declaration. It reports whether there can be a value.
func declared(at toolfold.Param, steps []string) (p toolfold.Param, ok bool) {
	for _, step := range steps {
		members := slices.Concat(at.Required, at.Optional)
		i := slices.IndexFunc(members, func(p toolfold.Param) bool { return p.Name == step })
		index, err := strconv.Atoi(step)
		switch {
		case i >= 0:
			at = members[i]
		case at.Values != nil && step != "":
			at = *at.Values
		case at.Items != nil && err == nil && 0 <= index && index < maxIndex && strconv.Itoa(index) == step:
			at = *at.Items
		default:
			return toolfold.Param{}, false
		}
	}
	return at, true
}

// maxIndex bounds list indexes, because missing items are filled with null.
const maxIndex = 1000

// Parse parses a flag or an environment variable as the value of a setting. An error lists what is
// allowed, and refers to the value by name.
func Parse(setting toolfold.Param, name, text string) (any, error) {
	body := ordered.MustJSON(text)
	if setting.Kind == toolfold.KindArray && !strings.HasPrefix(strings.TrimSpace(text), "[") {
		body = ordered.MustJSON(strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }))
	}
	value, err := read(setting, body)
	var wrong *toolfold.Error
	if errors.As(err, &wrong) && len(wrong.Problems) > 0 {
		return nil, errors.New(explain(name, wrong.Problems[0]))
	}
	return value, err
}

// read interprets a sent value for a setting. A string may contain the JSON of the value: it is
// decoded if the result is valid for the setting, else used as it is. For a string setting, only
// quoted strings are decoded: "true" stays a string.
func read(setting toolfold.Param, body json.RawMessage) (any, error) {
	var value, parsed any
	if err := unmarshal(body, &value); err != nil {
		return nil, fmt.Errorf("reading the value: %w", err)
	}
	readings := []any{value}
	if text, ok := value.(string); ok && unmarshal([]byte(text), &parsed) == nil {
		if _, quoted := parsed.(string); quoted || setting.Kind != toolfold.KindString {
			readings = []any{parsed, text}
		}
	}
	setting.Name = "value" // the name of the action's argument
	var first []toolfold.Problem
	for i, reading := range readings {
		problems := validate.Fields([]toolfold.Param{setting}, map[string]any{"value": reading})
		if len(problems) == 0 {
			return reading, nil
		}
		if i == 0 {
			first = problems
		}
	}
	return nil, &toolfold.Error{Code: toolfold.InvalidInput, Problems: first}
}

func (s *Service) unknownPath(path string) error {
	known := names(s.files.declared(), User)
	return &toolfold.Error{Code: toolfold.InvalidInput, Problems: []toolfold.Problem{{
		Path: "/path", Kind: toolfold.ProblemEnum, Got: shorten.Quoted(path), Allowed: known,
		Suggest: suggest.Nearest(shorten.Quoted(path), known),
	}}}
}

func noFile(scope string) error {
	return toolfold.Errorf(FileProblem, "this server has no %s settings file", scope).WithHint("use another scope")
}

// tell converts a [*FileError] to an error for the caller. It returns other errors unchanged.
func tell(err error) error {
	var file *FileError
	if !errors.As(err, &file) {
		return err
	}
	return toolfold.Errorf(FileProblem, "%v", file).
		WithHint("mend the file; config.set can replace an invalid value, but not read a broken file")
}
