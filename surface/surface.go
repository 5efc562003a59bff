// Package surface assembles the offer of one server: the tools of a mode at a listing level, and
// the actions behind every accepted name.
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

// DefaultLevel returns the default listing level of the mode. Legacy mode is for hosts that should
// see their tools as before.
func (m Mode) DefaultLevel() lazy.Level {
	if m == Legacy {
		return lazy.Full
	}
	return lazy.Lazy
}

// Tools returns the tools that a surface may show. The full legacy list has no discovery tools, as
// before; shorter lists need them.
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
		if o.unlisted(t.Entries[0].Action.Family) {
			list[i].Tier = Unlisted
		}
		list[i].Typed = o.typed(t.Entries[0])
	}
	return list
}

// Unlisted is the tier of tools that no list shows, see [Options.Unlisted].
const Unlisted = toolfold.Extended + 1

// unlisted reports whether lists omit a family.
func (o Options) unlisted(f *toolfold.Family) bool {
	return f.Server == "" && slices.Contains(o.Unlisted, f.Name)
}

// List returns the tools/list of the families.
func List(families []*toolfold.Family, o Options) []lazy.ListedTool {
	o = o.complete()
	return lazy.List(lazy.Within(Tools(families, o), o.Tier), o.Level)
}

// Options configure the tools that a surface shows and the calls that it accepts. The zero value is
// the default surface.
type Options struct {
	Mode   Mode               // empty = Consolidated
	Level  lazy.Level         // empty = the mode's own
	Tier   toolfold.Tier      // tiers up to this one are listed; 0 = Extended. Other tools can still be found and called
	Off    []*toolfold.Family // families that are not offered; calls by their names are answered with WhyOff. Nil = no families
	WhyOff string             // the reason why Off is not offered
	// Unlisted names families of this program that tools/list leaves out. They can still be found and called.
	Unlisted []string

	Fold   consolidate.Fold // of the consolidated tools; empty = by family
	Params entry.Form       // form of calls if a list does not declare every parameter; empty = in an object
	Strict bool             // clients may use only listed names

	// FoldOthers is the fold of the tools of other servers; empty = Fold.
	FoldOthers consolidate.Fold

	// Structured lists output schemas in legacy mode too. Consolidated tools with one action always
	// list them if whole schemas are listed.
	Structured bool

	// ResultLimit is the maximum size of an answer to a client, in bytes; 0 =
	// [callctx.DefaultRoom], negative = no limit.
	ResultLimit int

	// Meaning finds actions by the meaning of texts, in addition to words; nil = by words only.
	Meaning lazy.Meaning

	Rights     *toolfold.Rights // of all callers; a caller's own rights narrow them. Nil = all
	Middleware []call.Middleware
	Log        *slog.Logger // nil = the default logger
}

// complete sets the defaults that depend on other options.
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

// form returns the form in which calls of tools are shown. It is flat if the list declares every
// parameter, as level signature does for tools with one action.
func (o Options) form(dispatches bool) entry.Form {
	if o.Level == lazy.Full || o.Level == lazy.Signature && !dispatches {
		return entry.FormFlat
	}
	return o.Params
}

// typed reports whether the tool of an entry lists an output schema: if it has one action with a
// declared result, and whole schemas are listed. Legacy lists had no output schemas.
func (o Options) typed(e *entry.Entry) bool {
	return o.Level == lazy.Full && e.Selector == "" && !e.Action.OpenResult() && (o.Mode == Consolidated || o.Structured)
}

// Surface offers families to the clients of one server. Families may change at any time: readers
// use a snapshot and are never blocked.
type Surface struct {
	Mode   Mode
	Level  lazy.Level
	Tier   toolfold.Tier
	Fold   consolidate.Fold
	Params entry.Form // the form in which calls are shown
	// FoldOthers is the fold of the tools of other servers.
	FoldOthers consolidate.Fold
	Discovery  *lazy.Discovery

	// Runner accepts every name and returns full answers. Client is for calls of clients: it limits
	// answers, and lets tools that are split by effect run only their own actions. If the surface
	// is strict, it rejects names of other modes.
	Runner, Client *call.Runner

	options   Options
	rights    *toolfold.Rights
	off       func(name string) *toolfold.Error // the error for a name of [Options.Off]; nil for other names
	snapshot  atomic.Pointer[snapshot]
	catalogue *lazy.Catalogue // of all families
	onGrow    func(context.Context, []string)

	mu       sync.Mutex // held while the families change and watchers are called
	watchers []func()
}

// snapshot is the surface at one moment.
type snapshot struct {
	families []*toolfold.Family
	views    sync.Map // of func() *view by viewKey, or else by *toolfold.Rights
	count    atomic.Int32
}

// viewKey holds the parts of a caller's rights that a view depends on.
type viewKey struct {
	text         string
	showsReasons bool
}

// maxViews limits the views of a snapshot; beyond it the cache is cleared.
const maxViews = 256

// view is a snapshot for callers with the same rights.
type view struct {
	*lazy.View
	resolvers func() resolvers // made for the first call: lists do not need them
}

// New returns a surface without families. It opens nothing.
func New(o Options) *Surface {
	o = o.complete()
	s := &Surface{Mode: o.Mode, Level: o.Level, Tier: o.Tier, Fold: o.Fold, FoldOthers: o.FoldOthers, Params: o.Params,
		options: o, rights: o.Rights,
		onGrow: func(context.Context, []string) {}, catalogue: lazy.NewCatalogue(), off: switchedOff(o.Off, o.WhyOff)}
	if o.Meaning != nil {
		s.catalogue.Understand(o.Meaning)
	}
	s.snapshot.Store(&snapshot{})
	every := func(r *toolfold.Rights) *call.Resolver { return s.view(r).resolvers().every }
	s.Runner = call.New(every, o.Log, append(slices.Clone(o.Middleware), s.permissions)...)
	keep := func(ctx context.Context, answer json.RawMessage, again bool) (id, usage string) {
		return s.Discovery.Keep(ctx, answer, again)
	}
	saveUsage := func(ctx context.Context) string { return s.Discovery.SaveUsage(ctx) }
	client := func(r *toolfold.Rights) *call.Resolver { return s.view(r).resolvers().client }
	s.Client = s.Runner.Bounded(call.Bound{Bytes: o.ResultLimit, Keep: keep, SaveUsage: saveUsage}).WithResolver(client)
	s.Discovery = lazy.NewDiscovery(
		func(r *toolfold.Rights) *lazy.View { return s.view(r).View },
		func(ctx context.Context, names []string) { s.onGrow(ctx, names) },
	)
	if o.Strict {
		s.Client = s.Client.WithListing(s.lists)
	}
	return s
}

// Off reports whether families are switched off, see [Options.Off].
func (s *Surface) Off() bool { return len(s.options.Off) > 0 }

// Lists reports whether tools/list may show a family, as far as its tier decides.
func (s *Surface) Lists(f *toolfold.Family) bool {
	return f.Server != "" || f.Tier <= s.Tier && !s.options.unlisted(f)
}

// lists reports whether a tool is listed for the caller's session. Discovery tools always count as
// listed.
func (s *Surface) lists(ctx context.Context, name string) bool {
	for _, e := range s.view(toolfold.OriginOf(ctx).Rights).resolvers().client.Lookup(name) {
		if e.Action.Family.Category == callctx.Discovery {
			return true
		}
	}
	return slices.ContainsFunc(s.Discovery.List(ctx), func(l lazy.ListedTool) bool { return l.Name == name })
}

// permissions rejects actions that the rights of the surface or of the caller do not include.
func (s *Surface) permissions(next call.Func) call.Func {
	checked := call.Permissions(next)
	return func(ctx context.Context, c *call.Call) toolfold.Answer {
		if c.Entry != nil && !s.rights.Allow(c.Entry.Action) {
			c.Origin.Rights = s.rights
		}
		return checked(s.rights.Restrain(ctx), c)
	}
}

// view returns the current snapshot for callers with the given rights.
func (s *Surface) view(r *toolfold.Rights) *view {
	now := s.snapshot.Load()
	var key any = r
	if r != nil && r.Text != "" { // equal texts are equal rights
		key = viewKey{r.Text, r.Public}
	}
	known, ok := now.views.Load(key)
	if !ok { // at the start many may need it at once: one of them makes it
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
	tools := Tools(families, s.options)
	var disabled []entry.Tool
	if r != nil || s.rights != nil {
		disabled = slices.DeleteFunc(Tools(there, s.options), func(t entry.Tool) bool {
			return slices.ContainsFunc(tools, func(other entry.Tool) bool { return other.Name == t.Name })
		})
	}
	v := &view{resolvers: sync.OnceValue(func() resolvers { return s.resolversOf(now, families, r) })}
	v.View = lazy.NewView(lazy.ViewOptions{Level: s.Level, Tier: s.Tier, Families: families, Catalogue: s.catalogue, Tools: tools,
		Disabled: disabled, Refused: s.exclusions(there, r), Within: within,
		Unsaved: cmp.Or(lazy.Saving(s.rights), lazy.Saving(r)), Names: v, Absence: func(name string) *toolfold.Error {
			return v.resolvers().names.Absence(name)
		}})
	return v
}

// Lookup implements [entry.Names].
func (v *view) Lookup(name string) []*entry.Entry { return v.resolvers().names.Lookup(name) }

// Nearest implements [entry.Names].
func (v *view) Nearest(name string) string { return v.resolvers().names.Nearest(name) }

// resolvers look up names: every for calls from within, client for calls of clients, names for
// discovery.
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
	for i, e := range entries { // calls of listed tools are shown in the form of the list
		if !e.Action.Apart || e.Selector != "" {
			entries[i] = e.In(s.options.form(e.Selector != ""))
		}
	}
	resolver := func() *call.Resolver {
		list := split
		if s.options.Fold == consolidate.None { // families are not listed, so their names break no hints
			list = slices.Concat(split, folded)
		}
		return call.NewResolver(withAlso(now.families, slices.Concat(list, old, call.FullNames(families))))
	}
	all := sync.OnceValue(func() *call.Resolver { return s.options.resolverOf(now.families) })
	within, showsReasons := s.rights.Bounds().And(r.Bounds()), r == nil || r.Public
	worded := func(names *call.Resolver) *call.Resolver {
		names = names.Without(s.off)
		if !showsReasons {
			return names.Silent(all, func(a *toolfold.Action) bool { return r.Allow(a) && s.rights.Allow(a) }, r.Title)
		}
		names = names.WithAbsent(func() map[string]string { return s.Discovery.Absent(within) },
			func(name string) *toolfold.Error { return s.Discovery.Withheld(name, within) })
		if both := s.rights.And(r); both != nil {
			return names.WithReasons(all, both.Reason)
		}
		return names
	}
	names := worded(resolver())
	by := resolvers{every: names, client: names, names: names}
	if s.options.Fold == consolidate.ByEffect { // stored tasks, workflows and agents may use names of either fold
		by.every = worded(call.NewResolver(withAlso(now.families, slices.Concat(split, folded, old, call.FullNames(families)))))
	}
	if s.Level == lazy.Full { // calls from within get untyped answers
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

// withAlso returns the entries, followed by entries for other names of families, see
// [toolfold.Family.Also]. all are the families of the surface: their own names win.
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

// switchedOff returns a func that returns the error for a name of these families, and nil for other
// names.
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

// exclusions lists the actions that the rights of the surface exclude, with the reason, by family. It
// is nil for callers with their own rights.
func (s *Surface) exclusions(there []*toolfold.Family, r *toolfold.Rights) map[string][]string {
	if r != nil || s.rights == nil {
		return nil
	}
	reasons := map[string][]string{}
	for _, f := range there {
		for _, a := range f.Actions {
			if why := s.rights.Reason(a); why != "" {
				reasons[f.Name] = append(reasons[f.Name], a.Name+": "+why)
			}
		}
	}
	return reasons
}

// resolverOf returns a resolver for all names of families, which recognizes names that rights
// exclude.
func (o Options) resolverOf(families []*toolfold.Family) *call.Resolver {
	return call.NewResolver(withAlso(families, o.namesOf(families)))
}

// namesOf returns entries for all names of families, except [toolfold.Family.Also].
func (o Options) namesOf(families []*toolfold.Family) (entries []*entry.Entry) {
	for _, f := range families {
		entries = append(entries, consolidate.Entries(f, o.foldOf(f))...)
	}
	return slices.Concat(entries, legacy.Entries(families), call.FullNames(families))
}

// OnGrow sets the func that is called when a call has added tools to the list of its session, with their names. Call it
// before the first call.
func (s *Surface) OnGrow(f func(context.Context, []string)) { s.onGrow = f }

// Families returns the families in order. The slice must not be changed.
func (s *Surface) Families() []*toolfold.Family { return s.snapshot.Load().families }

// OnChange calls f after every change of the families, one change at a time,
// before the change returns. f must not change them.
func (s *Surface) OnChange(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers = append(s.watchers, f)
}

// Put adds families, or replaces the families with the same names in place. If a declaration is
// invalid or conflicts with another, it returns an error and changes nothing.
func (s *Surface) Put(families ...*toolfold.Family) error {
	for _, f := range families {
		if err := f.Validate(); err != nil {
			return err
		}
	}
	return s.PutValid(families...)
}

// PutValid is Put without [toolfold.Family.Validate], for families that a test validates, so that
// the server starts faster.
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

// Remove removes families by name. Unknown names are ignored. If another family names one of them
// as related, it returns an error and changes nothing.
func (s *Surface) Remove(names ...string) error {
	return s.change(func(list []*toolfold.Family) []*toolfold.Family {
		return slices.DeleteFunc(list, func(f *toolfold.Family) bool { return slices.Contains(names, f.Name) })
	})
}

func (s *Surface) change(edit func([]*toolfold.Family) []*toolfold.Family) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	families := edit(slices.Clone(s.Families()))
	if slices.Equal(families, s.Families()) {
		return nil // clients that are told list the tools again
	}
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
