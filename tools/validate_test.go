package tools_test

import (
	"context"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/tools"
)

type twinOut struct {
	Text string `json:"text"`
	More int    `json:"more"`
}

func (*service) Twin(context.Context, getIn) (twinOut, error) { return twinOut{}, nil }

// Every mistake in a declaration is refused, and the error names the action.
func TestValidateRefuses(t *testing.T) {
	t.Parallel()
	type action = tools.Action[*service]
	for _, test := range []struct {
		why, want string
		change    func(f *tools.Family[*service], a *action)
	}{
		{"upper case family", "the name is not lower snake case", func(f *tools.Family[*service], _ *action) { f.Name = "Note" }},
		{"no family summary", "has no summary", func(f *tools.Family[*service], _ *action) { f.Summary = "" }},
		{"long family summary", "more than 60", func(f *tools.Family[*service], _ *action) { f.Summary = strings.Repeat("x", 61) }},
		{"no category", "has no category", func(f *tools.Family[*service], _ *action) { f.Category = "" }},
		{"no tier", "has no tier", func(f *tools.Family[*service], _ *action) { f.Tier = 0 }},
		{"bare with several actions", "is bare but has 3 actions", func(f *tools.Family[*service], _ *action) { f.Bare = true }},
		{"an action twice", "is declared twice", func(_ *tools.Family[*service], a *action) { a.Name = "list" }},
		{"no summary", "has no summary", func(_ *tools.Family[*service], a *action) { a.Summary = "" }},
		{"two lines of summary", "more than one line", func(_ *tools.Family[*service], a *action) { a.Summary = "a\nb" }},
		{"long summary", "more than 80", func(_ *tools.Family[*service], a *action) { a.Summary = strings.Repeat("x", 81) }},
		{"no effect", "has no effect", func(_ *tools.Family[*service], a *action) { a.Effect = 0 }},
		{"no example", "has no example", func(_ *tools.Family[*service], a *action) { a.Example = "" }},
		{"broken example", "does not parse", func(_ *tools.Family[*service], a *action) { a.Example = "{" }},
		{"invalid example", "does not validate: text is missing", func(_ *tools.Family[*service], a *action) { a.Example = "{}" }},
		{"stray in the example", "does not validate: limit belongs to list", func(_ *tools.Family[*service], a *action) { a.Example = `{"text":"x","limit":3}` }},
		{"nothing to run", "has nothing to run", func(_ *tools.Family[*service], a *action) { a.Run = tools.Handler[*service]{} }},
		{"no result", "returns nothing", func(_ *tools.Family[*service], a *action) { a.Returns = nil }},
		{"a parameter twice", "note.save text: is declared twice", func(_ *tools.Family[*service], a *action) { a.Optional = append(tools.Fields{text}, a.Optional...) }},
		{"a reserved parameter", "the name is reserved", func(_ *tools.Family[*service], a *action) {
			a.Optional = append(tools.Fields{tools.String{Name: "action", Doc: "x"}}, a.Optional...)
		}},
		{"a parameter without text", "has no text", func(_ *tools.Family[*service], a *action) {
			a.Required = tools.Fields{tools.String{Name: "text"}}
		}},
		{"another type under the same name", `"priority" has another meaning`, func(f *tools.Family[*service], _ *action) {
			f.Actions[1].Optional = tools.Fields{limit, tools.Int{Name: "priority", Doc: "How urgent."}}
		}},
		{"another text under the same name", `"priority" has another meaning`, func(f *tools.Family[*service], _ *action) {
			f.Actions[1].Optional = tools.Fields{limit, tools.String{Name: "priority", Doc: "Something else."}}
		}},
		{"a rename of no parameter", `renames "count"`, func(_ *tools.Family[*service], a *action) {
			a.Legacy = tools.Was("save_note", tools.Rename{Field: count, Was: "n"})
		}},
		{"declared, but not in the struct", `"count" is declared, but tools_test.saveIn has no such member`, func(_ *tools.Family[*service], a *action) {
			a.Optional = append(tools.Fields{count}, a.Optional...)
		}},
		{"in the struct, but not declared", `has a member "pinned" that is not declared`, func(_ *tools.Family[*service], a *action) {
			a.Optional = tools.Fields{tags, priority, owner, meta}
		}},
		{"another type in the struct", "integer is declared, string is behind it", func(_ *tools.Family[*service], a *action) {
			a.Required = tools.Fields{tools.Int{Name: "text", Doc: "x"}}
		}},
		{"a result field missing in the declaration", `has a member "owner" that is not declared`, func(_ *tools.Family[*service], a *action) {
			a.Returns = tools.Fields{meta, text, tags}
		}},
		{"another method", `has a member "more" that is not declared`, func(f *tools.Family[*service], _ *action) {
			f.Actions[2].Run = tools.Method((*service).Twin)
		}},
	} {
		t.Run(test.why, func(t *testing.T) {
			t.Parallel()
			changed := family
			changed.Actions = append([]action(nil), family.Actions...)
			test.change(&changed, &changed.Actions[0])
			err := changed.Validate()
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Validate says %v, want %q", err, test.want)
			}
		})
	}
}

// What clashes between families changes nothing in a catalogue.
func TestCatalogueRefusesClashes(t *testing.T) {
	t.Parallel()
	open := func(context.Context) (*service, error) { return &service{}, nil }
	other, stranger := family, family
	other.Name = "memo"
	stranger.Name, stranger.Actions = "stray", append([]tools.Action[*service](nil), family.Actions[2])
	stranger.Actions[0].Related = []string{"note.nowhere"}
	var catalogue tools.Catalogue
	if err := catalogue.Put(family.Mount(open)); err != nil {
		t.Fatal(err)
	}
	for want, spec := range map[string]*tools.Spec{
		`the name "save_note" belongs to note.save`:    other.Mount(open),
		`related action "note.nowhere" does not exist`: stranger.Mount(open),
	} {
		if err := catalogue.Put(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Put says %v, want %q", err, want)
		}
	}
	if n := len(catalogue.Specs()); n != 1 {
		t.Errorf("%d families are there", n)
	}
	if err := catalogue.Put(family.Mount(open)); err != nil {
		t.Errorf("replacing a family: %v", err)
	}
}
