package permission_test

import (
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/test/notetest"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/toolfoldtest"
)

// family is notes, mounted: save_note and list_notes are legacy names.
func family(t *testing.T) *toolfold.Family {
	t.Helper()
	return toolfoldtest.Mount(t, notetest.Family, &notetest.Service{})
}

func TestMatch(t *testing.T) {
	t.Parallel()
	f := family(t)
	for pattern, want := range map[string]string{
		"note.save": "save", "note_save": "save", "save_note": "save", "mcp__toolfold__save_note": "save", "toolfold.note.save": "save",
		"note": "all", "note.*": "all", "*": "all", "*.list": "list", "list_*": "list", " note.list ": "list",
		"save": "", "note.": "", "notes.save": "", "[": "", "note.sav?": "", "": "",
	} {
		var matched []string
		for _, a := range f.Actions {
			if a.Matches(pattern) {
				matched = append(matched, a.Name)
			}
		}
		got := strings.Join(matched, " ")
		if want == "all" && len(matched) == len(f.Actions) {
			continue
		}
		if got != want {
			t.Errorf("%q matches %q, want %q", pattern, got, want)
		}
	}
}

func TestReason(t *testing.T) {
	t.Parallel()
	f := family(t)
	for _, test := range []struct {
		rules permission.Rules
		want  map[string]string // by action; absent = permitted
	}{
		{permission.Rules{ReadOnly: true}, map[string]string{"save": "the server only reads (readOnly), it "}},
		{permission.Rules{Deny: []string{"save_note"}}, map[string]string{"save": `deny "save_note"`}},
		{permission.Rules{Allow: []string{"*.save"}}, map[string]string{"list": "not in allow"}},
		{permission.Rules{Allow: []string{"note"}, Deny: []string{"*.list"}}, map[string]string{"list": `deny "*.list"`}},
	} {
		rights := test.rules.Rights()
		for _, a := range f.Actions {
			want, denied := test.want[a.Name]
			if a.Name != "save" && a.Name != "list" {
				continue
			}
			if _, got := test.rules.Reason(a); !strings.HasPrefix(got, want) || (got != "") != denied || rights.Allow(a) == denied {
				t.Errorf("%+v: %s: %q, want %q", test.rules, a.Name, got, want)
			}
		}
	}
	if (permission.Rules{}).Rights() != nil {
		t.Error("no rules are rights")
	}
}

// A rule that matches nothing is rejected: it would permit an action that it should deny.
func TestCheck(t *testing.T) {
	t.Parallel()
	families := []*toolfold.Family{family(t)}
	for pattern, want := range map[string]string{"note.svae": `deny: "note.svae" matches no action, did you mean "note.save"?`,
		"zzzzzzzz": "patterns are such as"} {
		if err := (permission.Rules{Deny: []string{"note", pattern}}).Check(families); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	if err := (permission.Rules{Allow: []string{"note.*"}, Deny: []string{"*_note"}}).Check(families); err != nil {
		t.Error(err)
	}
	families = append(families, &toolfold.Family{Name: "later"})
	if err := (permission.Rules{Allow: []string{"later.resources"}}).Check(families); err != nil {
		t.Errorf("what is not known yet: %v", err)
	}
	if err := (permission.Rules{Allow: []string{"lat.resources"}}).Check(families); err == nil {
		t.Error("a pattern that begins with another name passes")
	}
}
