// Package surface puts together what one client sees: the tools of a mode at
// a listing level, and what a call of any accepted name runs.
package surface

import (
	"context"
	"fmt"
	"log/slog"
	"time"

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

// ParseMode reads the name of a mode.
func ParseMode(name string) (Mode, error) {
	for _, m := range Modes() {
		if name == string(m) {
			return m, nil
		}
	}
	return "", fmt.Errorf("unknown tool mode %q: use consolidated or legacy", name)
}

// DefaultLevel is the listing level of a mode when none is asked for. Legacy
// mode is there for hosts that should see what they always saw.
func (m Mode) DefaultLevel() lazy.Level {
	if m == Legacy {
		return lazy.Full
	}
	return lazy.Lazy
}

// names are the names that a strict server of this mode accepts.
func (m Mode) names() consolidate.Names {
	if m == Legacy {
		return consolidate.LegacyNames
	}
	return consolidate.ConsolidatedNames
}

// Tools returns the tools of a mode that a listing level may show. The whole
// legacy list is what it always was; discovery joins it where less is shown,
// because then it is needed.
func Tools(specs []*tools.Spec, m Mode, level lazy.Level) []tools.Tool {
	if m == Consolidated {
		return consolidate.Tools(specs)
	}
	if level == lazy.Full {
		specs = without(specs, tools.Discovery)
	}
	return legacy.Tools(specs)
}

func without(specs []*tools.Spec, c tools.Category) []*tools.Spec {
	var kept []*tools.Spec
	for _, s := range specs {
		if s.Category != c {
			kept = append(kept, s)
		}
	}
	return kept
}

// List is what tools/list shows of the families. An empty level is the mode's
// default.
func List(specs []*tools.Spec, m Mode, level lazy.Level) []lazy.Listed {
	if level == "" {
		level = m.DefaultLevel()
	}
	return lazy.List(Tools(specs, m, level), level)
}

// Options say what a surface shows and accepts. The zero value is the default
// surface of an empty catalogue.
type Options struct {
	Mode   Mode       // empty = Consolidated
	Level  lazy.Level // empty = the mode's own
	Strict bool       // clients may not use names that are not the mode's

	Permit tools.Permit     // nil lets everything be seen and run
	Log    *slog.Logger     // nil = the default logger
	Now    func() time.Time // nil = time.Now
}

// Surface is what clients of one server see and call. Put families into its
// catalogue, at any time.
type Surface struct {
	Mode      Mode
	Level     lazy.Level
	Catalogue *tools.Catalogue
	Discovery *lazy.Discovery

	// Caller calls under every name; Client is what clients call through, and
	// refuses names that are not the mode's where the surface is strict.
	Caller, Client *consolidate.Caller

	observers []func(consolidate.Call)
	grown     func(context.Context)
}

// New returns a surface with an empty catalogue. It opens nothing.
func New(o Options) *Surface {
	o = o.complete()
	s := &Surface{Mode: o.Mode, Level: o.Level, Catalogue: &tools.Catalogue{}}
	s.Caller = consolidate.NewCaller(s.Catalogue, tools.NewRegistry(o.Permit, o.Log), s.observed)
	s.Client = s.Caller
	if o.Strict {
		s.Client = s.Caller.Accepting(s.Catalogue, o.Mode.names())
	}
	s.Discovery = lazy.NewDiscovery(lazy.Options{
		Catalogue: s.Catalogue, Names: s.Caller, Level: o.Level,
		Project: func(specs []*tools.Spec) []tools.Tool { return Tools(specs, o.Mode, o.Level) },
		Permit:  o.Permit, Grown: s.tellGrown, Now: o.Now,
	})
	return s
}

func (o Options) complete() Options {
	if o.Mode == "" {
		o.Mode = Consolidated
	}
	if o.Level == "" {
		o.Level = o.Mode.DefaultLevel()
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Observe adds one who is told of every call once it is answered. Add all of
// them before the first call.
func (s *Surface) Observe(f func(consolidate.Call)) {
	s.observers = append(s.observers, f)
}

func (s *Surface) observed(c consolidate.Call) {
	for _, f := range s.observers {
		f(c)
	}
}

// OnGrown sets who is told when the list of the session of a call has grown.
// Set it before the first call.
func (s *Surface) OnGrown(f func(context.Context)) { s.grown = f }

func (s *Surface) tellGrown(ctx context.Context) {
	if s.grown != nil {
		s.grown(ctx)
	}
}
