package consolidate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/suggest"
	"github.com/toolfold/toolfold/tools"
)

// Names says which names a [Resolver] accepts.
type Names int

// The sets of names.
const (
	AllNames          Names = iota // consolidated, legacy, family.action and family_action
	ConsolidatedNames              // consolidated tools only
	LegacyNames                    // legacy tools only
)

// Resolver finds the entry that a call means. It is immutable and safe for
// concurrent use.
type Resolver struct {
	families map[string]*family      // consolidated tools
	single   map[string]*tools.Entry // names that lead to one action by themselves
	names    []string                // all of them, for suggestions
}

type family struct {
	spec    *tools.Spec
	entries map[string]*tools.Entry // by action
}

// NewResolver accepts the given names of the families.
func NewResolver(specs []*tools.Spec, accept Names) *Resolver {
	r := &Resolver{families: map[string]*family{}, single: map[string]*tools.Entry{}}
	for _, s := range specs {
		if accept != LegacyNames {
			r.addFamily(s)
		}
		for _, a := range s.Actions {
			r.addAction(a, accept)
		}
	}
	return r
}

func (r *Resolver) addFamily(s *tools.Spec) {
	r.names = append(r.names, s.Name)
	if s.Bare {
		r.single[s.Name] = tools.Consolidated(s.Actions[0])
		return
	}
	f := &family{spec: s, entries: map[string]*tools.Entry{}}
	for _, a := range s.Actions {
		f.entries[a.Name] = tools.Consolidated(a)
	}
	r.families[s.Name] = f
}

// addAction adds the names that an action has besides its family's. Legacy
// names come first: where family_action is one, it keeps its old spelling.
func (r *Resolver) addAction(a *tools.ActionSpec, accept Names) {
	if accept != ConsolidatedNames {
		for _, old := range a.Legacy {
			r.add(tools.Legacy(a, old))
		}
	}
	if accept == AllNames {
		r.add(tools.Named(a, a.FullName()))
		r.add(tools.Named(a, a.Family.Name+"_"+a.Name))
	}
}

func (r *Resolver) add(e *tools.Entry) {
	if _, taken := r.single[e.Tool]; taken {
		return
	}
	r.single[e.Tool] = e
	r.names = append(r.names, e.Tool)
}

// Resolve finds what a call of name with args means. It takes the action
// argument of a consolidated tool out of args.
func (r *Resolver) Resolve(name string, args tools.Args) (*tools.Entry, *tools.Error) {
	if e, ok := r.single[name]; ok {
		return e, nil
	}
	if f, ok := r.families[name]; ok {
		return f.resolve(args)
	}
	return nil, r.unknown(name)
}

// Lookup finds the entries that a name stands for, without a call: all
// actions of a consolidated tool, else the one. Nil means there is no such
// name.
func (r *Resolver) Lookup(name string) []*tools.Entry {
	if e, ok := r.single[name]; ok {
		return []*tools.Entry{e}
	}
	f, ok := r.families[name]
	if !ok {
		return nil
	}
	list := make([]*tools.Entry, len(f.spec.Actions))
	for i, a := range f.spec.Actions {
		list[i] = f.entries[a.Name]
	}
	return list
}

// Nearest is the accepted name closest to name, empty when none is near.
func (r *Resolver) Nearest(name string) string {
	return suggest.Nearest(name, r.names)
}

func (r *Resolver) unknown(name string) *tools.Error {
	err := tools.UnknownName(name)
	near := r.Nearest(name)
	if near == "" {
		return err.WithHint("call one of the listed tools")
	}
	err.Message += fmt.Sprintf(", did you mean %q?", near)
	if e := r.Lookup(near); len(e) == 1 {
		err.Usage, err.Example = e[0].Usage(), e[0].Example()
	}
	return err
}

// resolve picks the action that args name.
func (f *family) resolve(args tools.Args) (*tools.Entry, *tools.Error) {
	value, given := args[tools.ActionParam]
	delete(args, tools.ActionParam)
	name, isText := value.(string)
	if e, ok := f.entries[name]; ok {
		return e, nil
	}
	problem := tools.Problem{Path: "/" + tools.ActionParam, Allowed: f.spec.ActionNames()}
	switch {
	case !given || value == nil:
		problem.Kind, problem.Suggest = tools.ProblemMissing, f.guess(args)
	case !isText:
		problem.Kind, problem.Want, problem.Got = tools.ProblemType, "string", tools.TypeName(value)
		problem.Suggest = f.guess(args)
	default:
		problem.Kind, problem.Got = tools.ProblemEnum, tools.Shorten(name)
		problem.Suggest = f.nearest(name, args)
	}
	return nil, f.refuse(problem)
}

func (f *family) refuse(p tools.Problem) *tools.Error {
	err := &tools.Error{
		Code:     tools.InvalidAction,
		Message:  f.spec.Name + ": " + p.Text(),
		Problems: []tools.Problem{p},
	}
	if e, ok := f.entries[p.Suggest]; ok {
		err.Usage, err.Example = e.Usage(), e.Example()
	}
	return err
}

// nearest is the action a misspelt name means: one of today's names, one of
// the legacy ones without the family in front, or what the arguments fit.
func (f *family) nearest(name string, args tools.Args) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, f.spec.Name+"_"), f.spec.Name+".")
	meant := map[string]string{}
	var candidates []string
	for _, a := range f.spec.Actions {
		meant[a.Name] = a.Name
		candidates = append(candidates, a.Name)
	}
	for _, a := range f.spec.Actions {
		for _, old := range a.Legacy {
			short := strings.TrimPrefix(old.Name, f.spec.Name+"_")
			if meant[short] == "" {
				meant[short] = a.Name
				candidates = append(candidates, short)
			}
		}
	}
	if near := suggest.Nearest(name, candidates); near != "" {
		return meant[near]
	}
	return f.guess(args)
}

// guess is the action that the given arguments fit best: all its required
// parameters are there and it takes the most of the others. Among equals one
// that only reads goes first, then one that could take the least besides.
func (f *family) guess(args tools.Args) string {
	best, bestKnown := f.spec.Actions[0], -1
	for _, a := range f.spec.Actions {
		known, ok := fit(a, args)
		if ok && (known > bestKnown || known == bestKnown && safer(a, best)) {
			best, bestKnown = a, known
		}
	}
	return best.Name
}

func safer(a, than *tools.ActionSpec) bool {
	if a, than := a.Effect == tools.Reads, than.Effect == tools.Reads; a != than {
		return a
	}
	return len(a.Params()) < len(than.Params())
}

// fit counts the arguments that the action knows; it is not ok where a
// required one is missing.
func fit(a *tools.ActionSpec, args tools.Args) (known int, ok bool) {
	for _, p := range a.Required {
		if _, given := args[p.Name]; !given {
			return 0, false
		}
	}
	params := a.Params()
	for name := range args {
		if slices.ContainsFunc(params, func(p tools.Param) bool { return p.Name == name }) {
			known++
		}
	}
	return known, true
}
