package upstream

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/cli/clientfile"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/tools/config"
)

// A new set is named after its client, unless another set has that name. Names have at most 32
// characters.
func TestFreeSet(t *testing.T) {
	t.Parallel()
	long := "/home/me/a-folder-with-a-name-that-is-long"
	for _, test := range []struct {
		name   string
		folder string
		sets   map[string][]string // in the settings
		want   string
	}{
		{"free", "", nil, "cursor"},
		{"the same members", "", map[string][]string{"cursor": {"files", "bench"}}, "cursor"},
		{"other members", "", map[string][]string{"cursor": {"files"}}, "cursor-2"},
		{"two others", "", map[string][]string{"cursor": {"files"}, "cursor-2": {"tides"}}, "cursor-3"},
		{"planned for another file", "", map[string][]string{"planned": nil}, "cursor-2"},
		{"a folder", "/home/me/My Shop", nil, "cursor-my-shop"},
		{"a long folder", long, nil, "cursor-a-folder-with-a-name-that"},
		{"a long folder, taken", long, map[string][]string{"cursor-a-folder-with-a-name-that": {"x"}}, "cursor-a-folder-with-a-name-th-2"},
	} {
		s := survey{sets: map[string]clientfile.ImportedSet{}}
		if _, planned := test.sets["planned"]; planned {
			s.sets["cursor"] = clientfile.ImportedSet{After: []string{"bench", "files"}}
		}
		cl := &client{host: hosts.Find("cursor"), folder: test.folder}
		o := &settings.Options{Options: config.Options{Sets: test.sets}}
		if got := s.freeSet(cl, []string{"bench", "files"}, o); got != test.want {
			t.Errorf("%s: the set is %s, want %s", test.name, got, test.want)
		}
	}
}

// A set keeps the order of its members, without duplicates.
func TestAddToSet(t *testing.T) {
	t.Parallel()
	s := survey{sets: map[string]clientfile.ImportedSet{}}
	o := &settings.Options{Options: config.Options{Sets: map[string][]string{"dev": {"z", "a.get_*"}, "done": {"a"}}}}
	s.addToSet("dev", []string{"a", "z"}, o)
	s.addToSet("dev", []string{"b"}, o)
	s.addToSet("done", []string{"a"}, o)
	s.addToSet("new", []string{"c"}, o)
	got := s.sets["dev"]
	if !slices.Equal(got.Before, []string{"z", "a.get_*"}) || !slices.Equal(got.After, []string{"z", "a.get_*", "a", "b"}) {
		t.Errorf("dev is %v", got)
	}
	if _, changed := s.sets["done"]; changed {
		t.Error("a set that has all members changes")
	}
	if got := s.sets["new"]; got.Before != nil || !slices.Equal(got.After, []string{"c"}) {
		t.Errorf("new is %v", got)
	}
	if len(o.Sets["dev"]) != 2 {
		t.Errorf("the settings have changed: %v", o.Sets)
	}
}

// A toolfold entry names its set by an option or by its address.
func TestSetOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		entry hosts.Entry
		want  string
		rest  []string
	}{
		{hosts.Entry{Command: []string{"toolfold", "serve", "--set=a", "--tier=none"}}, "a", []string{"--tier=none"}},
		{hosts.Entry{Command: []string{"toolfold", "serve", "--read-only", "--set", "a"}}, "a", []string{"--read-only"}},
		{hosts.Entry{Command: []string{"toolfold", "serve", "-set", "a", "-set=b"}}, "b", nil},
		{hosts.Entry{Command: []string{"toolfold", "serve", "--tier", "none"}}, "", []string{"--tier", "none"}},
		{hosts.Entry{Command: []string{"toolfold"}}, "", nil},
		{hosts.Entry{URL: "http://127.0.0.1:8137/mcp/dev"}, "dev", nil},
		{hosts.Entry{URL: "http://127.0.0.1:8137/mcp"}, "", nil},
	} {
		if got := setOf(test.entry); got != test.want {
			t.Errorf("%v: the set is %q, want %q", test.entry, got, test.want)
		}
		if _, rest := setOption(optionsOf(test.entry)); !slices.Equal(rest, test.rest) {
			t.Errorf("%v: the other options are %q, want %q", test.entry, rest, test.rest)
		}
	}
}

// Clients that show different tools of one server share an upstream, unless the shared one would lose
// something.
func TestJoinLimited(t *testing.T) {
	t.Parallel()
	server := func(name string, tools ...string) candidate {
		return candidate{name: name, upstream: config.Upstream{Command: "weather", Include: tools}}
	}
	prompting := server("weather-codex", "set")
	prompting.answer.Prompts = []json.RawMessage{[]byte(`{}`)}
	for _, test := range []struct {
		name  string
		known map[string]config.Upstream
		found []candidate
		want  []string // set members of each taking
	}{
		{"all tools and some", nil, []candidate{server("weather"), server("weather-codex", "get", "a*b")}, []string{"weather", "weather-codex"}},
		{"all tools and one", nil, []candidate{server("weather-codex", "get"), server("weather")}, []string{"weather.get", "weather"}},
		{"different tools", nil, []candidate{server("weather", "get"), server("weather-codex", "set", "get")},
			[]string{"weather.get", "weather.set weather.get"}},
		{"the same tools", nil, []candidate{server("weather", "get"), server("weather", "get")}, []string{"weather", "weather"}},
		{"prompts", nil, []candidate{server("weather"), prompting}, []string{"weather", "weather-codex"}},
		{"of the settings", map[string]config.Upstream{"mine": {Command: "weather"}}, []candidate{server("weather", "get")},
			[]string{"mine.get"}},
		{"limited in the settings", map[string]config.Upstream{"weather": {Command: "weather", Include: []string{"get"}}},
			[]candidate{server("weather", "get"), server("weather-codex", "set")}, []string{"weather", "weather-codex"}},
		{"another server", map[string]config.Upstream{"mine": {Command: "tides"}}, []candidate{server("weather", "get")}, []string{"weather"}},
	} {
		s := survey{candidates: test.found}
		s.joinLimited(&settings.Options{Options: config.Options{Upstreams: test.known}})
		for i, taken := range s.candidates {
			if got := strings.Join(taken.members(), " "); got != test.want[i] {
				t.Errorf("%s: the members are %s, want %s", test.name, got, test.want[i])
			}
			if taken.tools != nil && taken.name == "weather" && test.name == "different tools" &&
				!slices.Equal(taken.upstream.Include, []string{"get", "set"}) {
				t.Errorf("%s: the upstream has %s", test.name, taken.upstream.Include)
			}
		}
	}
}
