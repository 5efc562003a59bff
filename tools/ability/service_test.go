package ability

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/tools"
)

// codeOf is the code of a refusal, and its text with the hint.
func codeOf(t *testing.T, err error) (code, text string) {
	t.Helper()
	var refused *tools.Error
	if !errors.As(err, &refused) {
		t.Fatalf("%v is no refusal", err)
	}
	for _, p := range refused.Problems {
		text += p.Text() + "; "
	}
	return refused.Code, text + refused.Message + "; " + refused.Hint
}

func TestRegisterAndGet(t *testing.T) {
	t.Parallel()
	s, _ := newService(t)
	in := RegisterIn{
		AbilityID: "go-errors", Content: "Wrap.", DisplayName: "Errors", Description: "d", Category: "go", Tags: []string{"go"},
		ApplicableTo: []string{"coder"}, ExcludeFrom: []string{"bob"}, Priority: 7, Enabled: true,
		Requires: []string{"go"}, Conflicts: []string{"panics"},
	}
	for i, want := range []RegisterOut{
		{Registered: true, AbilityID: "go-errors", Message: "registered go-errors"},
		{Registered: true, AbilityID: "go-errors", Replaced: true, Message: "replaced go-errors"},
	} {
		in.Priority += i
		got, err := s.Register(t.Context(), in)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("%v\n%s", err, diff)
		}
	}
	got, err := s.Get(t.Context(), GetIn{"go-errors"})
	want := Ability{
		ID: "go-errors", Content: "Wrap.", DisplayName: "Errors", Description: "d", Category: "go", Tags: []string{"go"},
		ApplicableTo: []string{"coder"}, ExcludeFrom: []string{"bob"}, Priority: 8, Enabled: true,
		Requires: []string{"go"}, Conflicts: []string{"panics"}, Source: Stored,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestRegisterRefuses(t *testing.T) {
	t.Parallel()
	s, workspace := newService(t)
	writeFile(t, workspace, "team.md", "The team's.")
	for _, test := range []struct {
		in         RegisterIn
		code, text string
	}{
		{RegisterIn{AbilityID: "Upper"}, InvalidID, `"Upper" is not lower-case`},
		{RegisterIn{AbilityID: "9th"}, InvalidID, "a letter first"},
		{RegisterIn{AbilityID: "é"}, InvalidID, "lower-case letters"},
		{RegisterIn{AbilityID: "a", Requires: []string{"b", "Not An Id"}}, tools.InvalidInput, "requires/1 must be a valid id"},
		{RegisterIn{AbilityID: "a", Conflicts: []string{"a"}}, tools.InvalidInput, "conflicts/0 must be a valid id of another"},
		{RegisterIn{AbilityID: "team"}, RegisterFailed, ".toolfold/abilities/team.md"},
	} {
		_, err := s.Register(t.Context(), test.in)
		if code, text := codeOf(t, err); code != test.code || !strings.Contains(text, test.text) {
			t.Errorf("%v: %s: %s", test.in.AbilityID, code, text)
		}
	}
	if list, _ := s.store.All(t.Context()); len(list) > 0 {
		t.Errorf("refused, but kept: %v", list)
	}
}

// A file goes before a stored ability, which is seen again without it.
func TestFileGoesFirst(t *testing.T) {
	t.Parallel()
	s, workspace := newService(t, simple("both", "stored"))
	source := func() string {
		t.Helper()
		a, err := s.Get(t.Context(), GetIn{"both"})
		if err != nil {
			t.Fatal(err)
		}
		list, err := s.List(t.Context(), ListIn{Limit: 10})
		if err != nil || list.Total != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		if out := inject(t, s, ask()); out.CombinedContent != a.Content {
			t.Errorf("get shows %q, inject %q", a.Content, out.CombinedContent)
		}
		return a.Source + ": " + a.Content
	}
	if got := source(); got != "store: stored" {
		t.Error(got)
	}
	writeFile(t, workspace, "both.md", "filed")
	if got := source(); got != ".toolfold/abilities/both.md: filed" {
		t.Error(got)
	}
	if err := os.Remove(filepath.Join(workspace, Folder, "both.md")); err != nil {
		t.Fatal(err)
	}
	if got := source(); got != "store: stored" {
		t.Error(got)
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	s, workspace := newService(t, simple("one", ""), simple("both", ""))
	writeFile(t, workspace, "both.md", "")
	for _, want := range []RemoveOut{
		{Removed: true, AbilityID: "one", Message: "removed one"},
		{AbilityID: "one", Message: `there is no ability "one"`},
		{AbilityID: "no\x00id", Message: `there is no ability "no\x00id"`},
	} {
		got, err := s.Remove(t.Context(), RemoveIn{want.AbilityID})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
	}
	_, err := s.Remove(t.Context(), RemoveIn{"both"})
	if code, text := codeOf(t, err); code != RemoveFailed || !strings.Contains(text, ".toolfold/abilities/both.md") {
		t.Errorf("%s: %s", code, text)
	}
}

func TestGetRefuses(t *testing.T) {
	t.Parallel()
	s, workspace := newService(t)
	writeFile(t, workspace, "bad.md", "---\nnope: 3\n---\n")
	for id, want := range map[string]string{
		"other": "ability.list", "no\x00id": `"no\x00id"`, "bad": `.toolfold/abilities/bad.md line 2: "nope" is unknown`,
	} {
		_, err := s.Get(t.Context(), GetIn{id})
		if code, text := codeOf(t, err); code != NotFound || !strings.Contains(text, want) {
			t.Errorf("%s: %s: %s", id, code, text)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	low, off, high := simple("b-low", ""), simple("a-off", ""), simple("c-high", "")
	low.Priority, low.Tags, low.Category = 10, []string{"x", "y"}, "go"
	off.Enabled, off.Tags = false, []string{"y"}
	high.Priority, high.Category = 90, "go"
	s, workspace := newService(t, low, off, high)
	writeFile(t, workspace, "filed.md", "---\ndisplayName: Filed\ndescription: d\ntags: [z]\n---\nText")
	writeFile(t, workspace, "bad.md", "---\nnope: 3\n---\n")
	yes, no := true, false
	for _, test := range []struct {
		in   ListIn
		want []string
	}{
		{ListIn{}, []string{"c-high", "a-off", "filed", "b-low"}},
		{ListIn{Category: "go"}, []string{"c-high", "b-low"}},
		{ListIn{Tags: []string{"z", "x"}}, []string{"filed", "b-low"}},
		{ListIn{Enabled: &yes, Tags: []string{"y"}}, []string{"b-low"}},
		{ListIn{Enabled: &no}, []string{"a-off"}},
		{ListIn{Category: "other"}, nil},
	} {
		test.in.Limit = 4
		out, err := s.List(t.Context(), test.in)
		var got []string
		for _, a := range out.Abilities {
			got = append(got, a.AbilityID)
		}
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil || out.Total != len(test.want) || out.HasMore || out.NextCursor != "" {
			t.Errorf("%+v: %+v, %v\n%s", test.in, out, err, diff)
		}
		broken := []Broken{{File: ".toolfold/abilities/bad.md", Line: 2, Reason: `"nope" is unknown`}}
		if diff := cmp.Diff(broken, out.Broken); diff != "" {
			t.Errorf("broken (-want +got)\n%s", diff)
		}
	}
}

// Pages go on where the one before ended, also when that ability is gone.
func TestListPages(t *testing.T) {
	t.Parallel()
	var stored []Ability
	for i := range 7 {
		a := simple(fmt.Sprintf("a%d", i), "")
		a.Priority = 1 + i/2
		stored = append(stored, a)
	}
	s, _ := newService(t, stored...)
	var got []string
	in := ListIn{Limit: 3}
	for more := true; more; {
		page, err := s.List(t.Context(), in)
		if err != nil || len(got) > 7 {
			t.Fatal(got, err)
		}
		for _, a := range page.Abilities {
			got = append(got, a.AbilityID)
			if _, err := s.store.Remove(t.Context(), a.AbilityID); err != nil {
				t.Fatal(err)
			}
		}
		in.Cursor, more = page.NextCursor, page.HasMore
	}
	if want := []string{"a6", "a4", "a5", "a2", "a3", "a0", "a1"}; !cmp.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	_, err := s.List(t.Context(), ListIn{Limit: 3, Cursor: "nonsense"})
	if code, text := codeOf(t, err); code != tools.InvalidInput || !strings.Contains(text, "cursor") {
		t.Errorf("%s: %s", code, text)
	}
}

// failingStore cannot be read.
type failingStore struct{ Store }

func (failingStore) All(context.Context) ([]Ability, error) { return nil, errors.New("disk") }

// A store that fails is no empty store.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	s := New(failingStore{}, "")
	if _, err := s.List(t.Context(), ListIn{Limit: 1}); err == nil {
		t.Error("list succeeded")
	}
	if _, err := s.Inject(t.Context(), ask()); err == nil {
		t.Error("inject succeeded")
	}
}
