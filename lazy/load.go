package lazy

import (
	"context"
	"slices"
	"sync"

	"github.com/toolfold/toolfold/tools"
)

// Session is the connection that a call came in on.
type Session struct {
	ID string

	// Keeps says that the list of this session may change: its protocol is
	// 2025-11-25 or older. Later ones forbid that a call changes a list.
	Keeps bool
}

type sessionKey struct{}

// WithSession tells the actions that run under ctx whom they serve.
func WithSession(ctx context.Context, s Session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// sessionOf is the session of a call; the zero Session, which keeps nothing,
// for calls from the shell.
func sessionOf(ctx context.Context) Session {
	s, _ := ctx.Value(sessionKey{}).(Session)
	return s
}

// loads are the tools that sessions loaded, by session.
type loads struct {
	mu       sync.Mutex
	sessions map[string][]string
}

func newLoads() *loads { return &loads{sessions: map[string][]string{}} }

// add adds names and tells whether any of them is new.
func (l *loads) add(session string, names []string) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range names {
		if !slices.Contains(l.sessions[session], name) {
			l.sessions[session] = append(l.sessions[session], name)
			changed = true
		}
	}
	return changed
}

func (l *loads) names(session string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.sessions[session])
}

func (l *loads) drop(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sessions, session)
}

// Load returns the whole tools that a name stands for, and puts them on the
// list of the session, where that may and has to grow.
func (d *Discovery) Load(ctx context.Context, name string) ([]Listed, *tools.Error) {
	list, err := d.toolsOf(d.state.Load(), name)
	if err != nil {
		return nil, err
	}
	definitions := make([]Listed, len(list))
	names := make([]string, len(list))
	for i, t := range list {
		definitions[i], names[i] = show(t, Full), t.Name
	}
	if s := sessionOf(ctx); d.Grows(s) && d.loads.add(s.ID, names) {
		d.options.Grown(ctx)
	}
	return definitions, nil
}

// Lists tells whether the session of a call is listed all these tools.
func (d *Discovery) Lists(ctx context.Context, names []string) bool {
	listed := d.Active(ctx).Listed
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(listed, name) })
}

// toolsOf are the tools of the surface under which the actions that a name
// stands for are called.
func (d *Discovery) toolsOf(state *state, name string) ([]tools.Tool, *tools.Error) {
	entries, err := d.lookup(name)
	if err != nil {
		return nil, err
	}
	var list []tools.Tool
	for _, e := range entries {
		if home, ok := state.byName[state.shown(tools.Named(e.Action, "")).Tool]; ok {
			list = append(list, home)
		}
	}
	return list, nil
}

// Grows tells whether loading adds to the list of a session.
func (d *Discovery) Grows(s Session) bool {
	return d.options.Level == Search && s.Keeps && s.ID != ""
}

// Drop forgets a session that has ended.
func (d *Discovery) Drop(session string) { d.loads.drop(session) }

// Active is what a session sees now.
type Active struct {
	Level  Level
	Listed []string // names, in order
	Loaded []string
	Cache  CacheCounts
}

// Active tells what the session of a call sees.
func (d *Discovery) Active(ctx context.Context) Active {
	session := sessionOf(ctx)
	active := Active{Level: d.options.Level, Loaded: []string{}, Cache: d.cache.counts()}
	for _, l := range d.ListFor(session) {
		active.Listed = append(active.Listed, l.Name)
	}
	if d.Grows(session) {
		active.Loaded = append(active.Loaded, d.loads.names(session.ID)...)
	}
	return active
}

// ListFor is what tools/list shows a session.
func (d *Discovery) ListFor(s Session) []Listed {
	state := d.state.Load()
	if !d.Grows(s) {
		return state.listed
	}
	list := slices.Clone(state.listed)
	for _, name := range d.loads.names(s.ID) {
		if tool, ok := state.byName[name]; ok { // else it is gone since
			list = with(list, show(tool, Full))
		}
	}
	return list
}

// with puts a tool on a list, in the place it may have there already.
func with(list []Listed, tool Listed) []Listed {
	i := slices.IndexFunc(list, func(l Listed) bool { return l.Name == tool.Name })
	if i < 0 {
		return append(list, tool)
	}
	list[i] = tool
	return list
}

// ListAt is what tools/list shows when a level is asked for.
func (d *Discovery) ListAt(level Level) []Listed {
	return List(d.permitted(d.state.Load().tools), level)
}

// Stubs is what tools/list shows when the least is asked for.
func (d *Discovery) Stubs() []Listed {
	return Stubs(d.permitted(d.state.Load().tools))
}

// permitted leaves out the tools of which nothing may be called.
func (d *Discovery) permitted(list []tools.Tool) []tools.Tool {
	return slices.DeleteFunc(slices.Clone(list), func(t tools.Tool) bool {
		return d.disabled(t) != nil
	})
}

// disabled is why a tool cannot be called at all; nil when it can.
func (d *Discovery) disabled(t tools.Tool) *tools.Error {
	var refusal *tools.Error
	for _, e := range t.Entries {
		if refusal = d.refusal(e.Action); refusal == nil {
			return nil
		}
	}
	return refusal
}

// Row is a tool in the account of all tools.
type Row struct {
	Name     string
	Summary  string
	Category tools.Category
	Reason   string // why it is disabled; empty when it is enabled
}

// Rows accounts for all tools of the surface, also those that are disabled.
func (d *Discovery) Rows() []Row {
	state := d.state.Load()
	rows := make([]Row, len(state.tools))
	for i, t := range state.tools {
		rows[i] = Row{Name: t.Name, Summary: t.Summary, Category: t.Category}
		if refusal := d.disabled(t); refusal != nil {
			rows[i].Reason = refusal.Message
		}
	}
	return rows
}
