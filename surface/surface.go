// Package surface puts together what one server offers: the tools of a mode at
// a listing level, and what a call of any accepted name runs.
//
// It is not a stable API: see docs/stability.md.
package surface

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/legacy"
)

// Mode decides which names tools/list shows.
type Mode string

// The modes.
const (
	Consolidated Mode = "consolidated" // one tool per family
	Legacy       Mode = "legacy"       // one tool per action, as before
)

// Modes lists the modes, the default first.
func Modes() []Mode { return []Mode{Consolidated, Legacy} }

// DefaultLevel returns the listing level of a mode when none is asked for.
// Legacy mode is there for hosts that should see what they always saw.
func (m Mode) DefaultLevel() lazy.Level {
	if m == Legacy {
		return lazy.Full
	}
	return lazy.Lazy
}

// Tools returns the tools that a surface may show. The whole legacy list stays
// as it was; discovery joins it where less is shown, because then it is needed.
func Tools(families []*toolfold.Family, o Options) []entry.Tool {
	o = o.complete()
	var list []entry.Tool
	switch {
	case o.Mode == Consolidated:
		for _, f := range families {
			list = append(list, consolidate.Tools([]*toolfold.Family{f}, o.foldOf(f))...)
		}
	case o.Level == lazy.Full && o.Tier == toolfold.Extended:
		list = legacy.Tools(slices.DeleteFunc(slices.Clone(families), func(f *toolfold.Family) bool { return f.Category == callctx.Discovery }))
	default:
		list = legacy.Tools(families)
	}
	for i, t := range list {
		list[i] = t.WithForm(o.form(t.Dispatches()))
		list[i].Typed = o.typed(t.Entries[0])
	}
	return list
}

// List returns what tools/list shows of the families.
func List(families []*toolfold.Family, o Options) []lazy.Listed {
	o = o.complete()
	return lazy.List(lazy.Within(Tools(families, o), o.Tier), o.Level)
}

// Options say what a surface shows and accepts. The zero value is the default
// surface.
type Options struct {
	Mode   Mode               // empty = Consolidated
	Level  lazy.Level         // empty = the mode's own
	Tier   toolfold.Tier      // of the tools that are listed at most; 0 = Extended, all. The others are found and called all the same
	Off    []*toolfold.Family // that are not offered; calls by a name of theirs are answered with WhyOff. Nil = none
	WhyOff string             // says why Off is not offered
	Fold   consolidate.Fold   // of the consolidated tools; empty = by family
	Params entry.Form         // of calls where a list does not declare every parameter; empty = in an object
	Strict bool               // clients may not use names that are not listed

	// FoldOthers is the fold of the tools of other servers; empty = Fold.
	FoldOthers consolidate.Fold

	// Structured lists output schemas in legacy mode too. The consolidated tools that
	// are one action have them wherever whole schemas are listed.
	Structured bool

	// ResultLimit is the most bytes of an answer to a client; 0 is
	// [callctx.DefaultRoom], negative is no limit.
	ResultLimit int

	// Meaning finds actions by what texts mean, beside their words; nil does not.
	Meaning lazy.Meaning

	Rights     *toolfold.Rights // of all callers; those of a caller narrow them. Nil is everything
	Middleware []call.Middleware
	Log        *slog.Logger // nil = the default logger
}

// complete fills in what depends on other options.
func (o Options) complete() Options {
	o.Mode = cmp.Or(o.Mode, Consolidated)
	o.Level = cmp.Or(o.Level, o.Mode.DefaultLevel())
	o.Tier = cmp.Or(o.Tier, toolfold.Extended)
	o.Fold = cmp.Or(o.Fold, consolidate.ByFamily)
	o.FoldOthers = cmp.Or(o.FoldOthers, o.Fold)
	o.Params = cmp.Or(o.Params, entry.FormObject)
	o.ResultLimit = cmp.Or(o.ResultLimit, callctx.DefaultRoom)
	o.Params = o.form(o.Mode == Consolidated)
	return o
}

// foldOf returns the fold of a family.
func (o Options) foldOf(f *toolfold.Family) consolidate.Fold {
	if f.Server != "" {
		return o.FoldOthers
	}
	return o.Fold
}

// form returns the form in which calls of tools are shown: flat where the list
// declares every parameter, as level signature does for tools of one action.
func (o Options) form(dispatches bool) entry.Form {
	if o.Level == lazy.Full || o.Level == lazy.Signature && !dispatches {
		return entry.FormFlat
	}
	return o.Params
}

// typed reports whether the tool of an entry lists an output schema: where it is one
// action whose result is declared, and whole schemas are listed. Old lists had none.
func (o Options) typed(e *entry.Entry) bool {
	return o.Level == lazy.Full && e.Selector == "" && !e.Action.OpenResult() && (o.Mode == Consolidated || o.Structured)
}

// Surface offers families to the clients of one server. Put families into it
// at any time; readers get a snapshot and are never blocked.
type Surface struct {
	Mode   Mode
	Level  lazy.Level
	Tier   toolfold.Tier
	Fold   consolidate.Fold
	Params entry.Form // in which calls are shown
	// FoldOthers is the fold of the tools of other servers.
	FoldOthers consolidate.Fold
	Discovery  *lazy.Discovery

	// Runner calls under every name, and answers in full; Client is for calls
	// of clients: it bounds answers, holds tools that are split by effect to
	// theirs, and refuses names that are not the mode's where the surface is
	// strict.
	Runner, Client *call.Runner

	options   Options
	rights    *toolfold.Rights
	off       func(name string) *toolfold.Error // the error of a name of [Options.Off]; nil for others
	snapshot  atomic.Pointer[snapshot]
	catalogue *lazy.Catalogue // of all families
	onGrow    func(context.Context)

	mu       sync.Mutex // held while the families change and watchers are called
	watchers []func()
}

// snapshot is the surface at one moment.
type snapshot struct {
	families []*toolfold.Family
	views    sync.Map // of func() *view by viewKey, or else by *toolfold.Rights
	count    atomic.Int32
}

// viewKey has what a view depends on, of the rights of a caller.
type viewKey struct {
	text string
	told bool
}

// maxViews bounds the views of a snapshot: beyond it all are made anew.
const maxViews = 256

// view is a snapshot as callers with the same rights see it.
type view struct {
	*lazy.View
	resolvers func() resolvers // made for the first call: a list needs none
}

// New returns a surface without families. It opens nothing.
func New(o Options) *Surface {
	o = o.complete()
	s := &Surface{Mode: o.Mode, Level: o.Level, Tier: o.Tier, Fold: o.Fold, FoldOthers: o.FoldOthers, Params: o.Params,
		options: o, rights: o.Rights,
		onGrow: func(context.Context) {}, catalogue: lazy.NewCatalogue(), off: switchedOff(o.Off, o.WhyOff)}
	if o.Meaning != nil {
		s.catalogue.Understand(o.Meaning)
	}
	s.snapshot.Store(&snapshot{})
	every := func(r *toolfold.Rights) *call.Resolver { return s.view(r).resolvers().every }
	s.Runner = call.New(every, o.Log, append(slices.Clone(o.Middleware), s.permissions)...)
	keep := func(ctx context.Context, answer json.RawMessage, again bool) (id, usage string) {
		return s.Discovery.Keep(ctx, answer, again)
	}
	client := func(r *toolfold.Rights) *call.Resolver { return s.view(r).resolvers().client }
	s.Client = s.Runner.Bounded(call.Bound{Bytes: o.ResultLimit, Keep: keep}).Accepting(client)
	s.Discovery = lazy.NewDiscovery(
		func(r *toolfold.Rights) *lazy.View { return s.view(r).View },
		func(ctx context.Context) { s.onGrow(ctx) },
	)
	if o.Strict {
		s.Client = s.Client.OnlyListed(s.lists)
	}
	return s
}

// Off reports whether families are switched off, see [Options.Off].
func (s *Surface) Off() bool { return len(s.options.Off) > 0 }

// lists reports whether the caller's session is listed a tool. Discovery counts as
// listed everywhere.
func (s *Surface) lists(ctx context.Context, name string) bool {
	for _, e := range s.view(toolfold.OriginOf(ctx).Rights).resolvers().client.Lookup(name) {
		if e.Action.Family.Category == callctx.Discovery {
			return true
		}
	}
	return slices.ContainsFunc(s.Discovery.List(ctx), func(l lazy.Listed) bool { return l.Name == name })
}

// permissions refuses what the surface's rights and the caller's do not include.
func (s *Surface) permissions(next call.Func) call.Func {
	checked := call.Permissions(next)
	return func(ctx context.Context, c *call.Call) toolfold.Answer {
		if c.Entry != nil && !s.rights.Allow(c.Entry.Action) {
			c.Origin.Rights = s.rights
		}
		return checked(s.rights.Restrain(ctx), c)
	}
}

// view returns the present snapshot as callers with the given rights see it.
func (s *Surface) view(r *toolfold.Rights) *view {
	now := s.snapshot.Load()
	var key any = r
	if r != nil && r.Text != "" { // rights that are read anew are the same
		key = viewKey{r.Text, r.Told}
	}
	known, ok := now.views.Load(key)
	if !ok { // many may ask at once, at the start: one of them makes it
		if known, ok = now.views.LoadOrStore(key, sync.OnceValue(func() *view { return s.newView(now, r) })); !ok && now.count.Add(1) > maxViews {
			now.views.Clear()
			now.count.Store(0)
		}
	}
	return known.(func() *view)()
}

// newView makes the view of a snapshot for callers with the given rights.
func (s *Surface) newView(now *snapshot, r *toolfold.Rights) *view {
	within := s.rights.Bounds().And(r.Bounds())
	there := within.Filter(now.families)
	families := r.Filter(s.rights.Filter(there))
	listed := Tools(families, s.options)
	var disabled []entry.Tool
	if r != nil || s.rights != nil {
		disabled = slices.DeleteFunc(Tools(there, s.options), func(t entry.Tool) bool {
			return slices.ContainsFunc(listed, func(other entry.Tool) bool { return other.Name == t.Name })
		})
	}
	v := &view{resolvers: sync.OnceValue(func() resolvers { return s.resolversOf(now, families, r) })}
	v.View = lazy.NewView(lazy.ViewOptions{Level: s.Level, Tier: s.Tier, Families: families, Catalogue: s.catalogue, Tools: listed,
		Disabled: disabled, Refused: s.refused(there, r), Within: within, Names: v, Absence: func(name string) *toolfold.Error {
			return v.resolvers().names.Absence(name)
		}})
	return v
}

// Lookup implements [entry.Names].
func (v *view) Lookup(name string) []*entry.Entry { return v.resolvers().names.Lookup(name) }

// Nearest implements [entry.Names].
func (v *view) Nearest(name string) string { return v.resolvers().names.Nearest(name) }

// resolvers find what names mean: in calls from within, in those of clients, and in what
// discovery is asked for.
type resolvers struct{ every, client, names *call.Resolver }

// resolversOf makes the resolvers of a view of families.
func (s *Surface) resolversOf(now *snapshot, families []*toolfold.Family, r *toolfold.Rights) resolvers {
	var folded, split []*entry.Entry
	for _, f := range families {
		if s.options.foldOf(f) != consolidate.ByFamily {
			folded = append(folded, consolidate.Entries(f, consolidate.ByFamily)...)
		}
		split = append(split, consolidate.Entries(f, s.options.foldOf(f))...)
	}
	old := legacy.Entries(families)
	entries := map[Mode][]*entry.Entry{Consolidated: split, Legacy: old}[s.Mode]
	for i, e := range entries { // calls of the listed tools are shown in the form of the list
		if !e.Action.Apart || e.Selector != "" {
			entries[i] = e.In(s.options.form(e.Selector != ""))
		}
	}
	resolver := func() *call.Resolver {
		list := split
		if s.options.Fold == consolidate.None { // a family is not listed, so none of its hints can be broken
			list = slices.Concat(split, folded)
		}
		return call.NewResolver(withAlso(now.families, slices.Concat(list, old, call.FullNames(families))))
	}
	all := sync.OnceValue(func() *call.Resolver { return s.options.resolverOf(now.families) })
	within, told := s.rights.Bounds().And(r.Bounds()), r == nil || r.Told
	worded := func(names *call.Resolver) *call.Resolver {
		names = names.Without(s.off)
		if !told {
			return names.Silent(all, func(a *toolfold.Action) bool { return r.Allow(a) && s.rights.Allow(a) }, r.Title)
		}
		names = names.Lacking(func() map[string]string { return s.Discovery.Absent(within) },
			func(name string) *toolfold.Error { return s.Discovery.Withheld(name, within) })
		if both := s.rights.And(r); both != nil {
			return names.Explaining(all, both.Reason)
		}
		return names
	}
	names := worded(resolver())
	by := resolvers{every: names, client: names, names: names}
	if s.options.Fold == consolidate.ByEffect { // what is written down for tasks, workflows and agents goes by either fold
		by.every = worded(call.NewResolver(withAlso(now.families, slices.Concat(split, folded, old, call.FullNames(families)))))
	}
	if s.Level == lazy.Full { // calls from within are answered as ever
		for i, e := range entries {
			typed := *e
			typed.Typed = s.options.typed(e)
			entries[i] = &typed
		}
		by.client = worded(resolver())
	}
	if s.options.Strict {
		by.client = worded(call.NewResolver(entries))
	}
	return by
}

// withAlso returns entries of families, and behind them entries for the names that the families have besides
// their own, see [toolfold.Family.Also]. All has all families of the surface, whose names go first.
func withAlso(all []*toolfold.Family, entries []*entry.Entry) []*entry.Entry {
	taken := map[string]bool{}
	for _, f := range all {
		for _, a := range f.Actions {
			taken[f.Name], taken[a.ToolByEffect()] = true, true
		}
	}
	for _, e := range entries {
		f := e.Action.Family
		rest, is := strings.CutPrefix(e.Tool, f.Name)
		if name := f.Also + rest; f.Also != "" && is && !taken[name] {
			other := *e
			other.Tool = name
			entries = append(entries, &other)
		}
	}
	return entries
}

// switchedOff returns what returns the error of a name of families that are not offered, and nil for other names.
func switchedOff(families []*toolfold.Family, why string) func(name string) *toolfold.Error {
	names := sync.OnceValue(func() *call.Resolver {
		var split []*entry.Entry
		for _, f := range families {
			split = append(split, consolidate.Entries(f, consolidate.ByEffect)...)
		}
		return call.NewResolver(slices.Concat(split, Options{Fold: consolidate.ByFamily}.namesOf(families)))
	})
	return func(name string) *toolfold.Error {
		if len(families) == 0 || names().Lookup(name) == nil {
			return nil
		}
		return entry.Unknown(name).WithHint("%s", why)
	}
}

// refused lists what the rights of the surface leave out, with the reason, by
// family. Callers with rights of their own are not told.
func (s *Surface) refused(there []*toolfold.Family, r *toolfold.Rights) map[string][]string {
	if r != nil || s.rights == nil {
		return nil
	}
	refused := map[string][]string{}
	for _, f := range there {
		for _, a := range f.Actions {
			if why := s.rights.Reason(a); why != "" {
				refused[f.Name] = append(refused[f.Name], a.Name+": "+why)
			}
		}
	}
	return refused
}

// resolverOf returns the names of families, by which it is told what rights
// leave out.
func (o Options) resolverOf(families []*toolfold.Family) *call.Resolver {
	return call.NewResolver(withAlso(families, o.namesOf(families)))
}

// namesOf returns entries for all names of families, without those of [toolfold.Family.Also].
func (o Options) namesOf(families []*toolfold.Family) (entries []*entry.Entry) {
	for _, f := range families {
		entries = append(entries, consolidate.Entries(f, o.foldOf(f))...)
	}
	return slices.Concat(entries, legacy.Entries(families), call.FullNames(families))
}

// OnGrow sets what is called when a call has added to the list of its session.
// Set it before the first call.
func (s *Surface) OnGrow(f func(context.Context)) { s.onGrow = f }

// Families returns the families in order. The slice must not be changed.
func (s *Surface) Families() []*toolfold.Family { return s.snapshot.Load().families }

// OnChange calls f after every change of the families, one change at a time,
// before the change returns. f must not change them.
func (s *Surface) OnChange(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers = append(s.watchers, f)
}

// Put adds families, or replaces those of the same name in their place. An
// error names what is wrong with a declaration or clashes with another, and
// changes nothing.
func (s *Surface) Put(families ...*toolfold.Family) error {
	for _, f := range families {
		if err := f.Validate(); err != nil {
			return err
		}
	}
	return s.PutValid(families...)
}

// PutValid is Put of families that a test holds to [toolfold.Family.Validate], so
// that a start does not pay for it.
func (s *Surface) PutValid(families ...*toolfold.Family) error {
	return s.change(func(list []*toolfold.Family) []*toolfold.Family {
		for _, f := range families {
			i := slices.IndexFunc(list, func(other *toolfold.Family) bool { return other.Name == f.Name })
			if i < 0 {
				list = append(list, f)
				continue
			}
			list[i] = f
		}
		return list
	})
}

// Remove takes families out by name. Unknown names are ignored. It fails, and
// changes nothing, when another family names one of them as related.
func (s *Surface) Remove(names ...string) error {
	return s.change(func(list []*toolfold.Family) []*toolfold.Family {
		return slices.DeleteFunc(list, func(f *toolfold.Family) bool { return slices.Contains(names, f.Name) })
	})
}

func (s *Surface) change(edit func([]*toolfold.Family) []*toolfold.Family) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	families := edit(slices.Clone(s.Families()))
	if err := agree(families); err != nil {
		return err
	}
	s.catalogue.Follow(families)
	s.snapshot.Store(&snapshot{families: families})
	for _, watch := range s.watchers {
		watch()
	}
	return nil
}
