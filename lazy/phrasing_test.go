package lazy_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/lazy"
)

type nothing struct{}

// family has the actions list and get, and requests for them.
func family(t *testing.T, name string, list, get []string) *toolfold.Family {
	t.Helper()
	run := toolfold.Method(func(nothing, context.Context, struct{}) (out struct {
		Done bool `json:"done" doc:"Done."`
	}, err error) {
		return out, nil
	})
	f, err := toolfold.Mount(toolfold.Family{
		Name: name, Summary: "A " + name, Category: "animals", Tier: toolfold.Core,
		Actions: []*toolfold.Action{
			{Name: "get", Summary: "A " + name + ".", Asks: get, Effect: toolfold.Reads, Example: "{}", Run: run},
			{Name: "list", Summary: "A " + name + ".", Asks: list, Effect: toolfold.Reads, Example: "{}", Run: run},
		},
	}, func(context.Context) (nothing, error) { return nothing{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// How people ask for the list of one family tells what they want of another, whose
// requests have none of the words.
func TestFindLearnsPhrasing(t *testing.T) {
	t.Parallel()
	view := lazy.NewView(lazy.ViewOptions{Families: []*toolfold.Family{
		family(t, "cat", []string{"which cats have we got", "how many cats are there"},
			[]string{"tell me more about this cat", "what is that cat like"}),
		family(t, "horse", []string{"overview of the horses"}, []string{"one particular horse"}),
	}})
	for query, want := range map[string]string{
		"which horses have we got":   "horse.list",
		"how many horses are there":  "horse.list",
		"tell me more of this horse": "horse.get",
		"my horses":                  "horse.list",
		"my horse":                   "horse.get",
	} {
		if found := view.Find(query, 3); len(found) == 0 || found[0].Name != want {
			t.Errorf("%q wants %s, got %v", query, want, found)
		}
	}
}

// When the tools of one of many servers change, those of the others are not
// indexed again.
func TestCatalogueIndexesChanges(t *testing.T) {
	t.Parallel()
	indexed := map[string]int{}
	server := func(name string, tools ...string) (families []*toolfold.Family) {
		for _, tool := range tools {
			f, err := toolfold.External{Name: name + "_" + tool, Description: "Handles " + tool + ".", Category: "elsewhere"}.Family()
			if err != nil {
				t.Fatal(err)
			}
			f.Actions[0].Covers = func() []string {
				indexed[f.Name]++
				return nil
			}
			families = append(families, f)
		}
		return families
	}
	var others []*toolfold.Family
	for i := range 50 {
		others = append(others, server(fmt.Sprint("other", i), "invoices", "parcels")...)
	}
	before := append(server("changing", "lamps", "chairs"), others...)
	catalogue := lazy.NewCatalogue(before...)
	find := func(families []*toolfold.Family, query string) []lazy.Match {
		catalogue.Follow(families)
		return lazy.NewView(lazy.ViewOptions{Families: families, Catalogue: catalogue}).Find(query, 1)
	}
	find(before, "lamps")
	clear(indexed)
	after := append(server("changing", "lamps", "tables"), others...)
	if found := find(after, "tables"); len(found) != 1 || found[0].Name != "changing_tables" {
		t.Errorf("a new tool is not found but %v", found)
	}
	if found := find(after, "chairs"); len(found) > 0 && found[0].Name == "changing_chairs" {
		t.Errorf("a tool that is gone is found: %v", found)
	}
	for name, n := range indexed {
		if name != "changing_lamps" && name != "changing_tables" || n != 1 {
			t.Errorf("%s was indexed %d times after another server's list changed", name, n)
		}
	}
	if len(indexed) != 2 {
		t.Errorf("indexed %v, want the two tools of the server that changed", indexed)
	}
}
