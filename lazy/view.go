package lazy

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// View is a surface at one moment, as callers with the same rights see it. It
// is immutable; what costs something is computed on first use.
type View struct {
	level    Level
	tier     toolfold.Tier
	tools    []entry.Tool
	disabled []entry.Tool
	refused  map[string][]string // by family
	names    entry.Names
	absence  func(name string) *toolfold.Error // as of [ViewOptions]
	within   *toolfold.Rights                  // as of [ViewOptions]

	listed  []Listed                          // what tools/list shows
	byName  map[string]entry.Tool             // of tools
	entries map[*toolfold.Action]*entry.Entry // how the surface calls an action
	caller  string                            // the listed tool that runs any other; empty = none

	mirrored map[string]json.RawMessage // schemas as of [View.Mirrored], by tool

	catalogue *Catalogue
	byID      map[string]*toolfold.Action   // actions that the caller may see, by full name
	servers   map[string][]*toolfold.Family // of other servers that the caller may see, by the server's name
	called    map[string][]serverName       // names of these servers, by the first word

	usages       sync.Map // of texts by *entry.Entry: how to call what find leads to
	rendered     sync.Map // of json.RawMessage by what was asked for
	hits, misses *atomic.Int64
}

// ViewOptions say what a [View] shows.
type ViewOptions struct {
	Level     Level
	Tier      toolfold.Tier      // of the tools that tools/list shows at most
	Families  []*toolfold.Family // that the caller may see
	Catalogue *Catalogue         // has these families at least; nil = one of just these
	Tools     []entry.Tool       // the same as tools of the surface
	Disabled  []entry.Tool       // tools of the surface that the caller may not call at all
	Names     entry.Names        // what the caller may call

	// Absence returns the error of an unknown name that is one of a server which offers no tools
	// just now, and nil for others; it may be nil.
	Absence func(name string) *toolfold.Error

	// Within is what there is at all for the caller, see [toolfold.Rights]: nil = everything.
	Within *toolfold.Rights

	// Refused has the actions that are not permitted, with the reason, by family; nil
	// where the caller is not to know.
	Refused map[string][]string
}

// NewView returns a view.
func NewView(o ViewOptions) *View {
	v := &View{
		level: o.Level, tier: o.Tier, tools: o.Tools, disabled: o.Disabled, refused: o.Refused, names: o.Names, absence: o.Absence,
		within:    o.Within,
		listed:    List(Within(o.Tools, o.Tier), o.Level),
		catalogue: o.Catalogue, byName: map[string]entry.Tool{}, entries: map[*toolfold.Action]*entry.Entry{},
		byID: map[string]*toolfold.Action{}, servers: map[string][]*toolfold.Family{}, called: map[string][]serverName{},
		hits: new(atomic.Int64), misses: new(atomic.Int64),
	}
	for _, t := range o.Tools {
		v.byName[t.Name] = t
		for _, e := range t.Entries {
			if v.entries[e.Action] == nil {
				v.entries[e.Action] = e
			}
			if t.Whole && e.Action.Forwards() {
				v.caller = t.Name
			}
		}
	}
	for _, l := range v.listed {
		if bytes.Contains(l.InputSchema, []byte(`"x-mcp-header"`)) {
			if v.mirrored == nil {
				v.mirrored = map[string]json.RawMessage{}
			}
			v.mirrored[l.Name] = l.InputSchema
		}
	}
	for _, f := range o.Families {
		if f.Server != "" {
			if name := appendSaid(nil, f.Server); len(name) > 0 && v.servers[f.Server] == nil {
				v.called[name[0].text] = append(v.called[name[0].text], serverName{f.Server, name})
			}
			v.servers[f.Server] = append(v.servers[f.Server], f)
		}
		for _, a := range f.Actions {
			v.byID[a.FullName()] = a
			if v.entries[a] == nil {
				v.entries[a] = entry.New(a, a.FullName())
			}
		}
	}
	if v.catalogue == nil {
		v.catalogue = NewCatalogue(o.Families...)
	}
	return v
}

// ListAt returns what tools/list shows when a level is asked for.
func (v *View) ListAt(level Level) []Listed { return List(Within(v.tools, v.tier), level) }

// Mirrored returns the listed schema of a tool of which clients send arguments in headers of
// HTTP too, as x-mcp-header in it says; nil for all others.
func (v *View) Mirrored(tool string) json.RawMessage { return v.mirrored[tool] }

// Stubs returns what tools/list shows when the least is asked for.
func (v *View) Stubs() []Listed { return Stubs(Within(v.tools, v.tier)) }

// Row is a tool in the account of all tools.
type Row struct {
	Name     string            `json:"name" doc:"Name to call it by."`
	Summary  string            `json:"summary" doc:"Its purpose."`
	Category toolfold.Category `json:"category" doc:"Tool category."`
	Enabled  bool              `json:"enabled" doc:"Whether it can be called."`
	Reason   string            `json:"reason,omitempty" doc:"Why it cannot be called, or why calls fail just now."`
	Refused  []string          `json:"refused,omitempty" doc:"Actions that are not permitted, and why; with include_disabled."`

	Absent bool `json:"-"` // it is listed without being a tool, so that its reason is known
	Idle   bool `json:"-"` // it is absent, and nothing failed or waits for the user: find does not name it
}

// Rows returns a row for each tool of the surface, with tools that the caller
// may not call last.
func (v *View) Rows() []Row {
	var rows []Row
	for _, t := range v.tools {
		row := Row{Name: t.Name, Summary: t.Summary, Category: t.Category, Enabled: true}
		if trouble := t.Entries[0].Action.Family.Trouble; trouble != nil {
			row.Reason = trouble()
		}
		if t.Dispatches() {
			row.Refused = v.refused[t.Entries[0].Action.Family.Name]
		}
		rows = append(rows, row)
	}
	for _, t := range v.disabled {
		row := Row{Name: t.Name, Summary: t.Summary, Category: t.Category, Reason: "not permitted here"}
		row.Refused = v.refused[t.Entries[0].Action.Family.Name]
		rows = append(rows, row)
	}
	return rows
}

// lookup finds the entries that a name stands for.
func (v *View) lookup(name string) ([]*entry.Entry, *toolfold.Error) {
	if entries := v.names.Lookup(name); len(entries) > 0 {
		return entries, nil
	}
	if v.absence != nil {
		if err := v.absence(name); err != nil {
			return nil, err
		}
	}
	err := entry.Unknown(name)
	if near := v.names.Nearest(name); near != "" {
		return nil, err.WithHint("did you mean %s?", near)
	}
	var names []string
	for _, hit := range v.Find(name, 3) {
		names = append(names, hit.Name)
	}
	if len(names) > 0 {
		return nil, err.WithHint("perhaps one of %v", names)
	}
	return nil, err.WithHint("tools.list lists the tools, tools.find finds actions by purpose")
}

// entry returns how the surface calls the action of an entry: a legacy name is
// described as it is, any other the way it is listed.
func (v *View) entry(e *entry.Entry) *entry.Entry {
	if e.Legacy || v.entries[e.Action] == nil {
		return e
	}
	return v.entries[e.Action]
}

// callable returns an entry as most hosts can call it: they refuse the name of a
// tool that is not listed, which is called by way of one that is.
func (v *View) callable(e *entry.Entry) *entry.Entry {
	if v.caller == "" || v.lists(e.Tool) {
		return e
	}
	return e.Through(v.caller)
}

// usage returns how the caller calls an entry.
func (v *View) usage(e *entry.Entry) string {
	if text, ok := v.usages.Load(e); ok {
		return text.(string)
	}
	text := v.callable(e).Usage(entry.DetailCall)
	v.usages.Store(e, text)
	return text
}

// lists reports whether tools/list shows a tool to every session.
func (v *View) lists(tool string) bool {
	return slices.ContainsFunc(v.listed, func(l Listed) bool { return l.Name == tool })
}

// toolsOf returns the tools of the surface under which the actions that a name
// stands for are called.
func (v *View) toolsOf(name string) ([]entry.Tool, *toolfold.Error) {
	entries, err := v.lookup(name)
	if err != nil {
		return nil, err
	}
	var list []entry.Tool
	for _, e := range entries {
		home, ok := v.byName[v.entries[e.Action].Tool]
		if ok && !slices.ContainsFunc(list, func(t entry.Tool) bool { return t.Name == home.Name }) {
			list = append(list, home)
		}
	}
	return list, nil
}

// render returns the account of a name, made on its first use. Unknown names
// are not kept.
func (v *View) render(key, name string, render func([]*entry.Entry) any) (json.RawMessage, *toolfold.Error) {
	key += " " + name
	if text, ok := v.rendered.Load(key); ok {
		v.hits.Add(1)
		return text.(json.RawMessage), nil
	}
	v.misses.Add(1)
	entries, err := v.lookup(name)
	if err != nil {
		return nil, err
	}
	text := ordered.MustJSON(render(entries))
	v.rendered.Store(key, text)
	return text, nil
}
