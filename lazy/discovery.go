package lazy

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/toolfold/toolfold/internal/rank"
	"github.com/toolfold/toolfold/tools"
)

// Options say what a [Discovery] shows, and how.
type Options struct {
	Catalogue *tools.Catalogue
	Names     tools.Names
	Level     Level

	// Project makes the tools of the surface out of the families.
	Project func([]*tools.Spec) []tools.Tool

	// Permit refuses what is not to be seen; nil shows everything.
	Permit tools.Permit

	// Grown is told when the list of the session of a call has grown; nil
	// tells nobody.
	Grown func(context.Context)

	// Now is the clock that descriptions age by.
	Now func() time.Time
}

// Discovery finds, describes and loads the tools of a surface. It follows the
// catalogue: what is added, changed or removed there is found, described and
// gone here. It is safe for concurrent use.
type Discovery struct {
	options Options
	index   *rank.Index
	state   atomic.Pointer[state]
	cache   *cache
	loads   *loads
}

// state is the surface at one moment.
type state struct {
	tools   []tools.Tool
	listed  []Listed // what tools/list shows
	byName  map[string]tools.Tool
	entries map[*tools.ActionSpec]*tools.Entry // how the surface calls an action
	actions map[string]*tools.ActionSpec       // by full name, as the index has them
}

// NewDiscovery follows a catalogue.
func NewDiscovery(o Options) *Discovery {
	if o.Grown == nil {
		o.Grown = func(context.Context) {}
	}
	d := &Discovery{options: o, index: rank.New(), cache: newCache(o.Now), loads: newLoads()}
	d.state.Store(&state{})
	o.Catalogue.Watch(d.follow)
	return d
}

// follow takes a change of the catalogue in: only what changed is indexed
// again. Find takes a hit only when the state knows it, so in between it is
// at worst one document behind.
func (d *Discovery) follow(specs []*tools.Spec) {
	before := d.state.Load()
	now := newState(specs, d.options.Project(specs))
	now.listed = List(d.permitted(now.tools), d.options.Level)
	var gone []string
	for name := range before.actions {
		if now.actions[name] == nil {
			gone = append(gone, name)
		}
	}
	var changed []rank.Document
	for _, s := range specs {
		for _, a := range s.Actions {
			if before.actions[a.FullName()] != a {
				changed = append(changed, document(a))
			}
		}
	}
	d.index.Put(changed...)
	d.state.Store(now)
	d.index.Remove(gone...)
	d.cache.clear()
}

func newState(specs []*tools.Spec, list []tools.Tool) *state {
	s := &state{
		tools: list, byName: map[string]tools.Tool{},
		entries: map[*tools.ActionSpec]*tools.Entry{}, actions: map[string]*tools.ActionSpec{},
	}
	for _, t := range list {
		s.byName[t.Name] = t
		for _, e := range t.Entries {
			if s.entries[e.Action] == nil {
				s.entries[e.Action] = e
			}
		}
	}
	for _, spec := range specs {
		for _, a := range spec.Actions {
			s.actions[a.FullName()] = a
			if s.entries[a] == nil {
				s.entries[a] = tools.Named(a, a.FullName())
			}
		}
	}
	return s
}

// refusal is why an action is not to be seen; nil when it is.
func (d *Discovery) refusal(a *tools.ActionSpec) *tools.Error {
	if d.options.Permit == nil {
		return nil
	}
	return d.options.Permit(a)
}
