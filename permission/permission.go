// Package permission makes rights of patterns over the names of actions, under
// every name that an action has or had.
//
// The rights of a caller narrow those of the server. They are kept as text: with
// tasks, and in the keys of what is computed once for all callers that share
// them. An agent runs with the rights of whoever runs it, and no more than those
// have who registered or changed it, on the servers where they did.
//
// It is not a stable API: see docs/stability.md.
package permission

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// Rules say which actions callers may see and call. The zero value permits all.
//
// A pattern is a name in which * stands for any characters: of an action
// (memory.store, *.delete), of a whole family (memory), or a legacy name
// (memory_store, task_*). Names as hosts spell them, such as
// mcp__toolfold__memory, count too. A denied action is denied under all names;
// which names count where something is allowed, [toolfold.Action.Grants] says.
type Rules struct {
	ReadOnly bool     `json:"readOnly,omitempty"` // permit only what merely reads, or restrains itself to that
	Allow    []string `json:"allow,omitempty"`    // permit only what a pattern matches; empty permits all
	Deny     []string `json:"deny,omitempty"`     // goes before Allow

	// Named permits tools of other servers only where Allow names them: who has rights of
	// their own was given them for what is known here.
	Named bool `json:"named,omitempty"`

	// Set permits of other servers only what it has. Nil permits all.
	Set *Set `json:"set,omitempty"`
}

// Rights returns the rights of callers: nil where everything is permitted. The
// actions that find, describe and call others stay, unless denied, because what
// they call is checked in its turn.
func (r Rules) Rights() *toolfold.Rights {
	if !r.ReadOnly && len(r.Allow) == 0 && len(r.Deny) == 0 && !r.Named && r.Set == nil {
		return nil
	}
	rights := r.rights()
	if r.Set != nil {
		rights.Within, rights.Title = Rules{Set: r.Set}.rights(), r.Set.Title()
	}
	return rights
}

// rights returns the rights of rules that do not permit everything.
func (r Rules) rights() *toolfold.Rights {
	var known sync.Map // of bool by full name: every call asks
	why := func(a *toolfold.Action) string {
		_, why := r.Reason(a)
		return why
	}
	return &toolfold.Rights{Text: string(ordered.MustJSON(r)), OnlyReads: r.ReadOnly, Why: why, Allows: func(a *toolfold.Action) bool {
		if allowed, ok := known.Load(a.FullName()); ok {
			return allowed.(bool)
		}
		setting, _ := r.Reason(a)
		if a.Grants == nil && a.Family.Server == "" { // else it depends on what servers list now, and on more names than the full one
			known.Store(a.FullName(), setting == "")
		}
		return setting == ""
	}}
}

// Parse returns the rights that a text of [toolfold.Rights] has.
func Parse(text string) (*toolfold.Rights, error) {
	var rights *toolfold.Rights
	for line := range strings.Lines(text) {
		var r Rules
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.DisallowUnknownFields() // a rule of a later version must not be lost
		if err := decoder.Decode(&r); err != nil {
			return nil, fmt.Errorf("reading rights: %w", err)
		}
		rights = rights.And(r.Rights())
	}
	return rights, nil
}

// Reason returns the setting that excludes an action, and why it does; both are
// empty when the action is permitted.
func (r Rules) Reason(a *toolfold.Action) (setting, why string) {
	if r.Set != nil {
		if why := r.Set.Reason(a); why != "" {
			return "set", why
		}
	}
	if i := slices.IndexFunc(r.Deny, a.Matches); i >= 0 {
		return "deny", fmt.Sprintf("deny %q", r.Deny[i])
	}
	discovery := a.Family.Category == callctx.Discovery
	switch {
	case r.ReadOnly && a.Effect != toolfold.Reads && !a.Restrains && !discovery:
		return "readOnly", fmt.Sprintf("the server only reads (readOnly), it %s", a.Effect)
	case r.Named && a.Definition != nil && !slices.ContainsFunc(r.Allow, a.AllowedBy):
		return "allow", "a tool of another server, which allow does not name"
	case len(r.Allow) > 0 && !discovery && !slices.ContainsFunc(r.Allow, a.AllowedBy):
		return "allow", "not in allow"
	}
	return "", ""
}

// Check refuses a pattern that matches no action of the families: a misspelt
// one would permit what it should deny. Of a family without actions nothing is known yet:
// patterns that begin with its name pass.
func (r Rules) Check(families []*toolfold.Family) error {
	var known []string
	for _, f := range families {
		for _, a := range f.Actions {
			known = append(known, a.Names()...)
		}
	}
	for _, setting := range []struct {
		name     string
		patterns []string
	}{{"allow", r.Allow}, {"deny", r.Deny}} {
		for _, pattern := range setting.patterns {
			matches := slices.ContainsFunc(families, func(f *toolfold.Family) bool {
				if len(f.Actions) == 0 {
					return strings.HasPrefix(pattern, f.Name)
				}
				return slices.ContainsFunc(f.Actions, func(a *toolfold.Action) bool { return a.Matches(pattern) })
			})
			if matches {
				continue
			}
			if near := suggest.Nearest(pattern, known); near != "" {
				return fmt.Errorf("%s: %q matches no action, did you mean %q?", setting.name, shorten.Quoted(pattern), near)
			}
			return fmt.Errorf("%s: %q matches no action; patterns are such as memory.store, memory, *.delete or memory_store", setting.name,
				shorten.Quoted(pattern))
		}
	}
	return nil
}
