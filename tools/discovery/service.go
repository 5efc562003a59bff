package discovery

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/internal/suggest"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/tools"
)

// maxNames is how many names one call may describe or load.
const maxNames = 50

// Service runs the discovery actions on a surface.
type Service struct {
	discovery *lazy.Discovery
}

// New returns the service of a surface.
func New(d *lazy.Discovery) *Service { return &Service{d} }

// Find returns ranked actions with how to call them.
func (s *Service) Find(_ context.Context, in FindIn) (FindOut, error) {
	out := FindOut{Results: s.discovery.Find(in.Query, in.Limit)}
	if len(out.Results) == 0 {
		out.Hint = "nothing matches; say in plain words what you want to do, or see the action list"
	}
	return out, nil
}

// Describe returns the accounts of one or several names.
func (s *Service) Describe(_ context.Context, in DescribeIn) (DescribeOut, error) {
	if in.Name != "" && len(in.Names) == 0 {
		doc, err := s.discovery.Describe(in.Name, in.IncludeExamples)
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
		doc, err := s.discovery.Describe(name, in.IncludeExamples)
		if err != nil {
			out.Errors = append(out.Errors, nameError(name, err))
			continue
		}
		out.Tools = append(out.Tools, doc)
	}
	return out, nil
}

// several puts the names of a call together, each once.
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
		return nil, &tools.Error{Code: tools.InvalidInput, Problems: []tools.Problem{{Path: "/name", Kind: tools.ProblemMissing}}}
	case len(list) > maxNames:
		return nil, tools.Errorf(tools.InvalidInput, "%d names are too many: at most %d a call", len(list), maxNames)
	}
	return list, nil
}

func nameError(name string, err *tools.Error) NameError {
	message := err.Message
	if err.Hint != "" {
		message += "; " + err.Hint
	}
	return NameError{Name: tools.Shorten(name), Message: message}
}

// Load returns whole definitions and lists them where the session allows it.
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
	out.Listed = s.discovery.Lists(ctx, out.Loaded)
	out.Note = note(out.Listed)
	return out, nil
}

func note(listed bool) string {
	if listed {
		return "call them by their names"
	}
	return "the list does not change: call them by their names all the same, or with the action call"
}

// Active tells what this session sees.
func (s *Service) Active(ctx context.Context, _ ActiveIn) (ActiveOut, error) {
	a := s.discovery.Active(ctx)
	return ActiveOut{Level: a.Level, Listed: a.Listed, Loaded: a.Loaded, Cache: a.Cache}, nil
}

// List accounts for all tools, a line each.
func (s *Service) List(_ context.Context, in ListIn) (ListOut, error) {
	out := ListOut{Tools: []Row{}}
	var categories []string
	for _, r := range s.discovery.Rows() {
		if !slices.Contains(categories, string(r.Category)) {
			categories = append(categories, string(r.Category))
		}
		if in.Category != "" && in.Category != string(r.Category) || r.Reason != "" && !in.IncludeDisabled {
			continue
		}
		out.Tools = append(out.Tools, Row{r.Name, r.Summary, r.Category, r.Reason == "", r.Reason})
	}
	if in.Category != "" && !slices.Contains(categories, in.Category) {
		return ListOut{}, unknownCategory(in.Category, categories)
	}
	out.Total = len(out.Tools)
	return out, nil
}

func unknownCategory(name string, known []string) error {
	return &tools.Error{Code: tools.InvalidInput, Problems: []tools.Problem{{
		Path: "/category", Kind: tools.ProblemEnum, Got: tools.Shorten(name),
		Allowed: known, Suggest: suggest.Nearest(name, known),
	}}}
}

// Call stands for another call.
func (s *Service) Call(_ context.Context, in CallIn) (tools.Forward, error) {
	return tools.Forward{Name: in.Name, Arguments: in.Arguments}, nil
}
