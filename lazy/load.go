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

// Discovery returns the view of each session on a surface that may change, and stores the tools
// that sessions loaded. It is safe for concurrent use.
type Discovery struct {
	view   func(*toolfold.Rights) *View
	onGrow func(context.Context, []string)

	files    Files // nil = no files for results
	now      func() time.Time
	absent   func() []Row                            // nil = no such servers
	scripts  func(context.Context) ([]Script, error) // nil = there are none
	withheld func(name string, within *toolfold.Rights) *toolfold.Error

	mu      sync.Mutex
	loaded  map[string][]string // names of tools, by session
	answers []storedAnswer      // newest last

	shared   Answers     // nil = answers stay in this process
	unshared func(error) // called for an answer that could not be stored in shared
}

// NewDiscovery returns the discovery of a surface. View returns the current view for a caller with
// these rights. OnGrow is called when a call adds tools to its session's list, with their names.
func NewDiscovery(view func(*toolfold.Rights) *View, onGrow func(context.Context, []string)) *Discovery {
	return &Discovery{view: view, onGrow: onGrow, now: time.Now, loaded: map[string][]string{}}
}

// ListAbsent registers two functions. Absent returns the servers that offer no tools now, with the
// reasons; callers that may know of them see these in tools.find, in tools.list and in errors for
// their tools. Withheld returns the error for the name of a known tool that is not offered now, and
// nil for other names and for tools that within excludes. A nil withheld means that there are no
// such tools. ListAbsent must be called before the surface is served.
func (d *Discovery) ListAbsent(absent func() []Row, withheld func(name string, within *toolfold.Rights) *toolfold.Error) {
	d.absent, d.withheld = absent, withheld
}

// Withheld returns the error for a name, see [Discovery.ListAbsent].
func (d *Discovery) Withheld(name string, within *toolfold.Rights) *toolfold.Error {
	if d.withheld == nil {
		return nil
	}
	return d.withheld(name, within)
}

// Absent returns the servers of [Discovery.ListAbsent] with their reasons. If within excludes a
// server, that is its reason.
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

// anyOf returns an action that stands for a server: rights include the server if they include any
// of its tools.
func anyOf(server string) *toolfold.Action {
	return &toolfold.Action{Family: &toolfold.Family{Name: server, Server: server}}
}

// View returns the current view of the caller of ctx.
func (d *Discovery) View(ctx context.Context) *View { return d.view(toolfold.OriginOf(ctx).Rights) }

// Grows reports whether loading adds to the list of the caller's session.
func (d *Discovery) Grows(ctx context.Context) bool {
	o := toolfold.OriginOf(ctx)
	view := d.view(o.Rights)
	return (view.options.Level == Search || view.options.Tier < toolfold.Extended) && o.ListGrows && o.Session != ""
}

// Load returns the full definitions of the tools with a name, and adds them to the list of the
// caller's session if it grows, see [Discovery.Grows].
func (d *Discovery) Load(ctx context.Context, name string) ([]ListedTool, *toolfold.Error) {
	list, err := d.View(ctx).toolsOf(name)
	if err != nil {
		return nil, err
	}
	definitions := make([]ListedTool, len(list))
	for i, t := range list {
		definitions[i] = show(t, Full)
	}
	if d.Grows(ctx) {
		names := make([]string, len(definitions))
		for i, l := range definitions {
			names[i] = l.Name
		}
		if added := d.add(toolfold.OriginOf(ctx).Session, names); len(added) > 0 {
			d.onGrow(ctx, added)
		}
	}
	return definitions, nil
}

// Note describes how the caller of ctx runs loaded tools.
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

// Restore adds tools that a session loaded in another process, by name, and reports whether any is new.
func (d *Discovery) Restore(session string, names []string) bool {
	return len(d.add(session, names)) > 0
}

// add adds tools to what a session loaded and returns the new ones.
func (d *Discovery) add(session string, names []string) (added []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range names {
		if !slices.Contains(d.loaded[session], name) {
			d.loaded[session] = append(d.loaded[session], name)
			added = append(added, name)
		}
	}
	return added
}

// Drop forgets a session that has ended.
func (d *Discovery) Drop(session string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.loaded, session)
}

// List returns the tools that tools/list shows the caller.
func (d *Discovery) List(ctx context.Context) []ListedTool {
	view := d.View(ctx)
	if !d.Grows(ctx) {
		return view.list
	}
	list := slices.Clone(view.list)
	for _, name := range d.loads(ctx) {
		tool, ok := view.byName[name]
		if !ok {
			continue // it was removed after the load
		}
		whole := List([]entry.Tool{tool}, Full)[0]
		i := slices.IndexFunc(list, func(l ListedTool) bool { return l.Name == name })
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

// Active describes the current list of a session.
type Active struct {
	Level  Level    `json:"level" doc:"Listing level of the server."`
	Listed []string `json:"listed" doc:"Tools that tools/list shows, in order."`
	Loaded []string `json:"loaded" doc:"Listed tools that the session loaded."`
}

// CacheCounts counts the lookups of descriptions.
type CacheCounts struct {
	Hits   int64 // from the cache
	Misses int64 // rendered, or unknown names
}

// Cache returns the counts of the view's descriptions so far.
func (v *View) Cache() CacheCounts { return CacheCounts{v.hits.Load(), v.misses.Load()} }

// Active describes the list of the caller's session.
func (d *Discovery) Active(ctx context.Context) Active {
	view := d.View(ctx)
	active := Active{Level: view.options.Level, Listed: []string{}, Loaded: []string{}}
	for _, l := range d.List(ctx) {
		active.Listed = append(active.Listed, l.Name)
	}
	if d.Grows(ctx) {
		active.Loaded = append(active.Loaded, d.loads(ctx)...)
	}
	return active
}
