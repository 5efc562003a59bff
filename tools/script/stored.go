package script

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/call/judge"
	"github.com/toolfold/toolfold/internal/run/script"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/system/clock"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// Codes of stored scripts.
const (
	NotFound      = "SCRIPT_NOT_FOUND"
	AlreadyExists = "SCRIPT_ALREADY_EXISTS"
	InvalidName   = "INVALID_SCRIPT_NAME"
	DeleteFailed  = "SCRIPT_DELETE_FAILED" // it is a file
)

// Library has the scripts with names: those that a workspace saved, and the files of its folder.
type Library struct {
	Folder    workspace.Folder
	Workspace string // owner of saved scripts

	// Open opens the store of saved scripts, or returns the open one.
	Open func(context.Context) (Store, error)

	// ParseRights reads a text of [toolfold.Rights]. Rights are the rights of the server; nil means all.
	ParseRights func(text string) (*toolfold.Rights, error)
	Rights      *toolfold.Rights

	Now func() time.Time

	files *workspace.Files[Script]
}

// WithLibrary makes scripts of a library run by name. It returns s.
func (s *Service) WithLibrary(l Library) *Service {
	l.files = newFiles(l.Folder.Dir)
	s.library = &l
	s.runner.Library = callable{&l}
	return s
}

// Save saves a script under a name. The caller must say so to replace another version.
func (s *Service) Save(ctx context.Context, in SaveIn) (SaveOut, error) {
	next, err := s.newScript(ctx, in)
	if err != nil {
		return SaveOut{}, err
	}
	if err := s.check(ctx, script.Job{Source: next.Code, Name: next.Name}); err != nil {
		return SaveOut{}, err
	}
	store, err := s.library.Open(ctx)
	if err != nil {
		return SaveOut{}, err
	}
	var old *Script
	err = store.Put(ctx, s.library.Workspace, next.Name, func(present *Script, count int) (Script, error) {
		old = present
		switch {
		case old != nil && old.Digest == next.Digest:
			return *old, nil
		case old != nil && !in.Overwrite:
			return Script{}, toolfold.Errorf(AlreadyExists, "there is another version of script %q, %s", next.Name, old.Digest).
				WithHint("script.show has it; overwrite: true replaces it, and returns it")
		case old == nil && count >= MaxSaved:
			return Script{}, toolfold.Errorf(toolfold.LimitReached, "the workspace has %d saved scripts, which is the limit", count).
				WithHint("script.delete those that are not needed, or keep scripts as files in %s", Folder)
		}
		return next, nil
	})
	if err != nil {
		return SaveOut{}, fmt.Errorf("saving a script: %w", err)
	}
	out := SaveOut{Saved: true, Name: next.Name, Digest: next.Digest, Message: "saved " + next.Name}
	switch {
	case old != nil && old.Digest == next.Digest:
		out.Saved, out.Message = false, next.Name+" has this version already"
	case old != nil:
		old.Source = workspace.Registered
		out.Replaced, out.Message = old, "replaced "+next.Name
	}
	if in.Code == "" && in.ID == "" {
		out.Message += ", from your last run: " + next.beginning()
	}
	files, _, err := s.library.inFiles(ctx)
	if file, has := files[next.Name]; has {
		out.Message += ", which goes before the file " + file.File
	}
	return out, err
}

// newScript returns the script to save.
func (s *Service) newScript(ctx context.Context, in SaveIn) (next Script, err error) {
	if s.library == nil {
		return next, noLibrary()
	}
	if why := misnamed(in.Name); why != "" {
		return next, toolfold.Errorf(InvalidName, "name %q %s", shorten.Quoted(in.Name), why).WithHint("use a name such as triage-issues")
	}
	switch {
	case in.Code != "" && in.ID != "":
		return next, toolfold.Errorf(toolfold.InvalidInput, "id excludes code").About(toolfold.ProblemRefused, id.Param().Name).
			WithHint("id saves the script of that run, code another one")
	case in.Code == "" && s.runs == nil:
		return next, noRuns()
	case in.Code == "":
		if in.Code, err = s.ran(ctx, in.ID); err != nil {
			return next, err
		}
	}
	if len(in.Code) > script.MaxSource {
		return next, toolfold.Errorf(toolfold.InvalidInput, "code has %d bytes, the limit is %d", len(in.Code), script.MaxSource).
			About(toolfold.ProblemRefused, code.Name)
	}
	h, broken := readHead("", in.Code)
	if broken != nil {
		return next, toolfold.Errorf(toolfold.InvalidInput, "the head of code, line %d: %s", max(broken.Line, 1), broken.Reason).
			About(toolfold.ProblemRefused, code.Name)
	}
	schema, err := checkSchema(in.InputSchema)
	if err != nil {
		return next, toolfold.Errorf(toolfold.InvalidInput, "inputSchema: %v", err).About(toolfold.ProblemRefused, inputSchema.Name)
	}
	for name, twice := range map[string]bool{
		description.Name: in.Description != "" && h.Description != "", inputSchema.Name: schema != nil && h.InputSchema != nil,
	} {
		if twice {
			return next, toolfold.Errorf(toolfold.InvalidInput, "the head of code has %s too", name).About(toolfold.ProblemRefused, name).
				WithHint("leave one of them out")
		}
	}
	if schema == nil {
		schema = h.InputSchema
	}
	next = Script{Name: in.Name, Description: cmp.Or(in.Description, h.Description), InputSchema: schema, Code: in.Code,
		SavedAt: clock.Micros(s.library.Now)()}
	next.Digest = next.digest()
	next.Rights, err = toolfold.OriginOf(ctx).Rights.And(s.library.Rights).Narrow("")
	return next, err
}

// ran returns the script of a run, or of the last run of the caller that ended well if id is empty.
func (s *Service) ran(ctx context.Context, id string) (code string, err error) {
	if id == "" {
		if id, err = s.runs.Last(ctx); err != nil {
			return "", err
		}
	}
	if id == "" {
		return "", toolfold.Errorf(toolfold.InvalidInput, "you have run no script that ended well, so there is nothing to save").
			About(toolfold.ProblemMissing, "code").WithHint("give code; script.read and runs that are not recorded do not count")
	}
	return s.runs.Source(ctx, id)
}

// beginning returns what a script says of itself: its description, or its first line of code.
func (c Script) beginning() string {
	const most = 80
	body := c.Code
	if strings.HasPrefix(strings.TrimPrefix(body, "\ufeff"), headBegin) {
		_, body, _ = strings.Cut(body, headEnd)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(body), "\n")
	return shorten.To(cmp.Or(c.Description, strings.TrimSpace(first)), most)
}

func noLibrary() error {
	return toolfold.Errorf(toolfold.InvalidInput, "this server stores no scripts")
}

func noRuns() error { return toolfold.Errorf(toolfold.InvalidInput, "this server records no runs") }

// List lists scripts, a page at a time.
func (s *Service) List(ctx context.Context, in ListIn) (ListOut, error) {
	after, err := in.After("script.list")
	if err != nil {
		return ListOut{}, err
	}
	if s.library == nil {
		return ListOut{}, noLibrary()
	}
	all, broken, err := s.library.all(ctx)
	if err != nil {
		return ListOut{}, err
	}
	out := ListOut{Scripts: []Item{}, Total: len(all)}
	if after == "" { // once, not on every page
		out.Broken = workspace.Brief(Folder, broken)
	}
	if out.Total == 0 {
		out.Message = howToAdd
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name > after {
			names = append(names, name)
		}
	}
	names, out.Paged = toolfold.CutPage(names, in.Limit, toolfold.CursorOf)
	for _, name := range names {
		one := all[name]
		out.Scripts = append(out.Scripts, Item{
			Name: name, Description: callctx.Brief(ctx, "scripts.description", one.Description), Source: one.Source,
			Trusted: s.library.Folder.Mark(one.Source),
		})
	}
	return out, nil
}

// Show returns a script.
func (s *Service) Show(ctx context.Context, in ShowIn) (Script, error) {
	if s.library == nil {
		return Script{}, noLibrary()
	}
	found, err := s.library.find(ctx, in.Name)
	found.Trusted = s.library.Folder.Mark(found.Source)
	return found, err
}

// Delete deletes a saved script.
func (s *Service) Delete(ctx context.Context, in DeleteIn) (DeleteOut, error) {
	if s.library == nil {
		return DeleteOut{}, noLibrary()
	}
	out := DeleteOut{Name: in.Name, Message: fmt.Sprintf("there is no script %q", shorten.Quoted(in.Name))}
	if misnamed(in.Name) != "" {
		return out, nil
	}
	store, err := s.library.Open(ctx)
	if err != nil {
		return DeleteOut{}, err
	}
	if out.Deleted, err = store.Remove(ctx, s.library.Workspace, in.Name); err != nil {
		return DeleteOut{}, fmt.Errorf("deleting a script: %w", err)
	}
	files, _, err := s.library.inFiles(ctx)
	if err != nil {
		return DeleteOut{}, err
	}
	file, isFile := files[in.Name]
	switch {
	case out.Deleted && isFile:
		out.Message = "deleted " + in.Name + "; from now on its name means the file " + file.File
	case out.Deleted:
		out.Message = "deleted " + in.Name
	case isFile:
		return DeleteOut{}, toolfold.Errorf(DeleteFailed, "script %q is the file %s of the workspace", in.Name, file.File).
			WithHint("delete that file")
	}
	return out, nil
}

// inFiles returns the scripts in files by name, and the files that are not usable.
func (l *Library) inFiles(ctx context.Context) (map[string]Script, []workspace.BrokenFile, error) {
	files, broken, err := l.files.Read(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("reading script files: %w", err)
	}
	scripts := map[string]Script{}
	for _, f := range files {
		scripts[f.Value.Name] = f.Value
	}
	return scripts, broken, nil
}

// all returns all scripts by name. A saved one goes before a file.
func (l *Library) all(ctx context.Context) (map[string]Script, []workspace.BrokenFile, error) {
	scripts, broken, err := l.inFiles(ctx)
	if err != nil {
		return nil, nil, err
	}
	store, err := l.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	saved, err := store.All(ctx, l.Workspace)
	if err != nil {
		return nil, nil, fmt.Errorf("reading scripts: %w", err)
	}
	for _, one := range saved {
		if file, hidden := scripts[one.Name]; hidden {
			broken = append(broken, workspace.BrokenFile{File: file.File,
				Reason: "a script of this name is saved and counts; script.delete it to use the file"})
		}
		one.Source = workspace.Registered
		scripts[one.Name] = one
	}
	return scripts, broken, nil
}

// Known returns the scripts that run, by name. Without saved, it only reads files, and opens no store.
func (s *Service) Known(ctx context.Context, saved bool) (list []Script, err error) {
	if s.library == nil {
		return nil, nil
	}
	var scripts map[string]Script
	if saved {
		scripts, _, err = s.library.all(ctx)
	} else {
		scripts, _, err = s.library.inFiles(ctx)
	}
	for _, name := range slices.Sorted(maps.Keys(scripts)) {
		if one := scripts[name]; one.Source != workspace.InFile || s.library.Folder.IsTrusted() {
			list = append(list, one)
		}
	}
	return list, err
}

// find returns the script with a name.
func (l *Library) find(ctx context.Context, name string) (Script, error) {
	if misnamed(name) == "" {
		store, err := l.Open(ctx)
		if err != nil {
			return Script{}, err
		}
		saved, found, err := store.Get(ctx, l.Workspace, name)
		if err != nil {
			return Script{}, fmt.Errorf("reading a script: %w", err)
		}
		if saved.Source = workspace.Registered; found {
			return saved, nil
		}
	}
	files, broken, err := l.inFiles(ctx)
	if err != nil {
		return Script{}, err
	}
	if one, has := files[name]; has {
		return one, nil
	}
	for _, b := range broken {
		if b.Stem() == name {
			return Script{}, toolfold.Errorf(workspace.FileBroken, "script %q cannot be used: %s", shorten.Quoted(name), b.Text()).
				WithHint("mend the file")
		}
	}
	return Script{}, l.unknown(ctx, name)
}

// howToAdd says how a workspace gets its first script.
const howToAdd = "there are no scripts; script.save keeps one, and files in " + Folder + " are scripts"

// fewNames limits the scripts that an error names.
const fewNames = 5

// unknown returns the error for a name that no script has.
func (l *Library) unknown(ctx context.Context, name string) error {
	all, _, err := l.all(ctx)
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(all))
	e := toolfold.Errorf(NotFound, "there is no script %q", shorten.Quoted(name))
	switch near := suggest.Nearest(name, names); {
	case near != "":
		return e.WithHint("did you mean %q?", near)
	case len(names) == 0:
		return e.WithHint(howToAdd)
	case len(names) > fewNames:
		return e.WithHint("there are %s and more: script.list", strings.Join(names[:fewNames], ", "))
	}
	return e.WithHint("there are %s", strings.Join(names, ", "))
}

// named returns the job of a script with a name, and the context for its run. Its rights are those that
// the caller and whoever saved the script have in common.
func (s *Service) named(ctx context.Context, in RunIn) (context.Context, script.Job, error) {
	if in.Code != "" {
		return ctx, script.Job{}, toolfold.Errorf(toolfold.InvalidInput, "name excludes code").About(toolfold.ProblemRefused, code.Name).
			WithHint("name runs the script that was stored, code another one")
	}
	if s.library == nil {
		return ctx, script.Job{}, noLibrary()
	}
	one, err := s.library.findToRun(ctx, in.Name)
	if err != nil {
		return ctx, script.Job{}, err
	}
	job := script.Job{Source: one.Code}
	if job.Input, err = one.accept(ctx, in.Input); err != nil {
		if refused, ok := errors.AsType[*toolfold.Error](err); ok {
			refused.Example = one.example()
		}
		return ctx, job, err
	}
	limits, err := s.library.limits(one)
	if err != nil {
		return ctx, job, err
	}
	origin := toolfold.OriginOf(ctx)
	origin.Rights = origin.Rights.And(limits)
	origin.Client = strings.TrimPrefix(origin.Client+", script "+one.Name, ", ") // the author of what it stores
	return callctx.With(ctx, origin), job, nil
}

// findToRun returns the script for a run, unless it is a file that is not trusted. A task runs the script as it
// was when the task was submitted.
func (l *Library) findToRun(ctx context.Context, name string) (one Script, err error) {
	if definition, pinned := work.Pinned(ctx, work.Reference{Kind: work.Stored, ID: name}); !pinned {
		one, err = l.find(ctx, name)
	} else if err = json.Unmarshal(definition, &one); err != nil {
		err = fmt.Errorf("decoding script of a task: %w", err)
	}
	if err == nil && one.Source == workspace.InFile && !l.Folder.IsTrusted() {
		err = toolfold.Errorf(workspace.Untrusted, "script %q is the file %s of a workspace that is not trusted", one.Name, one.File).
			WithHint("%s", l.Folder.HowToTrust())
	}
	return one, err
}

// limits returns the rights of whoever saved a script; nil means all rights.
func (l *Library) limits(one Script) (*toolfold.Rights, error) {
	if one.Rights == "" {
		return nil, nil
	}
	limits, err := l.ParseRights(one.Rights)
	if err != nil {
		return nil, toolfold.Errorf(toolfold.PermissionDenied,
			"the rights of who saved script %q cannot be read: a later toolfold wrote them", one.Name).
			WithHint("script.save it again with overwrite")
	}
	return limits, nil
}

// callable is a library for scripts that call other scripts. It implements [script.Library].
type callable struct{ *Library }

// Names implements [script.Library].
func (l callable) Names(ctx context.Context) ([]string, error) {
	all, _, err := l.all(ctx)
	return slices.Sorted(maps.Keys(all)), err
}

// Stored implements [script.Library].
func (l callable) Stored(ctx context.Context, name string) (script.Stored, error) {
	one, err := l.findToRun(ctx, name)
	return script.Stored{Name: one.Name, Source: one.Code, Schema: one.InputSchema, Rights: one.Rights}, err
}

// Accept implements [script.Library].
func (l callable) Accept(ctx context.Context, s script.Stored, input json.RawMessage) (json.RawMessage, error) {
	return Script{Name: s.Name, InputSchema: s.Schema}.accept(ctx, input)
}

// Limits implements [script.Library].
func (l callable) Limits(s script.Stored) (*toolfold.Rights, error) {
	return l.limits(Script{Name: s.Name, Rights: s.Rights})
}

// example returns a call that the script's schema allows; nil if none is found.
func (c Script) example() json.RawMessage {
	allowed := judge.Example(c.InputSchema)
	if allowed == nil {
		return nil
	}
	return ordered.MustJSON(ordered.Map{{Key: name.Name, Value: c.Name}, {Key: input.Name, Value: allowed}})
}

// accept checks an input by the script's schema. It returns the input with defaults of the schema.
func (c Script) accept(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	if len(c.InputSchema) == 0 {
		return raw, nil
	}
	schema, err := workspace.BoundSchema(c.InputSchema)
	if err != nil {
		return nil, fmt.Errorf("reading inputSchema of a script: %w", err)
	}
	const hint = "script.show has the inputSchema of %s"
	var value any
	if err := jsonx.Decode([]byte(cmp.Or(string(raw), "null")), &value); err != nil {
		return nil, fmt.Errorf("decoding input: %w", err)
	}
	if _, isObject := value.(map[string]any); value != nil && !isObject {
		return nil, (&toolfold.Error{Code: toolfold.InvalidInput, Problems: []toolfold.Problem{{
			Path: "/input", Kind: toolfold.ProblemType, Want: "object", Got: jsonx.TypeName(value),
		}}}).WithHint(hint, c.Name)
	}
	args, problems, err := workspace.CheckInput(ctx, c.Name, schema, raw)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, (&toolfold.Error{Code: toolfold.InvalidInput, Problems: problems}).WithHint(hint, c.Name)
	}
	return ordered.JSON(args)
}
