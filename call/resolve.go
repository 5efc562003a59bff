package call

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// Resolver finds the action that a call means. It is immutable and safe for
// concurrent use.
type Resolver struct {
	tools  map[string]*actionTool       // tools with an action argument
	single map[string]*target           // names that mean one action
	shared map[string][]string          // names of several actions: the full names of these
	names  []string                     // all names, for suggestions
	home   map[*toolfold.Action]*target // the first way to call an action

	senses func() senses // of the actions of other servers

	// refuse returns the error for a name without a permitted action; nil if the name is unknown.
	refuse func(name string, args *arguments) *toolfold.Error

	// absent returns the servers that have no tools now, with the reason. withheld returns the
	// error for a tool that is not available now. Both are nil if the caller must not know.
	absent   func() map[string]string
	withheld func(name string) *toolfold.Error

	off func(name string) *toolfold.Error // nil = nothing is switched off
}

// Without returns a resolver that answers names of disabled things with the error that off returns.
// off returns nil for all other names.
func (r *Resolver) Without(off func(name string) *toolfold.Error) *Resolver {
	other := *r
	other.off = off
	return &other
}

// WithAbsent returns a resolver that explains unknown names which begin with the name of a server
// without tools. absent returns these servers with the reason. withheld returns the error for the
// name of a tool that is not available now, and nil for all other names.
func (r *Resolver) WithAbsent(absent func() map[string]string, withheld func(name string) *toolfold.Error) *Resolver {
	other := *r
	other.absent, other.withheld = absent, withheld
	return &other
}

// maxReason limits the reason why a server has no tools, in characters.
const maxReason = 430

// Absence returns the error for the name of a tool that is not available now, of a tool of a server
// without tools, or of something that is switched off. It returns nil for other names.
func (r *Resolver) Absence(name string) *toolfold.Error {
	return cmp.Or(r.absentError(name), r.switchedOff(name))
}

func (r *Resolver) absentError(name string) *toolfold.Error {
	if r.withheld != nil {
		if err := r.withheld(name); err != nil {
			return err
		}
	}
	server, why := r.absence(name)
	if server == "" || r.Lookup(server) != nil {
		return nil
	}
	err := entry.Unknown(name)
	err.Code = toolfold.UpstreamError
	err.Message += ": " + why
	return err.WithHint("tools.list shows %s and the reason until it offers tools", server)
}

// switchedOff returns the error for the name of something that is switched off; nil for other
// names.
func (r *Resolver) switchedOff(name string) *toolfold.Error {
	if r.off == nil {
		return nil
	}
	return r.off(name)
}

// absence returns the server without tools whose name begins an unknown name, and why it has no
// tools. Both are empty if there is no such server.
func (r *Resolver) absence(name string) (server, why string) {
	if r.absent == nil {
		return "", ""
	}
	reasons := r.absent()
	words, longest := nameWords(name), 0
	for _, other := range slices.Sorted(maps.Keys(reasons)) {
		own := nameWords(other)
		if len(own) > longest && len(own) <= len(words) && slices.Equal(words[:len(own)], own) {
			server, longest = other, len(own)
		}
	}
	if server == "" {
		return "", ""
	}
	return server, fmt.Sprintf("the server %s offers no tools now: %s", server, shorten.To(reasons[server], maxReason))
}

// WithReasons returns a resolver that answers names of all which it lacks as not permitted, with the
// reason from why. why returns an empty text for permitted actions.
func (r *Resolver) WithReasons(all func() *Resolver, why func(*toolfold.Action) string) *Resolver {
	other := *r
	other.refuse = func(name string, args *arguments) *toolfold.Error {
		refused := ""
		a := all().action(name, args)
		if f := all().tools[name]; a == nil && f != nil && r.tools[name] == nil {
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

// Silent returns a resolver that answers unknown names as not permitted, whether or not all has
// such an action. Names that mean an action which allows accepts still get a helpful error. title
// names the caller's offer; may be empty.
func (r *Resolver) Silent(all func() *Resolver, allows func(*toolfold.Action) bool, title string) *Resolver {
	if title != "" {
		title = ": only " + title + " is served to this caller"
	}
	other := *r
	other.refuse = func(name string, args *arguments) *toolfold.Error {
		if a := all().action(name, args); a != nil {
			if allows(a) {
				return nil
			}
		} else if r.switchedOff(name) != nil {
			return nil
		} else if f, _ := r.family(name); f == nil {
			if near := r.Nearest(name); near != "" && near == all().Nearest(name) {
				return nil
			}
		}
		return toolfold.Errorf(toolfold.PermissionDenied, "%s is not permitted%s", shorten.Quoted(name), title).
			WithHint("only the user can permit it")
	}
	return &other
}

func (r *Resolver) notPermitted(name string, args *arguments) *toolfold.Error {
	if r.refuse == nil {
		return nil
	}
	return r.refuse(name, args)
}

// action returns the action that a name probably means, or nil.
func (r *Resolver) action(name string, args *arguments) *toolfold.Action {
	if t := r.single[name]; t != nil {
		return t.Action
	}
	f, verb := r.tools[name], ""
	if f == nil {
		f, verb = r.family(name)
	} else {
		verb, _ = args.values[callctx.ArgAction].(string)
	}
	if f == nil {
		return nil
	}
	a, _ := actionFor(f.family.Actions, verb, args.values)
	return a
}

// actionTool is a tool with an action argument.
type actionTool struct {
	tool    string
	family  *toolfold.Family
	actions []string           // in order
	targets map[string]*target // by action

	// params returns the names of the parameters of all actions.
	params func() map[string]bool
}

func (f *actionTool) union() map[string]bool {
	names := map[string]bool{}
	for _, t := range f.targets {
		for _, p := range t.Params() {
			names[p.Name] = true
		}
	}
	return names
}

// NewResolver returns a resolver for entries. If two entries have the same name, the first wins: a
// legacy name wins over an equal full name. A tool with an action argument wins over both. Errors
// refer to the first entry of an action.
func NewResolver(entries []*entry.Entry) *Resolver {
	r := &Resolver{
		tools: map[string]*actionTool{}, home: map[*toolfold.Action]*target{}, single: map[string]*target{}, shared: map[string][]string{},
	}
	for _, e := range entries {
		t := &target{Entry: e}
		if e.Selector != "" {
			f, known := r.tools[e.Tool]
			if !known {
				f = &actionTool{tool: e.Tool, family: e.Action.Family, targets: map[string]*target{}}
				f.params = sync.OnceValue(f.union)
				r.tools[e.Tool] = f
				r.names = append(r.names, e.Tool)
			}
			t.tool = f
			if f.targets[e.Selector] == nil {
				f.targets[e.Selector] = t
				f.actions = append(f.actions, e.Selector)
			}
		} else if before, taken := r.single[e.Tool]; taken {
			r.share(before, e)
		} else if r.shared[e.Tool] == nil {
			r.single[e.Tool] = t
			r.names = append(r.names, e.Tool)
		} else {
			r.shared[e.Tool] = append(r.shared[e.Tool], fullName(e.Action))
		}
		if r.home[e.Action] == nil {
			r.home[e.Action] = t
		}
	}
	r.senses = sync.OnceValue(func() senses { return sensesOf(r) })
	return r
}

// share makes a name of two actions ambiguous, unless it is one of our own names: the order of
// entries of other servers does not show which one is meant.
func (r *Resolver) share(before *target, e *entry.Entry) {
	if before.Action == e.Action || r.home[before.Action] == before || !hasForeignName(before.Entry) || !hasForeignName(e) {
		return
	}
	delete(r.single, e.Tool)
	r.shared[e.Tool] = []string{fullName(before.Action), fullName(e.Action)}
}

// hasForeignName reports whether the name of an entry comes from a tool declared elsewhere: its own
// name or family_action.
func hasForeignName(e *entry.Entry) bool {
	return e.Action.Input != nil && e.Tool != e.Action.FullName()
}

// fullName returns the unique name of an action. For a tool declared elsewhere this is its first
// alias, which includes the name of its server.
func fullName(a *toolfold.Action) string {
	if len(a.Aliases) > 0 {
		return a.Aliases[0]
	}
	return a.FullName()
}

// FullNames returns entries for family.action, family_action and aliases.
func FullNames(families []*toolfold.Family) []*entry.Entry {
	var list []*entry.Entry
	for _, f := range families {
		for _, a := range f.Actions {
			list = append(list, entry.New(a, a.FullName()), entry.New(a, f.Name+"_"+a.Name))
		}
	}
	for _, f := range families { // after all of these names
		for _, a := range f.Actions {
			for _, alias := range a.Aliases {
				list = append(list, entry.New(a, alias))
			}
		}
	}
	return list
}

// resolve looks up a call of name with args. It unfolds the params of args, unless the action has a
// parameter params, and removes the action argument of a consolidated tool.
func (r *Resolver) resolve(name string, args *arguments) (*target, *toolfold.Error) {
	if f, ok := r.tools[name]; ok {
		return r.pick(f, args)
	}
	if t, ok := r.single[name]; ok {
		if action, _ := args.values[callctx.ArgAction].(string); t.Action.Definition != nil && !t.Takes(callctx.ArgAction) && action != "" {
			if target, ok := r.sense(t.Action.Family.Category, action); ok && target.Action != t.Action {
				return nil, target.elsewhere(name, action) // it is unclear which of the two is meant
			}
		}
		if !t.Takes(callctx.ArgParams) {
			args.unfold()
		}
		return t, nil
	}
	if names := r.shared[name]; names != nil {
		return nil, toolfold.Errorf(toolfold.UnknownTool, "%q is a tool of several servers: call %s",
			shorten.Quoted(name), strings.Join(names[:min(len(names), maxAllowed)], " or "))
	}
	if err := r.absentError(name); err != nil {
		return nil, err
	}
	if err := r.switchedOff(name); err != nil {
		return nil, cmp.Or(r.notPermitted(name, args), err)
	}
	if _, selects := args.values[callctx.ArgAction]; !selects {
		if target, ok := r.anySense(name); ok {
			return target.redirect("", name, args)
		}
	}
	if f, verb := r.family(name); f != nil {
		args.unfold()
		if action, _ := args.values[callctx.ArgAction].(string); r.target(f, action) != nil {
			verb = action // the caller's choice wins over the tool's name
		}
		err := r.noAction(name, f, verb, args)
		if _, why := r.absence(name); why != "" { // for a server that is called like a tool
			err.Hint = why
		}
		return nil, err
	}
	if err := r.notPermitted(name, args); err != nil {
		return nil, err
	}
	err := entry.Unknown(name)
	near := r.Nearest(name)
	if near == "" {
		return nil, err.WithHint("call one of the listed tools")
	}
	err.Message += fmt.Sprintf(", did you mean %q?", near)
	if e := r.Lookup(near); len(e) == 1 {
		err.Usage, err.Example = e[0].Usage(entry.DetailTypes), e[0].Example()
	}
	return nil, err
}

// family splits a name such as memory_save, memory.save, save_memory or createTask if it begins or
// ends with a tool that has an action argument.
func (r *Resolver) family(name string) (f *actionTool, verb string) {
	words := nameWords(name)
	longest := 0 // words of the tool's name
	for _, tool := range r.names {
		own := nameWords(tool)
		if r.tools[tool] == nil || len(own) >= len(words) || len(own) <= longest {
			continue
		}
		same := func(part []string) bool {
			return slices.EqualFunc(part, own, func(a, b string) bool { return english.Singular(a) == english.Singular(b) })
		}
		rest := len(words) - len(own)
		switch {
		case same(words[:len(own)]):
			f, verb, longest = r.tools[tool], strings.Join(words[len(own):], "_"), len(own)
		case same(words[rest:]):
			f, verb, longest = r.tools[tool], strings.Join(words[:rest], "_"), len(own)
		}
	}
	return f, verb
}

// noAction returns the error for a name that consists of a tool's name and a verb.
func (r *Resolver) noAction(name string, f *actionTool, verb string, args *arguments) *toolfold.Error {
	if err := r.notPermitted(name, args); err != nil {
		return err
	}
	problem := toolfold.Problem{Path: "/" + callctx.ArgAction, Kind: toolfold.ProblemEnum, Got: shorten.Quoted(verb), Allowed: f.actions,
		Suggest: f.nearest(verb, args)}
	err := &toolfold.Error{Code: toolfold.UnknownTool}
	if verb != problem.Suggest {
		err.Problems = []toolfold.Problem{problem}
	}
	err.Message = fmt.Sprintf("there is no tool %q: call %s with one of its actions", shorten.Quoted(name), f.tool)
	if t := r.home[f.family.Action(problem.Suggest)]; t != nil {
		err.Message = fmt.Sprintf("there is no tool %q: call %s", shorten.Quoted(name), t.Tool)
		if t.Selector != "" {
			err.Message += fmt.Sprintf(" with action %q", t.Selector)
		}
		t.explain(err)
	}
	return err
}

// Lookup returns the entries of a name, independent of a call: all actions of a consolidated tool,
// or one entry. Nil = the name is unknown.
func (r *Resolver) Lookup(name string) []*entry.Entry {
	if f, ok := r.tools[name]; ok {
		list := make([]*entry.Entry, len(f.actions))
		for i, action := range f.actions {
			list[i] = f.targets[action].Entry
		}
		return list
	}
	if t, ok := r.single[name]; ok {
		return []*entry.Entry{t.Entry}
	}
	return nil
}

// Actions lists the actions behind the names, each once.
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

// Nearest returns the accepted name closest to name; empty if there is no similar name.
func (r *Resolver) Nearest(name string) string {
	return suggest.Nearest(name, r.names)
}

// target returns the way to call an action of the family of f: by f, or by the family's other tool.
// Nil if no tool with an action argument has it.
func (r *Resolver) target(f *actionTool, action string) *target {
	if t := f.targets[action]; t != nil {
		return t
	}
	if t := r.home[f.family.Action(action)]; t != nil && t.tool != nil {
		return t
	}
	return nil
}

// apart returns the separate tool of an action of the family of f; nil for other actions.
func (r *Resolver) apart(f *actionTool, action string) *target {
	if a := f.family.Action(action); a != nil && a.Apart {
		return r.single[entry.Select(a).Tool]
	}
	return nil
}

// pick finds the action that args name, inside or outside params. A tool that writes also accepts
// the reading actions of its family. A tool that only reads accepts no other actions, because hosts
// may allow it for that reason.
func (r *Resolver) pick(f *actionTool, args *arguments) (*target, *toolfold.Error) {
	name, isText := args.values[callctx.ArgAction].(string)
	t := r.target(f, name)
	var value any
	found := false
	if t != nil && t.Takes(callctx.ArgAction) { // a member action in params is then a parameter
		value, found = args.take(callctx.ArgAction)
	}
	if t == nil || t.wraps(args) {
		args.unfold()
	}
	if !found {
		value, found = args.take(callctx.ArgAction)
		name, isText = value.(string)
		t = r.target(f, name)
	}
	if t != nil && (t.Tool == f.tool || t.Action.Effect == toolfold.Reads) {
		return t, nil
	}
	if apart := r.apart(f, name); apart != nil {
		err := &toolfold.Error{
			Code: toolfold.InvalidAction, Message: fmt.Sprintf("%s only reads: %s is the tool %s", f.tool, name, apart.Tool),
			Problems: []toolfold.Problem{{Path: "/" + callctx.ArgAction, Kind: toolfold.ProblemStray, BelongsTo: []string{apart.Tool}}},
		}
		apart.explain(err)
		return nil, err
	}
	if t == nil && isText {
		if target, ok := r.sense(f.family.Category, name); ok {
			return target.redirect(f.tool, name, args)
		}
		if err := r.notPermitted(f.tool+"."+name, args); err != nil {
			return nil, err
		}
		if r.withheld != nil {
			if err := r.withheld(f.tool + "." + name); err != nil {
				return nil, err
			}
		}
		if err := r.switchedOff(f.tool + "." + name); err != nil {
			return nil, err
		}
	}
	problem := toolfold.Problem{Path: "/" + callctx.ArgAction, Allowed: f.actions}
	switch {
	case t != nil:
		problem.Kind, problem.Allowed, problem.BelongsTo = toolfold.ProblemStray, nil, []string{t.Tool}
		err := &toolfold.Error{
			Code:     toolfold.InvalidAction,
			Message:  fmt.Sprintf("%s only reads: %s is an action of %s", f.tool, name, t.Tool),
			Problems: []toolfold.Problem{problem},
		}
		t.explain(err)
		return nil, err
	case !found || value == nil:
		problem.Kind, problem.Suggest = toolfold.ProblemMissing, f.guess(args)
	case !isText:
		problem.Kind, problem.Want, problem.Got = toolfold.ProblemType, "string", jsonx.TypeName(value)
		problem.Suggest = f.guess(args)
		if list, ok := value.([]any); ok && len(list) == 1 {
			if inside, ok := list[0].(string); ok {
				problem.Suggest = f.nearest(inside, args)
			}
		}
	default:
		problem.Kind, problem.Got = toolfold.ProblemEnum, shorten.Quoted(name)
		problem.Suggest = f.nearest(name, args)
	}
	if args.fromParams[callctx.ArgAction] {
		problem.Path = "/" + callctx.ArgParams + problem.Path
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
		t.explain(err)
	}
	return nil, err
}

// wraps reports whether params contains the parameters of a call, and is not a parameter itself. If
// the action has a parameter params, it must be the only argument and contain only parameters of
// the action, or another params.
func (t *target) wraps(args *arguments) bool {
	if !t.Takes(callctx.ArgParams) {
		return true
	}
	inner := args.params
	if text, is := args.values[callctx.ArgParams].(string); is {
		inner, _ = parseArguments([]byte(text))
	}
	if inner == nil || len(inner.values) == 0 {
		return false
	}
	for name := range args.values {
		if name != callctx.ArgAction && name != callctx.ArgParams && name != callctx.ArgFields && name != callctx.ArgJQ {
			return false
		}
	}
	if _, has := inner.values[callctx.ArgParams]; has {
		return true
	}
	for name := range inner.values {
		if name != callctx.ArgFields && name != callctx.ArgJQ && !t.Takes(name) {
			return false
		}
	}
	return true
}

// nearest returns the action that a name means, or else the best guess. It is empty if the name is
// a verb for something that the family does not do.
func (f *actionTool) nearest(name string, args *arguments) string {
	a, known := actionFor(f.family.Actions, name, args.values)
	switch {
	case a != nil:
		return a.Name
	case known:
		return ""
	}
	return f.guess(args)
}

// guess returns the action that fits the given arguments best: all its required parameters are
// given, and it takes the most arguments. Ties go to actions that only read, then to the action
// with the fewest parameters, without limit and cursor. If no action fits, it is the first of the
// family. An action that deletes is returned only if all actions of the family delete.
func (f *actionTool) guess(args *arguments) string {
	best, matching, fewest := f.family.Actions[0], -1, 0
	for _, a := range f.family.Actions {
		if a.Effect == toolfold.Deletes {
			continue
		}
		if best.Effect == toolfold.Deletes {
			best = a
		}
		if lacks(a, args.values) > 0 {
			continue
		}
		known := 0
		params := slices.DeleteFunc(a.Params(), func(p toolfold.Param) bool {
			return p.Name == callctx.ArgLimit || p.Name == toolfold.Cursor.Name
		})
		for _, p := range params {
			if _, present := args.values[p.Name]; present {
				known++
			}
		}
		reads, bestReads := a.Effect == toolfold.Reads, best.Effect == toolfold.Reads
		if known > matching || known == matching && (reads && !bestReads || reads == bestReads && len(params) < fewest) {
			best, matching, fewest = a, known, len(params)
		}
	}
	return best.Name
}
