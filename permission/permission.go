// Package permission makes rights from patterns of action names, current or former.
//
// The rights of a caller narrow the rights of the server. They are stored as text, with tasks and
// in the keys of values that callers with equal rights share. An agent runs with the rights of the
// caller that runs it, limited to the rights of the callers that registered or changed it. These
// are their rights on the servers of that time.
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

// Rules decide which actions callers may see and call. The zero value permits all.
//
// A pattern is a name in which * stands for any characters. It may name an action (memory.store,
// *.delete), a family (memory), or a legacy name (memory_store, task_*). Spellings of hosts, such
// as mcp__toolfold__memory, match too. Deny matches all names of an action. Which names allow rules
// match is decided by [toolfold.Action.Grants].
type Rules struct {
	ReadOnly bool     `json:"readOnly,omitempty"` // permit only actions that read, or that restrain themselves to reading
	Allow    []string `json:"allow,omitempty"`    // permit only actions that a pattern matches; empty = all
	Deny     []string `json:"deny,omitempty"`     // wins over Allow

	// NamedOnly permits tools of other servers only if Allow names them. It is set for callers with
	// their own rights: these were given for the actions known here.
	NamedOnly bool `json:"named,omitempty"`

	// Set limits the tools of other servers. Nil = no limit.
	Set *Set `json:"set,omitempty"`
}

// Rights returns the rights of callers; nil if everything is permitted. The actions that find,
// describe and call other actions are included unless denied, because their calls are checked too.
func (r Rules) Rights() *toolfold.Rights {
	if !r.ReadOnly && len(r.Allow) == 0 && len(r.Deny) == 0 && !r.NamedOnly && r.Set == nil {
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
	var known sync.Map // of bool by full name, for speed
	why := func(a *toolfold.Action) string {
		_, why := r.Reason(a)
		return why
	}
	return &toolfold.Rights{Text: string(ordered.MustJSON(r)), OnlyReads: r.ReadOnly, Why: why, Allows: func(a *toolfold.Action) bool {
		if a.Grants != nil || a.Family.Server != "" { // it depends on more than the name
			setting, _ := r.Reason(a)
			return setting == ""
		}
		if allowed, ok := known.Load(a.FullName()); ok {
			return allowed.(bool)
		}
		setting, _ := r.Reason(a)
		known.Store(a.FullName(), setting == "")
		return setting == ""
	}}
}

// Parse parses [toolfold.Rights.Text].
func Parse(text string) (*toolfold.Rights, error) {
	var rights *toolfold.Rights
	for line := range strings.Lines(text) {
		var r Rules
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.DisallowUnknownFields() // rules of later versions must not be ignored
		if err := decoder.Decode(&r); err != nil {
			return nil, fmt.Errorf("reading rights: %w", err)
		}
		rights = rights.And(r.Rights())
	}
	return rights, nil
}

// Reason returns the setting that excludes an action, and the reason; both are empty if the action
// is permitted.
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
	case r.NamedOnly && a.Definition != nil && !slices.ContainsFunc(r.Allow, a.AllowedBy):
		return "allow", "a tool of another server, which allow does not name"
	case len(r.Allow) > 0 && !discovery && !slices.ContainsFunc(r.Allow, a.AllowedBy):
		return "allow", "not in allow"
	}
	return "", ""
}

// Check rejects patterns that match no action of the families: a misspelt pattern would permit an
// action that it should deny. Patterns that begin with the name of a family without actions pass,
// because its actions are not known yet.
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
