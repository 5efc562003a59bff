package permission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/pattern"
)

// Set is a group of upstreams and of their tools. Callers limited to a set get nothing else of other
// servers. The zero value has no servers.
type Set struct {
	Names []string `json:"names"` // of the united sets, sorted

	// Upstreams has patterns of tools by name of server, sorted. Without patterns it includes the
	// whole server, with its prompts and resources.
	Upstreams map[string][]string `json:"upstreams"`
}

// Unite returns the union of sets.
func Unite(sets ...Set) Set {
	all := Set{Upstreams: map[string][]string{}}
	for _, s := range sets {
		all.Names = append(all.Names, s.Names...)
		for server, patterns := range s.Upstreams {
			before, has := all.Upstreams[server]
			if has && len(before) == 0 || len(patterns) == 0 {
				all.Upstreams[server] = nil
				continue
			}
			both := slices.Concat(before, patterns)
			slices.Sort(both)
			all.Upstreams[server] = slices.Compact(both)
		}
	}
	slices.Sort(all.Names)
	all.Names = slices.Compact(all.Names)
	return all
}

// Title names the set in texts.
func (s Set) Title() string {
	switch len(s.Names) {
	case 0:
		return "no set"
	case 1:
		return "the set " + s.Names[0]
	}
	return "the sets " + strings.Join(s.Names, ", ")
}

// Rights returns the rights of callers at the address of the set. Callers may know what it
// excludes.
func (s Set) Rights() *toolfold.Rights {
	rights := Rules{Set: &s}.Rights()
	rights.Public = true
	return rights
}

// OfCaller returns the rights of a caller with rules of its own, which is limited to some sets; without names, to none.
// It reaches tools of other servers only by the sets, or by allow rules if it has rules. The error names a set that is
// not among those that exist: the rights have nothing of it.
func (r Rules) OfCaller(names []string, sets map[string]Set) (rights *toolfold.Rights, unknown error) {
	if len(names) == 0 {
		r.NamedOnly = r.ReadOnly || len(r.Allow) > 0 || len(r.Deny) > 0
		return r.Rights(), nil
	}
	var limits []Set
	for _, name := range names {
		set, known := sets[name]
		if !known {
			unknown = fmt.Errorf("the set %q, which is not in the settings: toolfold upstream sets shows the sets", name)
			continue
		}
		limits = append(limits, set)
	}
	limit := Rules{Set: new(Unite(limits...))}
	return r.Rights().And(limit.Rights()), unknown
}

// Has reports whether the set has any tool of a server.
func (s Set) Has(server string) bool {
	_, has := s.Upstreams[server]
	return has
}

// Lacks returns the reason that a server is not in the set.
func (s Set) Lacks(server string) string {
	return fmt.Sprintf("the server %s is not in %s", server, s.Title())
}

// Reason returns why the set excludes an action; empty if it does not, and for actions of this
// program. An action without aliases stands for a whole server, and is included if the set has any
// of its tools.
func (s Set) Reason(a *toolfold.Action) string {
	server := a.Family.Server
	if server == "" {
		return ""
	}
	patterns := s.Upstreams[server]
	switch {
	case !s.Has(server):
		return s.Lacks(server)
	case len(patterns) == 0, len(a.Aliases) == 0:
		return ""
	case len(a.Aliases) > 1: // SERVER.tool, tool; prompts and resources have only one
		tool := pattern.Name(a.Aliases[1])
		if slices.ContainsFunc(patterns, func(text string) bool { return pattern.AsIs(text).Match(tool) }) {
			return ""
		}
	}
	return fmt.Sprintf("%s has only %s of the server %s", s.Title(), strings.Join(patterns, ", "), server)
}

// Members returns the members of the set in the form of settings, sorted.
func (s Set) Members() (list []string) {
	for _, server := range slices.Sorted(maps.Keys(s.Upstreams)) {
		if len(s.Upstreams[server]) == 0 {
			list = append(list, server)
		}
		for _, text := range s.Upstreams[server] {
			list = append(list, server+"."+text)
		}
	}
	return list
}
