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

// checkSets rejects sets with invalid names or members, and an unknown set to serve. [Options.Choose]
// checks that the upstreams of members exist.
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

// CheckSet rejects an invalid set name and invalid members.
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

// UnknownSet returns an error if there is no set with this name.
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

// Choose resolves the sets against the names of all upstreams, and selects the set to serve. missing
// maps sets to members whose upstream does not exist; the rest of the set works.
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

// Servable returns the sets by name; nil before Choose.
func (o *Options) Servable() map[string]permission.Set { return o.sets }

// Lacks returns the reason if the served set lacks an upstream; empty if the upstream is served.
func (o *Options) Lacks(upstream string) string {
	if o.served == nil || o.served.Has(upstream) {
		return ""
	}
	return o.served.Lacks(upstream)
}

// setsOf converts sets for rights. Members without an existing upstream are left out.
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

// UpstreamOf returns the upstream of a set's member; empty if it does not exist.
func UpstreamOf(member string, upstreams []string) string {
	server, _ := memberOf(member, upstreams)
	return server
}

// memberOf splits a set's member into the upstream and the pattern for its tools, which is empty for
// the whole upstream. Upstreams of a client's file may have dots in their names: the longest match
// wins. Both results are empty if there is no such upstream.
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
