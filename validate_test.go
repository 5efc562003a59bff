package toolfold_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/test/notetest"
	"github.com/toolfold/toolfold/toolfoldtest"
)

// twins has a method with a result field without a text.
type twins struct{}

type twinOut struct {
	Text string `json:"text" doc:"Text."`
	More int    `json:"more"`
}

func (*twins) Nothing(context.Context, notetest.GetIn) (struct{}, error) {
	return struct{}{}, nil
}

func (*twins) Twin(context.Context, notetest.GetIn) (twinOut, error) { return twinOut{}, nil }

// Every mistake in a declaration is rejected, and the error names the action.
func TestValidateRefuses(t *testing.T) {
	t.Parallel()
	type action = toolfold.Action
	for _, test := range []struct {
		why, want string
		change    func(f *toolfold.Family, a *action)
	}{
		{"upper case family", "the name is not lower snake case", func(f *toolfold.Family, _ *action) { f.Name = "Note" }},
		{"no family summary", "has no summary", func(f *toolfold.Family, _ *action) { f.Summary = "" }},
		{"long family summary", "more than 60", func(f *toolfold.Family, _ *action) { f.Summary = strings.Repeat("x", 61) }},
		{"unknown tier", "has the tier 4, which is not", func(f *toolfold.Family, _ *action) { f.Tier = 4 }},
		{"negative tier", "has the tier -1, which is not", func(f *toolfold.Family, _ *action) { f.Tier = -1 }},
		{"bare with several actions", "is bare but has 3 actions", func(f *toolfold.Family, _ *action) { f.Bare = true }},
		{"an action twice", "is declared twice", func(_ *toolfold.Family, a *action) { a.Name = "list" }},
		{"no summary", "has no summary", func(_ *toolfold.Family, a *action) { a.Summary = "" }},
		{"two lines of summary", "more than one line", func(_ *toolfold.Family, a *action) { a.Summary = "a\nb" }},
		{"long summary", "more than 80", func(_ *toolfold.Family, a *action) { a.Summary = strings.Repeat("x", 81) }},
		{"no effect", "has no effect", func(_ *toolfold.Family, a *action) { a.Effect = 0 }},
		{"no example", "has no example", func(_ *toolfold.Family, a *action) { a.Example = "" }},
		{"broken example", "does not parse", func(_ *toolfold.Family, a *action) { a.Example = "{" }},
		{"invalid example", "does not validate: text is missing", func(_ *toolfold.Family, a *action) { a.Example = "{}" }},
		{"stray in the example", "does not validate: \"limit\" is unknown",
			func(_ *toolfold.Family, a *action) { a.Example = `{"text":"x","limit":3}` }},
		{"nothing to run", "has nothing to run", func(_ *toolfold.Family, a *action) { a.Run = toolfold.Handler{} }},
		{"no result", "returns nothing", func(_ *toolfold.Family, a *action) { a.Run = toolfold.Method((*twins).Nothing) }},
		{"a parameter twice", "note.save text: is declared twice", func(_ *toolfold.Family, a *action) {
			a.Optional = append(toolfold.Fields{a.Required[0]}, a.Optional...)
		}},
		{"a reserved parameter", "the name is reserved", func(_ *toolfold.Family, a *action) {
			a.Optional = append(toolfold.Fields{toolfold.String{Name: "action", Doc: "x"}}, a.Optional...)
		}},
		{"a format that nothing checks", `note.save text: the format "adress" is not one that is checked`, func(_ *toolfold.Family, a *action) {
			a.Required = toolfold.Fields{toolfold.String{Name: "text", Doc: "x", Format: "adress"}}
		}},
		{"a parameter without text", "has no text", func(_ *toolfold.Family, a *action) {
			a.Required = toolfold.Fields{toolfold.String{Name: "text"}}
		}},
		{"another type under the same name", `"priority" has another meaning`, func(f *toolfold.Family, _ *action) {
			f.Actions[1].Optional = toolfold.Fields{f.Actions[1].Optional[0], toolfold.Int{Name: "priority", Doc: "How urgent."}}
		}},
		{"another text under the same name", `"priority" has another meaning`, func(f *toolfold.Family, _ *action) {
			f.Actions[1].Optional = toolfold.Fields{f.Actions[1].Optional[0], toolfold.String{Name: "priority", Doc: "Something else."}}
		}},
		{"a rename of no parameter", `renames "count"`, func(_ *toolfold.Family, a *action) {
			a.Legacy = toolfold.Was("save_note", toolfold.Rename{Field: toolfold.Int{Name: "count", Doc: "x"}, Was: "n"})
		}},
		{"declared, but not in the struct", `"count" is declared, but notetest.saveIn has no such member`,
			func(_ *toolfold.Family, a *action) {
				a.Optional = append(toolfold.Fields{toolfold.Int{Name: "count", Doc: "x"}}, a.Optional...)
			}},
		{"in the struct, but not declared", `has a member "pinned" that is not declared`, func(_ *toolfold.Family, a *action) {
			a.Optional = slices.Delete(slices.Clone(a.Optional), 2, 3)
		}},
		{"another type in the struct", "integer is declared, string is behind it", func(_ *toolfold.Family, a *action) {
			a.Required = toolfold.Fields{toolfold.Int{Name: "text", Doc: "x"}}
		}},
		{"a result field without text", "note.get result more: has no text", func(f *toolfold.Family, _ *action) {
			f.Actions[2].Run = toolfold.Method((*twins).Twin)
		}},
	} {
		t.Run(test.why, func(t *testing.T) {
			t.Parallel()
			changed := *notetest.Family.Declared()
			for _, a := range changed.Actions {
				a.Family = nil
			}
			test.change(&changed, changed.Actions[0])
			err := changed.Validate()
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Validate says %v, want %q", err, test.want)
			}
		})
	}
}

// Mount fails if the service is not the one whose methods the actions run.
func TestMountRefuses(t *testing.T) {
	t.Parallel()
	_, err := toolfold.Mount(notetest.Family, func(context.Context) (*twins, error) { return &twins{}, nil })
	const want = "note.save runs a method of *notetest.Service, but the family is mounted on *toolfold_test.twins"
	if err == nil || err.Error() != want {
		t.Errorf("Mount says %v, want %q", err, want)
	}
}

func TestDeclarationIsValid(t *testing.T) {
	t.Parallel()
	if err := notetest.Family.Validate(); err != nil {
		t.Fatal(err)
	}
}

// A family without a category and a tier is valid, and gets both when mounted.
func TestDefaultsOfFamilies(t *testing.T) {
	t.Parallel()
	family := notetest.Family
	family.Category, family.Tier = "", 0
	if err := family.Validate(); err != nil {
		t.Error(err)
	}
	mounted := toolfoldtest.Mount(t, family, &notetest.Service{})
	if mounted.Category != "general" || mounted.Tier != toolfold.Extended {
		t.Errorf("its category is %q, its tier %s", mounted.Category, mounted.Tier)
	}
}
