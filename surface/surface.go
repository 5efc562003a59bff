// Package surface puts together what one server offers: the tools of a mode at
// a listing level, and what a call of any accepted name runs.
package surface

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/legacy"
	"github.com/toolfold/toolfold/tools"
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

// Tools returns the tools of a mode that a listing level may show. The whole
// legacy list stays as it was; discovery joins it where less is shown, because
// then it is needed.
func Tools(families []*tools.Family, m Mode, level lazy.Level) []tools.Tool {
	if m == Consolidated {
		return consolidate.Tools(families)
	}
	if level == lazy.Full {
		families = slices.DeleteFunc(slices.Clone(families), func(f *tools.Family) bool { return f.Category == tools.Discovery })
	}
	return legacy.Tools(families)
}

// List returns what tools/list shows of the families. An empty level is the
// mode's default.
func List(families []*tools.Family, m Mode, level lazy.Level) []lazy.Listed {
	if level == "" {
		level = m.DefaultLevel()
	}
	return lazy.List(Tools(families, m, level), level)
}

// Options say what a surface shows and accepts. The zero value is the default
// surface.
type Options struct {
	Mode   Mode       // empty = Consolidated
	Level  lazy.Level // empty = the mode's own
	Strict bool       // clients may not use names that are not the mode's

	Rights     *tools.Rights // of callers that have none of their own; nil is everything
	Middleware []call.Middleware
	Log        *slog.Logger // nil = the default logger
}

// Surface offers families to the clients of one server. Put families into it
// at any time; readers get a snapshot and are never blocked.
type Surface struct {
	Mode      Mode
	Level     lazy.Level
	Discovery *lazy.Discovery

	// Runner calls under every name; Client is for calls of clients, and
	// refuses names that are not the mode's where the surface is strict.
	Runner, Client *call.Runner

	rights   *tools.Rights
	snapshot atomic.Pointer[snapshot]
	onGrow   func(context.Context)

	mu       sync.Mutex // held while the families change and watchers are called
	watchers []func()
}

// snapshot is the surface at one moment.
type snapshot struct {
	families []*tools.Family
	views    sync.Map // of *view by *tools.Rights
}

// view is a snapshot as callers with the same rights see it.
type view struct {
	*lazy.View
	every, modeOnly *call.Resolver
}

// New returns a surface without families. It opens nothing.
func New(o Options) *Surface {
	if o.Mode == "" {
		o.Mode = Consolidated
	}
	if o.Level == "" {
		o.Level = o.Mode.DefaultLevel()
	}
	s := &Surface{Mode: o.Mode, Level: o.Level, rights: o.Rights, onGrow: func(context.Context) {}}
	s.snapshot.Store(&snapshot{})
	every := func(r *tools.Rights) *call.Resolver { return s.view(r).every }
	s.Runner = call.New(every, o.Log, append(slices.Clone(o.Middleware), s.permissions)...)
	s.Client = s.Runner
	if o.Strict {
		s.Client = s.Runner.Accepting(func(r *tools.Rights) *call.Resolver { return s.view(r).modeOnly })
	}
	s.Discovery = lazy.NewDiscovery(
		func(r *tools.Rights) *lazy.View { return s.view(r).View },
		func(ctx context.Context) { s.onGrow(ctx) },
	)
	return s
}

// permissions refuses what the caller's rights, or else the surface's, do not
// include.
func (s *Surface) permissions(next call.Func) call.Func {
	checked := call.Permissions(next)
	return func(ctx context.Context, c *call.Call) tools.Answer {
		if c.Origin.Rights == nil {
			c.Origin.Rights = s.rights
		}
		return checked(ctx, c)
	}
}

// view returns the present snapshot as callers with the given rights see it;
// nil are the surface's own.
func (s *Surface) view(r *tools.Rights) *view {
	if r == nil {
		r = s.rights
	}
	now := s.snapshot.Load()
	if v, ok := now.views.Load(r); ok {
		return v.(*view)
	}
	families := r.Filter(now.families)
	var folded []*tools.Entry
	for _, f := range families {
		folded = append(folded, consolidate.Entries(f)...)
	}
	old := legacy.Entries(families)
	v := &view{every: call.NewResolver(slices.Concat(folded, old, call.FullNames(families)))}
	v.modeOnly = call.NewResolver(folded)
	if s.Mode == Legacy {
		v.modeOnly = call.NewResolver(old)
	}
	shown := Tools(families, s.Mode, s.Level)
	disabled := slices.DeleteFunc(Tools(now.families, s.Mode, s.Level), func(t tools.Tool) bool {
		return slices.ContainsFunc(shown, func(other tools.Tool) bool { return other.Name == t.Name })
	})
	v.View = lazy.NewView(lazy.ViewOptions{Level: s.Level, Families: families, Tools: shown, Disabled: disabled, Names: v.every})
	kept, _ := now.views.LoadOrStore(r, v)
	return kept.(*view)
}

// OnGrow sets what is called when a call has added to the list of its session.
// Set it before the first call.
func (s *Surface) OnGrow(f func(context.Context)) { s.onGrow = f }

// Families returns the families in order. The slice must not be changed.
func (s *Surface) Families() []*tools.Family { return s.snapshot.Load().families }

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
func (s *Surface) Put(families ...*tools.Family) error {
	for _, f := range families {
		if err := f.Validate(); err != nil {
			return err
		}
	}
	return s.change(func(list []*tools.Family) []*tools.Family {
		for _, f := range families {
			i := slices.IndexFunc(list, func(other *tools.Family) bool { return other.Name == f.Name })
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
	return s.change(func(list []*tools.Family) []*tools.Family {
		return slices.DeleteFunc(list, func(f *tools.Family) bool { return slices.Contains(names, f.Name) })
	})
}

func (s *Surface) change(edit func([]*tools.Family) []*tools.Family) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	families := edit(slices.Clone(s.Families()))
	if err := tools.ValidateAll(families); err != nil {
		return err
	}
	s.snapshot.Store(&snapshot{families: families})
	for _, watch := range s.watchers {
		watch()
	}
	return nil
}
