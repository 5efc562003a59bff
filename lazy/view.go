package lazy

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/jsapi"
	"github.com/toolfold/toolfold/internal/call/schema"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/unseen"
)

// View is a snapshot of a surface for callers with the same rights. It is immutable; costly parts
// are computed on first use.
type View struct {
	options ViewOptions

	list    []ListedTool                      // by tools/list
	byName  map[string]entry.Tool             // tools by name
	entries map[*toolfold.Action]*entry.Entry // the entry that calls each action
	caller  string                            // the listed tool that runs any other; empty = no such tool

	headers map[string]json.RawMessage // schemas for [View.Mirrored], by tool

	byID        map[string]*toolfold.Action   // actions that the caller may see, by full name
	servers     map[string][]*toolfold.Family // by other server that the caller may see
	serverNames map[string][]serverName       // these servers' names, by first word

	usages       sync.Map                        // string by *entry.Entry: usages for find
	signatures   sync.Map                        // string by *toolfold.Action
	spelling     func() func(name string) string // how scripts call an action
	rendered     sync.Map                        // json.RawMessage by request
	hits, misses *atomic.Int64
}

// ViewOptions are the options of a [View].
type ViewOptions struct {
	Level     Level
	Tier      toolfold.Tier      // last tier that tools/list shows
	Families  []*toolfold.Family // that the caller may see
	Catalogue *Catalogue         // has at least these families; nil = a new one of these
	Tools     []entry.Tool       // the same families, as tools of the surface
	Disabled  []entry.Tool       // tools that the caller may not call at all
	Names     entry.Names        // what the caller may call

	// Absence returns the error for an unknown name that belongs to a server without tools now, and
	// nil for other names. It may be nil.
	Absence func(name string) *toolfold.Error

	// Within limits what the caller may know of, see [toolfold.Rights]; nil = everything.
	Within *toolfold.Rights

	// Unsaved is why the caller may not write results to files; empty = it may. See [Saving].
	Unsaved string

	// Refused has the forbidden actions, with the reason, by family; nil if the caller may not know
	// them.
	Refused map[string][]string
}

// NewView returns a view.
func NewView(o ViewOptions) *View {
	v := &View{
		options: o, list: List(Within(o.Tools, o.Tier), o.Level),
		byName: map[string]entry.Tool{}, entries: map[*toolfold.Action]*entry.Entry{},
		byID: map[string]*toolfold.Action{}, servers: map[string][]*toolfold.Family{}, serverNames: map[string][]serverName{},
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
	for _, l := range v.list {
		if bytes.Contains(l.InputSchema, []byte(`"x-mcp-header"`)) {
			if v.headers == nil {
				v.headers = map[string]json.RawMessage{}
			}
			v.headers[l.Name] = l.InputSchema
		}
	}
	for _, f := range o.Families {
		if f.Server != "" {
			if name := appendWords(nil, f.Server); len(name) > 0 && v.servers[f.Server] == nil {
				v.serverNames[name[0].text] = append(v.serverNames[name[0].text], serverName{f.Server, name})
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
	v.spelling = sync.OnceValue(func() func(string) string {
		var actions []*toolfold.Action
		for _, f := range o.Families {
			actions = append(actions, f.Actions...)
		}
		return jsapi.Spelling(jsapi.Names(actions, nil))
	})
	if o.Catalogue == nil {
		v.options.Catalogue = NewCatalogue(o.Families...)
	}
	return v
}

// ListAt returns the list of tools/list at a level.
func (v *View) ListAt(level Level) []ListedTool {
	return List(Within(v.options.Tools, v.options.Tier), level)
}

// Mirrored returns the listed schema of a tool if it has x-mcp-header, which makes clients send
// arguments in HTTP headers too; nil for other tools.
func (v *View) Mirrored(tool string) json.RawMessage { return v.headers[tool] }

// Stubs returns the shortest list of tools/list.
func (v *View) Stubs() []ListedTool { return Stubs(Within(v.options.Tools, v.options.Tier)) }

// Row is a tool in the list of all tools.
type Row struct {
	Name     string            `json:"name" doc:"Name to call it by."`
	Summary  string            `json:"summary" doc:"Its purpose."`
	Category toolfold.Category `json:"category" doc:"Tool category."`
	Enabled  bool              `json:"enabled" doc:"Whether it can be called."`
	Reason   string            `json:"reason,omitempty" doc:"Why it cannot be called, or why calls fail just now."`
	Refused  []string          `json:"refused,omitempty" doc:"Actions that are not permitted, and why; with include_disabled."`

	Absent bool `json:"-"` // it is a server without tools, listed to show the reason
	Idle   bool `json:"-"` // it is absent but did not fail and does not wait for the user: find does not name it
}

// Rows returns a row for each tool of the surface; disabled tools come last.
func (v *View) Rows() []Row {
	var rows []Row
	for _, t := range v.options.Tools {
		row := Row{Name: t.Name, Summary: t.Summary, Category: t.Category, Enabled: true}
		if trouble := t.Entries[0].Action.Family.Trouble; trouble != nil {
			row.Reason = trouble()
		}
		if t.Dispatches() {
			row.Refused = v.options.Refused[t.Entries[0].Action.Family.Name]
		}
		rows = append(rows, row)
	}
	for _, t := range v.options.Disabled {
		row := Row{Name: t.Name, Summary: t.Summary, Category: t.Category, Reason: "not permitted here"}
		row.Refused = v.options.Refused[t.Entries[0].Action.Family.Name]
		rows = append(rows, row)
	}
	return rows
}

// lookup returns the entries with a name.
func (v *View) lookup(name string) ([]*entry.Entry, *toolfold.Error) {
	if entries := v.options.Names.Lookup(name); len(entries) > 0 {
		return entries, nil
	}
	if v.options.Absence != nil {
		if err := v.options.Absence(name); err != nil {
			return nil, err
		}
	}
	err := entry.Unknown(name)
	if near := v.options.Names.Nearest(name); near != "" {
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

// entry returns the entry by which the surface calls the action of e, or e itself for a legacy
// name.
func (v *View) entry(e *entry.Entry) *entry.Entry {
	if e.Legacy || v.entries[e.Action] == nil {
		return e
	}
	return v.entries[e.Action]
}

// callable returns an entry in a form that most hosts can call. They reject a tool that is not
// listed, so it is called through a listed one.
func (v *View) callable(e *entry.Entry) *entry.Entry {
	if v.caller == "" || v.lists(e.Tool) {
		return e
	}
	return e.Through(v.caller)
}

// usage returns the usage of an entry for the caller.
func (v *View) usage(e *entry.Entry) string {
	if text, ok := v.usages.Load(e); ok {
		return text.(string)
	}
	text := v.callable(e).Usage(entry.DetailCall)
	v.usages.Store(e, text)
	return text
}

// signature returns the signature of an action in scripts, in TypeScript.
func (v *View) signature(a *toolfold.Action) string {
	if text, ok := v.signatures.Load(a); ok {
		return text.(string)
	}
	input, output := a.Input, json.RawMessage(nil)
	if input == nil {
		input = entry.New(a, a.FullName()).In(entry.FormFlat).InputSchema()
	}
	switch {
	case !a.OpenResult():
		output = schema.Whole(a)
	case a.Definition != nil:
		output, _ = unseen.JSON(memberOf(a.Definition, "outputSchema"))
	}
	text := jsapi.Signature(a.FullName(), v.spelling()(a.FullName()), input, output)
	v.signatures.Store(a, text)
	return text
}

// lists reports whether tools/list shows a tool to every session.
func (v *View) lists(tool string) bool {
	return slices.ContainsFunc(v.list, func(l ListedTool) bool { return l.Name == tool })
}

// toolsOf returns the surface's tools that call the actions with a name.
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

// render returns the description of a name and caches it. Unknown names are not cached.
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
