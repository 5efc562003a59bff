package lazy

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// maxNames limits the names of one describe or load call.
const maxNames = 50

// Service runs the discovery actions on a surface.
type Service struct {
	discovery *Discovery
	files     Files
}

// Mount returns the discovery family of a surface. Results of calls cannot be saved.
func Mount(d *Discovery) *toolfold.Family { return mount(withoutFiles(Family), &Service{discovery: d}) }

// MountWithFiles returns the discovery family of a surface, with files for results of calls.
func MountWithFiles(d *Discovery, files Files) *toolfold.Family {
	if d != nil {
		d.files = files
	}
	return mount(Family, &Service{d, files})
}

func mount(f toolfold.Family, s *Service) *toolfold.Family {
	mounted, err := toolfold.Mount(f, func(context.Context) (*Service, error) { return s, nil })
	if err != nil {
		panic(err) // an action of Family runs another service's method
	}
	return mounted
}

// summaries is the number of results with a summary; the usage is enough for the rest.
const summaries = 3

// Find returns ranked actions with how to call them.
func (s *Service) Find(ctx context.Context, in FindIn) (FindOut, error) {
	view := s.discovery.View(ctx)
	absent := s.absent(ctx, view)
	if _, ok := view.servers[in.Server]; in.Server != "" && !ok &&
		!slices.ContainsFunc(absent, func(r Row) bool { return r.Name == in.Server }) {
		servers := slices.Sorted(maps.Keys(view.servers))
		if len(servers) == 0 {
			return FindOut{}, toolfold.Errorf(toolfold.InvalidInput, "there is no server %q: leave server out", shorten.Quoted(in.Server))
		}
		return FindOut{}, &toolfold.Error{Code: toolfold.InvalidInput, Problems: []toolfold.Problem{{
			Path: "/server", Kind: toolfold.ProblemEnum, Got: shorten.Quoted(in.Server),
			Allowed: servers, Suggest: suggest.Nearest(in.Server, servers),
		}}}
	}
	out := FindOut{Results: view.find(in.Query, in.Server, in.Limit)}
	for i, m := range out.Results {
		if in.As == typeScript {
			out.Results[i].Usage, out.Results[i].Signature, out.Results[i].Effect = "", view.signature(m.action), effectOf(m.action)
		}
	}
	out.Also = view.also(out.Results)
	for i := summaries; i < len(out.Results); i++ {
		out.Results[i].Summary = ""
	}
	if in.Server == "" {
		var err error
		if out.Scripts, err = s.findScripts(ctx, view, in.Query); err != nil {
			return FindOut{}, err
		}
	}
	switch {
	case len(out.Scripts) > 0 && (len(out.Results) == 0 || out.Results[0].Score < fits):
	case len(out.Results) == 0:
		out.Hint = "nothing matches; describe your goal in plain words, or see the action list"
	case out.Results[0].Score < fits:
		out.Hint = "nothing fits well"
	}
	if named, _ := view.operand(in.Query); named != nil && (len(out.Results) == 0 || out.Results[0].action != named.Action) {
		if call := s.discovery.StoredAnswer(ctx, "tools.describe", map[string]string{"name": named.Action.FullName()}); call != "" {
			out.Hint = "all about " + named.Action.FullName() + ": " + call
		}
	}
	out.Away = otherFamilies(absent, in.Server)
	bound(&out)
	if in.As == "" {
		view.describeParams(&out)
	}
	return out, nil
}

// absent returns the servers that offer no tools now, if the caller may know of them.
func (s *Service) absent(ctx context.Context, view *View) []Row {
	if rights := toolfold.OriginOf(ctx).Rights; s.discovery.absent == nil || rights != nil && !rights.Public {
		return nil
	}
	return slices.DeleteFunc(s.discovery.absent(), func(r Row) bool { return !view.options.Within.Allow(anyOf(r.Name)) })
}

// Limits of the note on absent servers. Every response has it while a server is absent; tools.list
// has all reasons.
const (
	awayReason = 60 // characters
	awayRoom   = 50 // tokens
)

// otherFamilies names servers that failed or wait for the user, with reasons, as far as there is room, and
// counts the rest. If a server is asked for, it names only this one.
func otherFamilies(rows []Row, name string) string {
	var list []string
	for _, r := range rows {
		if r.Name == name || name == "" && !r.Idle {
			list = append(list, r.Name+" ("+shorten.Words(r.Reason, awayReason)+")")
		}
	}
	return named(list, awayRoom)
}

// Describe returns the descriptions of one or several names.
func (s *Service) Describe(ctx context.Context, in DescribeIn) (DescribeOut, error) {
	view := s.discovery.View(ctx)
	always := in.IncludeExamples != nil && *in.IncludeExamples
	if in.As != "" && (in.Schema || always) {
		return DescribeOut{}, toolfold.Errorf(toolfold.InvalidInput, "a signature has no schema and no example").
			About(toolfold.ProblemRefused, as.Name).WithHint("leave out as, or schema and include_examples")
	}
	with := Account{Examples: in.IncludeExamples == nil || always, Always: always, Schema: in.Schema, TypeScript: in.As == typeScript}
	if in.Name != "" && len(in.Names) == 0 {
		doc, err := view.Describe(in.Name, with)
		if err != nil {
			return DescribeOut{}, err
		}
		return DescribeOut{Tools: []json.RawMessage{doc}}, nil
	}
	names, err := several(in.Name, in.Names)
	if err != nil {
		return DescribeOut{}, err
	}
	out := DescribeOut{Tools: []json.RawMessage{}}
	for _, name := range names {
		doc, err := view.Describe(name, with)
		if err != nil {
			out.Errors = append(out.Errors, nameError(name, err))
			continue
		}
		out.Tools = append(out.Tools, doc)
	}
	return out, nil
}

// several joins the names of a call and drops duplicates.
func several(name string, names []string) ([]string, error) {
	if name != "" {
		names = append([]string{name}, names...)
	}
	var list []string
	for _, n := range names {
		if !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	switch {
	case len(list) == 0:
		return nil, &toolfold.Error{Code: toolfold.InvalidInput, Problems: []toolfold.Problem{{Path: "/name", Kind: toolfold.ProblemMissing}}}
	case len(list) > maxNames:
		return nil, toolfold.Errorf(toolfold.InvalidInput, "%d names given: at most %d are allowed in one call", len(list), maxNames)
	}
	return list, nil
}

func nameError(name string, err *toolfold.Error) NameError {
	message := err.Message
	if err.Hint != "" {
		message += "; " + err.Hint
	}
	return NameError{Name: shorten.Quoted(name), Message: message}
}

// Load returns full definitions and lists the tools if the session allows it.
func (s *Service) Load(ctx context.Context, in LoadIn) (LoadOut, error) {
	names, err := several("", in.Names)
	if err != nil {
		return LoadOut{}, err
	}
	out := LoadOut{Loaded: []string{}, Definitions: []json.RawMessage{}}
	for _, name := range names {
		loaded, err := s.discovery.Load(ctx, name)
		if err != nil {
			out.Errors = append(out.Errors, nameError(name, err))
			continue
		}
		for _, definition := range loaded {
			if !slices.Contains(out.Loaded, definition.Name) {
				out.Loaded = append(out.Loaded, definition.Name)
				out.Definitions = append(out.Definitions, ordered.MustJSON(definition))
			}
		}
	}
	tools := s.discovery.Active(ctx).Listed
	out.Listed = len(out.Loaded) > 0 && !slices.ContainsFunc(out.Loaded, func(name string) bool { return !slices.Contains(tools, name) })
	out.Note = s.discovery.Note(ctx, out.Loaded)
	return out, nil
}

// Active describes the list of this session.
func (s *Service) Active(ctx context.Context, _ ActiveIn) (Active, error) {
	return s.discovery.Active(ctx), nil
}

// List describes all tools, a line each.
func (s *Service) List(ctx context.Context, in ListIn) (ListOut, error) {
	out := ListOut{Tools: []Row{}}
	var categories []string
	reasons := map[string]string{} // name of the first tool with each reason
	view := s.discovery.View(ctx)
	rows := append(view.Rows(), s.absent(ctx, view)...)
	for _, r := range rows {
		if !slices.Contains(categories, string(r.Category)) {
			categories = append(categories, string(r.Category))
		}
		if in.Category != "" && in.Category != string(r.Category) || !r.Enabled && !in.IncludeDisabled && !r.Absent {
			continue
		}
		if !in.IncludeDisabled {
			r.Refused = nil
		}
		switch first := reasons[r.Reason]; {
		case r.Reason == "" || !r.Enabled:
		case first != "": // all tools of a server have the same reason
			r.Reason = "see " + first
		default:
			reasons[r.Reason] = r.Name
		}
		out.Tools = append(out.Tools, r)
	}
	if in.Category != "" && !slices.Contains(categories, in.Category) {
		return ListOut{}, &toolfold.Error{Code: toolfold.InvalidInput, Problems: []toolfold.Problem{{
			Path: "/category", Kind: toolfold.ProblemEnum, Got: shorten.Quoted(in.Category),
			Allowed: categories, Suggest: suggest.Nearest(in.Category, categories),
		}}}
	}
	out.Total = len(out.Tools)
	return out, nil
}

// forgotten is the hint for an answer that is not stored.
const forgotten = "the process that gave an answer keeps it for at most an hour. Repeat calls that only read, " +
	"with include_fields for less; do not repeat a change: read its result"

// Rest returns the whole of an answer that was cut.
func (s *Service) Rest(ctx context.Context, in RestIn) (RestOut, error) {
	answer, ok, err := s.discovery.StoredRest(ctx, in.ID)
	if err != nil {
		return RestOut{}, err
	}
	if !ok {
		return RestOut{Hint: forgotten}, nil
	}
	return RestOut{Found: true, Answer: answer}, nil
}
