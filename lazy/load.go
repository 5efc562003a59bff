package lazy

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
)

// Discovery answers what sessions see of a surface that may change, and keeps
// what they loaded. It is safe for concurrent use.
type Discovery struct {
	view   func(*toolfold.Rights) *View
	onGrow func(context.Context)

	now      func() time.Time
	absent   func() []Row // nil for none
	withheld func(name string, within *toolfold.Rights) *toolfold.Error

	mu      sync.Mutex
	loaded  map[string][]string // names of tools, by session
	answers []keptAnswer        // the newest last
}

// NewDiscovery returns the discovery of a surface. View returns the surface as
// it is now for a caller with the given rights. OnGrow is called when a call
// adds tools to its session's list.
func NewDiscovery(view func(*toolfold.Rights) *View, onGrow func(context.Context)) *Discovery {
	return &Discovery{view: view, onGrow: onGrow, now: time.Now, loaded: map[string][]string{}}
}

// ListAbsent names servers that offer no tools, and why, to callers who may know of them and ask for the
// list of tools, or for a tool of one by name. Withheld returns the error of a name of a tool that is known
// and not offered just now, nil for other names and for tools that within does not include; nil knows of none.
// It is called before the surface is served.
func (d *Discovery) ListAbsent(absent func() []Row, withheld func(name string, within *toolfold.Rights) *toolfold.Error) {
	d.absent, d.withheld = absent, withheld
}

// Withheld returns the error of a name, as [Discovery.ListAbsent] was told.
func (d *Discovery) Withheld(name string, within *toolfold.Rights) *toolfold.Error {
	if d.withheld == nil {
		return nil
	}
	return d.withheld(name, within)
}

// Absent returns the servers that [Discovery.ListAbsent] names, with the reasons. The reason of one that within
// does not include is that.
func (d *Discovery) Absent(within *toolfold.Rights) map[string]string {
	if d.absent == nil {
		return nil
	}
	reasons := map[string]string{}
	for _, row := range d.absent() {
		reasons[row.Name] = cmp.Or(within.Reason(anyOf(row.Name)), row.Reason)
	}
	return reasons
}

// anyOf stands for a server in rights: they include it if they include any of its tools.
func anyOf(server string) *toolfold.Action {
	return &toolfold.Action{Family: &toolfold.Family{Name: server, Server: server}}
}

// View returns the surface as the caller of ctx sees it now.
func (d *Discovery) View(ctx context.Context) *View { return d.view(toolfold.OriginOf(ctx).Rights) }

// Grows reports whether loading adds to the list of the caller's session.
func (d *Discovery) Grows(ctx context.Context) bool {
	o := toolfold.OriginOf(ctx)
	view := d.view(o.Rights)
	return (view.level == Search || view.tier < toolfold.Extended) && o.ListGrows && o.Session != ""
}

// Load returns the whole tools that a name stands for, and puts them on the
// list of the caller's session, where that may and has to grow.
func (d *Discovery) Load(ctx context.Context, name string) ([]Listed, *toolfold.Error) {
	list, err := d.View(ctx).toolsOf(name)
	if err != nil {
		return nil, err
	}
	definitions := make([]Listed, len(list))
	for i, t := range list {
		definitions[i] = show(t, Full)
	}
	if d.Grows(ctx) && d.add(toolfold.OriginOf(ctx).Session, definitions) {
		d.onGrow(ctx)
	}
	return definitions, nil
}

// Note says how the caller of ctx runs loaded tools.
func (d *Discovery) Note(ctx context.Context, loaded []string) string {
	view := d.View(ctx)
	unlisted := slices.DeleteFunc(slices.Clone(loaded), view.lists)
	switch {
	case len(loaded) == 0:
		return "nothing is loaded"
	case len(unlisted) == 0:
		return "call them by their names"
	case view.caller == "":
		return "call them by their names, if your host lets you: they are not listed"
	}
	name := unlisted[0]
	if tool := view.byName[name]; tool.Dispatches() {
		name = tool.Entries[0].Action.Family.Name + ".ACTION"
	}
	form := fmt.Sprintf(`%s {"%s":"%s","%s":{…}}`, view.caller, callctx.ForwardName, name, callctx.ForwardArguments)
	if d.Grows(ctx) {
		return "they are listed from now on; if your host does not show them, call " + form
	}
	return "they are not listed: call " + form
}

// add adds tools to what a session loaded and reports whether any is new.
func (d *Discovery) add(session string, list []Listed) (changed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range list {
		if !slices.Contains(d.loaded[session], l.Name) {
			d.loaded[session] = append(d.loaded[session], l.Name)
			changed = true
		}
	}
	return changed
}

// Drop forgets a session that has ended.
func (d *Discovery) Drop(session string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.loaded, session)
}

// List returns what tools/list shows the caller.
func (d *Discovery) List(ctx context.Context) []Listed {
	view := d.View(ctx)
	if !d.Grows(ctx) {
		return view.listed
	}
	list := slices.Clone(view.listed)
	for _, name := range d.loads(ctx) {
		tool, ok := view.byName[name]
		if !ok {
			continue // it is gone since
		}
		whole := List([]entry.Tool{tool}, Full)[0]
		i := slices.IndexFunc(list, func(l Listed) bool { return l.Name == name })
		if i < 0 {
			list = append(list, whole)
		} else {
			whole.Words, list[i] = list[i].Words, whole
		}
	}
	return list
}

func (d *Discovery) loads(ctx context.Context) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.loaded[toolfold.OriginOf(ctx).Session])
}

// Active describes what a session sees now.
type Active struct {
	Level  Level    `json:"level" doc:"Listing level of the server."`
	Listed []string `json:"listed" doc:"Tools that tools/list shows, in order."`
	Loaded []string `json:"loaded" doc:"Listed tools that the session loaded."`
}

// CacheCounts counts how descriptions were answered.
type CacheCounts struct {
	Hits   int64 // answered from the cache
	Misses int64 // rendered, and unknown names
}

// Cache returns how descriptions of the view were answered so far.
func (v *View) Cache() CacheCounts { return CacheCounts{v.hits.Load(), v.misses.Load()} }

// Active describes what the caller's session sees.
func (d *Discovery) Active(ctx context.Context) Active {
	view := d.View(ctx)
	active := Active{Level: view.level, Listed: []string{}, Loaded: []string{}}
	for _, l := range d.List(ctx) {
		active.Listed = append(active.Listed, l.Name)
	}
	if d.Grows(ctx) {
		active.Loaded = append(active.Loaded, d.loads(ctx)...)
	}
	return active
}
