package call

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/suggest"
)

// Resolver finds the action that a call means. It is immutable and safe for
// concurrent use.
type Resolver struct {
	folded map[string]*folded          // tools with an action argument
	home   map[*toolfold.Action]string // the first of these that takes an action
	single map[string]*target          // names that lead to one action by themselves
	names  []string                    // all of them, for suggestions
}

// folded is a tool with an action argument.
type folded struct {
	tool    string
	family  *toolfold.Family
	actions []string           // that it takes, in order
	targets map[string]*target // by action

	// params returns the names of the parameters that the actions have together.
	params func() map[string]bool
}

func (f *folded) union() map[string]bool {
	names := map[string]bool{}
	for _, t := range f.targets {
		for _, p := range t.Params() {
			names[p.Name] = true
		}
	}
	return names
}

// NewResolver accepts the names of the entries. Where two entries have the
// same name the first counts: a legacy name goes before a full name that is
// spelt alike. A tool with an action argument goes before both.
func NewResolver(entries []*toolfold.Entry) *Resolver {
	r := &Resolver{folded: map[string]*folded{}, home: map[*toolfold.Action]string{}, single: map[string]*target{}}
	for _, e := range entries {
		if e.Selector != "" {
			f, known := r.folded[e.Tool]
			if !known {
				f = &folded{tool: e.Tool, family: e.Action.Family, targets: map[string]*target{}}
				f.params = sync.OnceValue(f.union)
				r.folded[e.Tool] = f
				r.names = append(r.names, e.Tool)
			}
			if f.targets[e.Selector] == nil {
				f.targets[e.Selector] = &target{Entry: e, tool: f}
				f.actions = append(f.actions, e.Selector)
			}
			if r.home[e.Action] == "" {
				r.home[e.Action] = e.Tool
			}
		} else if _, taken := r.single[e.Tool]; !taken {
			r.single[e.Tool] = &target{Entry: e}
			r.names = append(r.names, e.Tool)
		}
	}
	return r
}

// FullNames returns entries for family.action and family_action.
func FullNames(families []*toolfold.Family) []*toolfold.Entry {
	var list []*toolfold.Entry
	for _, f := range families {
		for _, a := range f.Actions {
			list = append(list, toolfold.NewEntry(a, a.FullName()), toolfold.NewEntry(a, f.Name+"_"+a.Name))
		}
	}
	return list
}

// resolve finds what a call of name with args means. It unfolds the params of
// args, unless the action has a parameter of that name, and takes the action
// argument of a consolidated tool out.
func (r *Resolver) resolve(name string, args *arguments) (*target, *toolfold.Error) {
	if f, ok := r.folded[name]; ok {
		return r.pick(f, args)
	}
	if t, ok := r.single[name]; ok {
		if !t.Takes(toolfold.ParamsParam) {
			args.unfold()
		}
		return t, nil
	}
	err := toolfold.UnknownName(name)
	near := r.Nearest(name)
	if near == "" {
		return nil, err.WithHint("call one of the listed tools")
	}
	err.Message += fmt.Sprintf(", did you mean %q?", near)
	if e := r.Lookup(near); len(e) == 1 {
		err.Usage, err.Example = e[0].Usage(toolfold.DetailTypes), e[0].Example()
	}
	return nil, err
}

// Lookup returns the entries that a name stands for, without a call: all
// actions of a consolidated tool, else the one. Nil means there is no such
// name.
func (r *Resolver) Lookup(name string) []*toolfold.Entry {
	if f, ok := r.folded[name]; ok {
		list := make([]*toolfold.Entry, len(f.actions))
		for i, action := range f.actions {
			list[i] = f.targets[action].Entry
		}
		return list
	}
	if t, ok := r.single[name]; ok {
		return []*toolfold.Entry{t.Entry}
	}
	return nil
}

// Actions lists the actions that the names lead to, each once.
func (r *Resolver) Actions() []*toolfold.Action {
	var list []*toolfold.Action
	known := map[*toolfold.Action]bool{}
	for _, name := range r.names {
		for _, e := range r.Lookup(name) {
			if !known[e.Action] {
				known[e.Action] = true
				list = append(list, e.Action)
			}
		}
	}
	return list
}

// Nearest returns the accepted name closest to name, empty when none is near.
func (r *Resolver) Nearest(name string) string {
	return suggest.Nearest(name, r.names)
}

// target returns the way to call an action of the family of f, by f or else by
// the other tool that the family is split into; nil when there is no such action.
func (r *Resolver) target(f *folded, action string) *target {
	if t := f.targets[action]; t != nil {
		return t
	}
	if a := f.family.Action(action); a != nil && r.home[a] != "" {
		return r.folded[r.home[a]].targets[action]
	}
	return nil
}

// pick finds the action that args name, beside params or in it. A tool that does
// more than read takes the actions of its family that read too; one that only
// reads does not do more, because hosts let it pass for that.
func (r *Resolver) pick(f *folded, args *arguments) (*target, *toolfold.Error) {
	name, _ := args.values[toolfold.ActionParam].(string)
	if t := r.target(f, name); t == nil || !t.Takes(toolfold.ParamsParam) {
		args.unfold()
	}
	value, given := args.take(toolfold.ActionParam)
	name, isText := value.(string)
	t := r.target(f, name)
	if t != nil && (t.Tool == f.tool || t.Action.Effect == toolfold.Reads) {
		return t, nil
	}
	problem := toolfold.Problem{Path: "/" + toolfold.ActionParam, Allowed: f.actions}
	switch {
	case t != nil:
		problem.Kind, problem.Allowed, problem.BelongsTo = toolfold.ProblemStray, nil, []string{t.Tool}
		err := &toolfold.Error{
			Code:     toolfold.InvalidAction,
			Message:  fmt.Sprintf("%s only reads: %s is an action of %s", f.tool, name, t.Tool),
			Problems: []toolfold.Problem{problem},
		}
		explain(t.Entry, err)
		return nil, err
	case !given || value == nil:
		problem.Kind, problem.Suggest = toolfold.ProblemMissing, f.guess(args)
	case !isText:
		problem.Kind, problem.Want, problem.Got = toolfold.ProblemType, "string", toolfold.TypeName(value)
		problem.Suggest = f.guess(args)
	default:
		problem.Kind, problem.Got = toolfold.ProblemEnum, toolfold.Shorten(name)
		problem.Suggest = f.nearest(name, args)
	}
	if args.moved[toolfold.ActionParam] {
		problem.Path = "/" + toolfold.ParamsParam + problem.Path
	}
	err := &toolfold.Error{
		Code:     toolfold.InvalidAction,
		Message:  f.tool + ": " + problem.Text(),
		Problems: []toolfold.Problem{problem},
	}
	if t := r.target(f, problem.Suggest); t != nil {
		if t.Tool != f.tool {
			err.Message += fmt.Sprintf(" (%s is an action of %s)", problem.Suggest, t.Tool)
		}
		explain(t.Entry, err)
	}
	return nil, err
}

// nearest returns the action that a misspelt name means: one of today's names, one of
// the legacy ones without the family in front, or what the arguments fit.
func (f *folded) nearest(name string, args *arguments) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, f.family.Name+"_"), f.family.Name+".")
	meant := map[string]string{}
	var candidates []string
	for _, a := range f.family.Actions {
		meant[a.Name] = a.Name
		candidates = append(candidates, a.Name)
	}
	for _, a := range f.family.Actions {
		for _, old := range a.Legacy {
			short := strings.TrimPrefix(old.Name, f.family.Name+"_")
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

// guess returns the action that the given arguments fit best: all its required
// parameters are there and it takes the most of the others. Among equals one
// that only reads goes first, then one that could take the least besides.
func (f *folded) guess(args *arguments) string {
	best, most, fewest := f.family.Actions[0], -1, 0
	for _, a := range f.family.Actions {
		if slices.ContainsFunc(a.Required.Params(), func(p toolfold.Param) bool { _, given := args.values[p.Name]; return !given }) {
			continue
		}
		known := 0
		params := a.Params()
		for _, p := range params {
			if _, given := args.values[p.Name]; given {
				known++
			}
		}
		reads, bestReads := a.Effect == toolfold.Reads, best.Effect == toolfold.Reads
		if known > most || known == most && (reads && !bestReads || reads == bestReads && len(params) < fewest) {
			best, most, fewest = a, known, len(params)
		}
	}
	return best.Name
}
