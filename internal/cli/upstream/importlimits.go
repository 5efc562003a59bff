package upstream

import (
	"maps"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/pattern"
	"github.com/toolfold/toolfold/tools/config"
)

// joinLimited merges upstreams of the same server if clients show different tools of it: their sets
// then name the tools. A server stays separate if its set could not express everything: prompts,
// resources or patterns.
func (s *survey) joinLimited(o *settings.Options) {
	whole := map[string]string{} // names of upstreams with all tools, by their other settings
	limited := map[string][]*candidate{}
	for i := range s.candidates {
		t := &s.candidates[i]
		key := unlimited(t.upstream)
		switch {
		case t.name == "":
		case len(t.upstream.Include) == 0 && whole[key] == "":
			whole[key] = t.name
		case t.isJustTools():
			limited[key] = append(limited[key], t)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Upstreams)) {
		if u := o.Upstreams[name]; len(u.Include) == 0 && whole[unlimited(u)] == "" {
			whole[unlimited(u)] = name
		}
	}
	for key, list := range limited {
		first := list[0]
		_, known := o.Upstreams[first.name]
		same := !slices.ContainsFunc(list, func(t *candidate) bool { return t.name != first.name })
		u, name := first.upstream, whole[key]
		u.Include = nil
		if name == "" {
			if known || same { // an upstream of the settings stays unchanged
				continue
			}
			name = first.name
			for _, t := range list {
				u.Include = append(u.Include, t.upstream.Include...)
			}
			slices.Sort(u.Include)
			u.Include = slices.Compact(u.Include)
		}
		for _, t := range list {
			t.tools, t.name, t.upstream = t.upstream.Include, name, u
		}
	}
}

// unlimited returns the settings of an upstream as text, without the limit on its tools.
func unlimited(u config.Upstream) string {
	u.Include = nil
	return string(ordered.MustJSON(u))
}

// isJustTools reports whether the client shows only some tools of the server, by their names.
func (t *candidate) isJustTools() bool {
	answer := t.answer
	return len(t.upstream.Include) > 0 &&
		!slices.ContainsFunc(t.upstream.Include, func(tool string) bool { return strings.ContainsAny(tool, `*?[\`) }) &&
		len(answer.Prompts)+len(answer.Resources)+len(answer.Templates)+len(answer.Problems) == 0
}

// members returns the members of a set for the server.
func (t *candidate) members() (list []string) {
	if t.tools == nil {
		return []string{t.name}
	}
	for _, tool := range t.tools {
		list = append(list, t.name+"."+pattern.Name(tool))
	}
	return list
}
