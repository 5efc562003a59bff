package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/suggest"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/tools/config"
)

// checkSets refuses sets with invalid names or members, and one to serve that is not among them. Whether members name
// upstreams that there are is another question: see [Options.Choose].
func checkSets(o config.Options) error {
	for _, name := range slices.Sorted(maps.Keys(o.Sets)) {
		if err := CheckSet(name, o.Sets[name]); err != nil {
			return fmt.Errorf("sets: %w", err)
		}
	}
	if o.Set == "" {
		return nil
	}
	return UnknownSet(o.Sets, o.Set)
}

// CheckSet refuses an invalid name of a set, and members that cannot be.
func CheckSet(name string, members []string) error {
	if !UpstreamName().MatchString(name) {
		return fmt.Errorf("%q is no name for a set: at most 32 small letters, digits, - and _, a letter first", name)
	}
	for _, member := range members {
		server, tool, hasTool := strings.Cut(member, ".")
		if server == "" || strings.Contains(server, "*") || hasTool && tool == "" {
			return fmt.Errorf("%q is no member of the set %s: members are upstreams, such as github, or tools of one, such as files.read_*",
				member, name)
		}
	}
	return nil
}

// UnknownSet returns the error of a name that is no set; nil for a set.
func UnknownSet(sets map[string][]string, name string) error {
	if _, known := sets[name]; known {
		return nil
	}
	names := slices.Sorted(maps.Keys(sets))
	if near := suggest.Nearest(name, names); near != "" {
		return fmt.Errorf("there is no set %q, did you mean %q? There are %s", name, near, strings.Join(names, ", "))
	}
	if len(names) == 0 {
		return fmt.Errorf("there is no set %q, and no other: toolfold upstream sets %s UPSTREAM… makes it", name, name)
	}
	return fmt.Errorf("there is no set %q: there are %s", name, strings.Join(names, ", "))
}

// Choose reads the sets, of the names of all upstreams that there are, and takes the one to serve. Missing has the members
// by set whose upstream is not there; the rest of the set works.
func (o *Options) Choose(upstreams []string) (missing map[string][]string, err error) {
	o.sets, missing = setsOf(o.Sets, upstreams), map[string][]string{}
	for name, members := range o.Sets {
		for _, member := range members {
			if UpstreamOf(member, upstreams) == "" {
				missing[name] = append(missing[name], member)
			}
		}
	}
	if o.Set == "" {
		return missing, nil
	}
	if err := UnknownSet(o.Sets, o.Set); err != nil {
		return nil, err
	}
	set := o.sets[o.Set]
	o.served = &set
	return missing, nil
}

// Servable returns the sets by name, once one was chosen.
func (o *Options) Servable() map[string]permission.Set { return o.sets }

// Lacks says why an upstream is not served: the set lacks it. It is empty for one that is served.
func (o *Options) Lacks(upstream string) string {
	if o.served == nil || o.served.Has(upstream) {
		return ""
	}
	return o.served.Lacks(upstream)
}

// setsOf returns sets as rights have them. Members whose upstream is not there leave nothing.
func setsOf(sets map[string][]string, upstreams []string) map[string]permission.Set {
	all := map[string]permission.Set{}
	for name, members := range sets {
		set := permission.Set{Names: []string{name}}
		for _, member := range members {
			if server, tool := memberOf(member, upstreams); server != "" {
				one := permission.Set{Upstreams: map[string][]string{server: nil}}
				if tool != "" {
					one.Upstreams[server] = []string{tool}
				}
				set = permission.Unite(set, one)
			}
		}
		all[name] = set
	}
	return all
}

// UpstreamOf returns the upstream that a member of a set names; empty if there is no such upstream.
func UpstreamOf(member string, upstreams []string) string {
	server, _ := memberOf(member, upstreams)
	return server
}

// memberOf takes a member of a set apart: the upstream, and the pattern of its tools, which is empty for the whole upstream.
// An upstream in a client's file may have dots in its name: of several that fit the longest is meant. Both are empty if
// there is no such upstream.
func memberOf(member string, upstreams []string) (server, tool string) {
	if slices.Contains(upstreams, member) {
		return member, ""
	}
	for _, name := range upstreams {
		if rest, found := strings.CutPrefix(member, name+"."); found && rest != "" && len(name) > len(server) {
			server, tool = name, rest
		}
	}
	return server, tool
}
