package call

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/jsonx"
	"github.com/toolfold/toolfold/internal/suggest"
)

// Resolver finds the action that a call means. It is immutable and safe for
// concurrent use.
type Resolver struct {
	folded map[string]*folded          // tools with an action argument
	home   map[*toolfold.Action]string // the first of these that takes an action
	single map[string]*target          // names that lead to one action by themselves
	names  []string                    // all of them, for suggestions

	// refuse words the refusal of a name that leads to no permitted action; nil
	// where the name is not known either.
	refuse func(name string, args *arguments) *toolfold.Error
}

// Explaining returns a resolver that says of a name which is left out from all
// that it is not permitted, and why: why returns the reason for an action, and
// is empty for one that is permitted.
func (r *Resolver) Explaining(all func() *Resolver, why func(*toolfold.Action) string) *Resolver {
	other := *r
	other.refuse = func(name string, args *arguments) *toolfold.Error {
		refused := ""
		a := all().action(name, args)
		if f := all().folded[name]; a == nil && f != nil && r.folded[name] == nil {
			a, refused = f.family.Actions[0], name
		}
		if a == nil || why(a) == "" {
			return nil
		}
		return toolfold.Errorf(toolfold.PermissionDenied, "%s is not permitted: %s", cmp.Or(refused, a.FullName()), why(a)).
			WithHint("only the user can permit it")
	}
	return &other
}

// Silent returns a resolver that says of every name which leads nowhere that it is
// not permitted, whether or not there is such an action.
func (r *Resolver) Silent() *Resolver {
	other := *r
	other.refuse = func(name string, args *arguments) *toolfold.Error {
		if f, _ := r.family(name); r.action(name, args) != nil || f == nil && r.Nearest(name) != "" {
			return nil
		}
		return toolfold.Errorf(toolfold.PermissionDenied, "%s is not permitted", toolfold.Shorten(name)).WithHint("only the user can permit it")
	}
	return &other
}

func (r *Resolver) notPermitted(name string, args *arguments) *toolfold.Error {
	if r.refuse == nil {
		return nil
	}
	return r.refuse(name, args)
}

// action returns the action that a name means, as far as can be told; nil for
// none.
func (r *Resolver) action(name string, args *arguments) *toolfold.Action {
	if t := r.single[name]; t != nil {
		return t.Action
	}
	f, verb := r.folded[name], ""
	if f == nil {
		f, verb = r.family(name)
	} else {
		verb, _ = args.values[toolfold.ActionParam].(string)
	}
	if f == nil {
		return nil
	}
	a, _ := meant(f.family.Actions, verb)
	return a
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
	if f, verb := r.family(name); f != nil {
		return nil, r.noAction(name, f, verb, args)
	}
	if err := r.notPermitted(name, args); err != nil {
		return nil, err
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

// family takes a name such as memory_save or memory.save apart where it begins
// with a tool that takes an action.
func (r *Resolver) family(name string) (f *folded, verb string) {
	for _, tool := range r.names {
		rest, begins := strings.CutPrefix(name, tool)
		if r.folded[tool] == nil || !begins || len(rest) < 2 || !strings.ContainsAny(rest[:1], "_.-/:") || f != nil && len(tool) < len(f.tool) {
			continue
		}
		f, verb = r.folded[tool], rest[1:]
	}
	return f, verb
}

// noAction is the error of a name that begins with a tool and goes on with
// what is none of its actions.
func (r *Resolver) noAction(name string, f *folded, verb string, args *arguments) *toolfold.Error {
	if err := r.notPermitted(name, args); err != nil {
		return err
	}
	problem := toolfold.Problem{Path: "/" + toolfold.ActionParam, Kind: toolfold.ProblemEnum, Got: toolfold.Shorten(verb), Allowed: f.actions,
		Suggest: f.nearest(verb, args)}
	err := &toolfold.Error{Code: toolfold.UnknownTool, Problems: []toolfold.Problem{problem}}
	err.Message = fmt.Sprintf("there is no tool %q: call %s with one of its actions", toolfold.Shorten(name), f.tool)
	if t := r.target(f, problem.Suggest); t != nil {
		err.Message = fmt.Sprintf("there is no tool %q: call %s with action %q", toolfold.Shorten(name), t.Tool, problem.Suggest)
		explain(t.Entry, err)
	}
	return err
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

// apart returns the tool of its own that an action of the family of f is; nil
// for other actions.
func (r *Resolver) apart(f *folded, action string) *target {
	if a := f.family.Action(action); a != nil && a.Apart {
		return r.single[toolfold.Select(a).Tool]
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
	if apart := r.apart(f, name); apart != nil {
		err := &toolfold.Error{
			Code: toolfold.InvalidAction, Message: fmt.Sprintf("%s only reads: %s is the tool %s", f.tool, name, apart.Tool),
			Problems: []toolfold.Problem{{Path: "/" + toolfold.ActionParam, Kind: toolfold.ProblemStray, BelongsTo: []string{apart.Tool}}},
		}
		explain(apart.Entry, err)
		return nil, err
	}
	if t == nil && isText {
		if err := r.notPermitted(f.tool+"."+name, args); err != nil {
			return nil, err
		}
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
		problem.Kind, problem.Want, problem.Got = toolfold.ProblemType, "string", jsonx.TypeName(value)
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

// nearest returns the action that a name means, or else the one that the arguments
// fit; empty where the name is a verb for what the family does not do.
func (f *folded) nearest(name string, args *arguments) string {
	a, known := meant(f.family.Actions, name)
	switch {
	case a != nil:
		return a.Name
	case known:
		return ""
	}
	return f.guess(args)
}

// guess returns the action that the given arguments fit best: all its required
// parameters are there and it takes the most of the others. Among equals one
// that only reads goes first, then one that could take the least besides. It is
// none that deletes.
func (f *folded) guess(args *arguments) string {
	best, most, fewest := f.family.Actions[0], -1, 0
	for _, a := range f.family.Actions {
		if a.Effect == toolfold.Deletes || slices.ContainsFunc(a.Required.Params(), func(p toolfold.Param) bool { _, given := args.values[p.Name]; return !given }) {
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
