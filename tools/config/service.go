package config

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/engine"
	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/internal/suggest"
	"github.com/toolfold/toolfold/tools"
)

// FileProblem is the code of a settings file that cannot be read, written or
// understood.
const FileProblem = "CONFIG_FILE_ERROR"

// PermissionDenied is the code of a setting that the caller may not make.
const PermissionDenied = "PERMISSION_DENIED"

// Service runs the config actions. It is safe for concurrent use.
type Service struct {
	files Files
}

// New returns the service for the settings in files.
func New(files Files) *Service { return &Service{files: files} }

// Get reads one setting.
func (s *Service) Get(_ context.Context, in GetIn) (GetOut, error) {
	layers, err := s.load(in.Scope)
	if err != nil {
		return GetOut{}, err
	}
	value, found := lookup(layers.scope(in.Scope), split(in.Path))
	if _, known := declared(s.files.root(), split(in.Path)); !known && !found {
		return GetOut{}, s.unknownPath(in.Path)
	}
	return GetOut{Path: in.Path, Value: redacted(value), Scope: in.Scope, Found: found}, nil
}

// Show reads all settings of a scope.
func (s *Service) Show(_ context.Context, in ShowIn) (ShowOut, error) {
	layers, err := s.load(in.Scope)
	if err != nil {
		return ShowOut{}, err
	}
	return ShowOut{Scope: in.Scope, Config: redacted(layers.scope(in.Scope)).(map[string]any), Unknown: layers.Unknown}, nil
}

// mayMake refuses the settings that only the user makes to everybody else: to
// workspaces, to clients and their models, and to steps of a run.
func mayMake(ctx context.Context, name, scope string) error {
	if !slices.Contains(UserOnly, name) || scope == Global && byUser(ctx) && !engine.Nested(ctx) {
		return nil
	}
	return tools.Errorf(PermissionDenied, "%s decides what runs on this machine or who may use it: only its user makes it", name).
		WithHint(`ask the user to run: toolfold call config.set '{"path":…,"value":…}', with scope global`)
}

type userKey struct{}

// ByUser says that a call comes from the shell of this machine's user.
func ByUser(ctx context.Context) context.Context {
	return context.WithValue(ctx, userKey{}, true)
}

func byUser(ctx context.Context) bool {
	yes, _ := ctx.Value(userKey{}).(bool)
	return yes
}

// load reads the files that a scope draws on.
func (s *Service) load(scope string) (*Layers, error) {
	if scope == Merged {
		layers, err := s.files.Load()
		return layers, tell(err)
	}
	if !s.files.has(scope) {
		return nil, noFile(scope)
	}
	layers, err := s.files.load(scope)
	return layers, tell(err)
}

// Set writes one setting. Other values in the file, invalid ones included,
// stay as they are: what is wrong can be mended one by one.
func (s *Service) Set(ctx context.Context, in SetIn) (SetOut, error) {
	setting, known := declared(s.files.root(), split(in.Path))
	if !known {
		return SetOut{}, s.unknownPath(in.Path)
	}
	if err := mayMake(ctx, split(in.Path)[0], in.Scope); err != nil {
		return SetOut{}, err
	}
	value, err := read(setting, in.Value)
	if err != nil {
		return SetOut{}, err
	}
	if !s.files.has(in.Scope) {
		return SetOut{}, noFile(in.Scope)
	}
	old, err := s.put(in.Scope, split(in.Path), value)
	if err != nil {
		return SetOut{}, tell(err)
	}
	return SetOut{Success: true, Path: in.Path, OldValue: redacted(old), NewValue: redacted(value), Scope: in.Scope}, nil
}

// put writes a value and returns the one before.
func (s *Service) put(scope string, path []string, value any) (old any, err error) {
	err = s.files.update(scope, func(text []byte) ([]byte, error) {
		before, line, err := parseText(text)
		if err != nil {
			return nil, s.files.fail(scope, line, err)
		}
		old, _ = lookup(before, path)
		edited, err := change{path: path, value: ordered.MustJSON(value)}.put(text, s.files.root(), 0)
		if err != nil {
			return nil, err
		}
		if err := s.compare(before, edited); err != nil {
			return nil, err
		}
		return pretty(edited)
	})
	return old, err
}

// compare refuses an edit that leaves a file with a problem it did not have:
// a value can be right in itself and yet make the list around it too long.
func (s *Service) compare(before map[string]any, edited json.RawMessage) error {
	after, _, err := parseText(edited)
	if err != nil {
		return err
	}
	_, had := s.files.check("", before)
	old := map[string]bool{}
	for _, p := range had {
		old[p.Path+" "+p.Kind] = true
	}
	var added []tools.Problem
	_, has := s.files.check("", after)
	for _, p := range has {
		if !old[p.Path+" "+p.Kind] {
			added = append(added, p)
		}
	}
	if len(added) == 0 {
		return nil
	}
	return tools.Errorf(tools.InvalidInput, "config.set: %s", describe(added)).
		WithHint("set what holds the setting as a whole")
}

// read decides what a sent value means for a setting. A text may be the JSON of
// the value: it is taken so if that is valid there, else as it is. Where text
// is due, only a quoted text is read as JSON: "true" stays a text.
func read(setting tools.Param, sent json.RawMessage) (any, error) {
	var value any
	if _, err := decode(sent, &value); err != nil {
		return nil, err
	}
	text, ok := value.(string)
	if !ok {
		return firstValid(setting, value)
	}
	var parsed any
	if _, err := decode([]byte(text), &parsed); err != nil {
		return firstValid(setting, text)
	}
	if _, quoted := parsed.(string); setting.Kind == tools.KindString && !quoted {
		return firstValid(setting, text)
	}
	return firstValid(setting, parsed, text)
}

// firstValid returns the first reading that the setting allows, else what is
// wrong with the first.
func firstValid(setting tools.Param, readings ...any) (any, error) {
	setting.Name = "value" // of the action, whose argument it is
	var first []tools.Problem
	for i, reading := range readings {
		problems := tools.CheckFields([]tools.Param{setting}, map[string]any{"value": reading})
		if len(problems) == 0 {
			return reading, nil
		}
		if i == 0 {
			first = problems
		}
	}
	return nil, &tools.Error{Code: tools.InvalidInput, Problems: first}
}

func (s *Service) unknownPath(path string) error {
	known := paths(s.files.root(), "")
	return &tools.Error{Code: tools.InvalidInput, Problems: []tools.Problem{{
		Path: "/path", Kind: tools.ProblemEnum, Got: short(path), Allowed: known, Suggest: suggest.Nearest(path, known),
	}}}
}

// short is as much of a path as an error quotes.
func short(path string) string {
	return strings.ToValidUTF8(path[:min(len(path), 60)], "")
}

func noFile(scope string) error {
	return tools.Errorf(FileProblem, "this server has no %s settings file", scope).WithHint("use another scope")
}

// tell makes a problem with a file known to the caller, by scope and not by
// its path.
func tell(err error) error {
	var file *FileError
	if !errors.As(err, &file) {
		return err
	}
	return tools.Errorf(FileProblem, "%s settings file: %s", file.Scope, file.reason()).
		WithHint("mend the file; config.set can replace an invalid value, but not read a broken file")
}
