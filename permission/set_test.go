package permission_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/permission"
)

// toolOf is a tool of a server, or a prompt of it if tool is empty.
func toolOf(server, tool string) *toolfold.Action {
	a := &toolfold.Action{Name: "do", Definition: json.RawMessage("{}"), Aliases: []string{server + "." + tool, tool},
		Family: &toolfold.Family{Name: server + "_" + tool, Server: server}}
	if tool == "" {
		a.Aliases = []string{server + ".prompts.hello"}
	}
	return a
}

func TestSet(t *testing.T) {
	t.Parallel()
	set := permission.Set{Names: []string{"dev"}, Upstreams: map[string][]string{"whole": nil, "part": {"a,b", "read_*"}}}
	rights := set.Rights()
	for _, test := range []struct{ server, tool, want string }{
		{"whole", "anything", ""}, {"whole", "", ""}, {"part", "read_file", ""}, {"part", "a,b", ""}, {"", "ours", ""},
		{"part", "write_file", "the set dev has only a,b, read_* of the server part"}, {"part", "", "the set dev has only"},
		{"part", "a b", "the set dev has only"}, {"other", "read_file", "the server other is not in the set dev"},
		{"other", "", "the server other is not in the set dev"}, {"whole2", "x", "the server whole2 is not in the set dev"},
	} {
		a := toolOf(test.server, test.tool)
		if got := rights.Reason(a); !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s.%s: %q, want %q", test.server, test.tool, got, test.want)
		}
		read, err := permission.Parse(rights.Text)
		if err != nil || read.Reason(a) != rights.Reason(a) || read.Bounds().Reason(a) != rights.Reason(a) {
			t.Errorf("%s.%s: the text %s is read as other rights: %v", test.server, test.tool, rights.Text, err)
		}
	}
	if read, _ := permission.Parse(rights.Text); !rights.Public || read.Public {
		t.Error("who is told what a set leaves out does not follow from the address alone")
	}
	if got := strings.Join(set.Members(), " "); got != "part.a,b part.read_* whole" {
		t.Errorf("members %s", got)
	}
}

// A token has the union of its sets. At the address of a set it has the intersection of both.
func TestSetsTogether(t *testing.T) {
	t.Parallel()
	a := permission.Set{Names: []string{"a"}, Upstreams: map[string][]string{"one": nil, "two": {"x"}}}
	b := permission.Set{Names: []string{"b"}, Upstreams: map[string][]string{"one": {"y"}, "two": {"w", "x"}}}
	want := permission.Set{Names: []string{"a", "b"}, Upstreams: map[string][]string{"one": nil, "two": {"w", "x"}}}
	for _, sets := range [][]permission.Set{{a, b}, {b, a}, {a, b, a}} {
		if diff := cmp.Diff(want, permission.Unite(sets...)); diff != "" {
			t.Error(diff)
		}
	}
	united := permission.Unite(a, b)
	token := permission.Rules{ReadOnly: true, Set: &united}.Rights()
	there := token.And(b.Rights())
	var allowed []string
	for _, action := range []*toolfold.Action{toolOf("one", "x"), toolOf("one", "y"), toolOf("two", "w"), toolOf("three", "x")} {
		action.Effect = toolfold.Reads
		if there.Allow(action) {
			allowed = append(allowed, action.Aliases[0])
		}
		if there.Allow(action) != there.Bounds().Allow(action) {
			t.Errorf("%s is there and not permitted", action.Aliases[0])
		}
	}
	if got := strings.Join(allowed, " "); got != "one.y two.w" || there.Public {
		t.Errorf("allowed are %s, told %t", got, there.Public)
	}
	if !slices.Contains(strings.Split(there.Text, "\n"), b.Rights().Text) {
		t.Errorf("what is left behind has the rights %s", there.Text)
	}
	writes := toolOf("one", "y")
	writes.Effect = toolfold.Sets // with the same name
	if there.Allow(writes) || !there.Bounds().Allow(writes) {
		t.Error("a rule is taken for a set")
	}
}

func TestTokensOfSets(t *testing.T) {
	t.Parallel()
	const line = "ci sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a set=dev,ops read-only"
	list, err := permission.ParseTokens([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	if got := list[0]; strings.Join(got.Sets, " ") != "dev ops" || got.String() != line || got.Permits() != "set=dev,ops read-only" {
		t.Errorf("read as %+v", got)
	}
	for _, wrong := range []string{"set=", "set=dev,", "sets=dev"} {
		if _, err := permission.ParseTokens([]byte(strings.Replace(line, "set=dev,ops", wrong, 1))); err == nil {
			t.Errorf("%s is read", wrong)
		}
	}
}

// An admin stands alone: what else would bound its token does not bound the page.
func TestTokensOfAdmins(t *testing.T) {
	t.Parallel()
	const line = "me sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a admin"
	list, err := permission.ParseTokens([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	if got := list[0]; !got.Admin || got.String() != line || got.Permits() != "admin" || got.Rules.Rights() != nil {
		t.Errorf("read as %+v", got)
	}
	for _, wrong := range []string{"read-only admin", "admin read-only", "admin allow=memory", "deny=*.clear admin", "admin set=dev"} {
		if _, err := permission.ParseTokens([]byte(strings.Replace(line, "admin", wrong, 1))); err == nil ||
			!strings.Contains(err.Error(), "the token me is an admin, which no rule and no set can limit") {
			t.Errorf("%s is read: %v", wrong, err)
		}
	}
	for _, wrong := range []string{"Admin", "admin=", "admin=true", "administrator"} {
		if _, err := permission.ParseTokens([]byte(strings.Replace(line, "admin", wrong, 1))); err == nil {
			t.Errorf("%s is read", wrong)
		}
	}
}
