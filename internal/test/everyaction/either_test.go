package everyaction_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/surface"
)

// A listed get(key|keys) is true: the example has one of the parameters, and without it the error
// names one. The usage shows them alike.
func TestOneOfSeveralIsNeeded(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	checked := 0
	for _, family := range b.Families() {
		for _, a := range family.Actions {
			if len(a.Either) == 0 {
				continue
			}
			checked++
			either := func(name string) bool {
				return slices.ContainsFunc(a.Either.Params(), func(p toolfold.Param) bool { return p.Name == name })
			}
			var names []string
			for _, p := range a.Either.Params() {
				names = append(names, p.Name)
			}
			usage := entry.Select(a).Usage(entry.DetailNames)
			want := strings.Join(names, " or ")
			if a.Together {
				want = "any of " + strings.Join(names, ", ")
			}
			if !strings.Contains(usage, want) || strings.Contains(usage, names[0]+"?") {
				t.Errorf("%s: its usage %s does not show %s", a.FullName(), usage, names)
			}
			for _, old := range a.Legacy {
				e := entry.Spell(a, old)
				usage := e.Usage(entry.DetailTypes)
				if len(e.Required()) > 0 && either(e.Required()[0].Name) && strings.Contains(usage, " or ") {
					t.Errorf("%s requires %s, and shows %s", old.Name, e.Required()[0].Name, usage)
				}
			}
			var args ordered.Map
			if err := json.Unmarshal([]byte(a.Example), &args); err != nil {
				t.Fatal(err)
			}
			without := slices.DeleteFunc(slices.Clone(args), func(m ordered.Member) bool { return either(m.Key) })
			if len(without) == len(args) {
				t.Errorf("%s: its example %s has none of those that it needs one of", a.FullName(), a.Example)
			}
			answer := b.Runner.Call(t.Context(), a.FullName(), ordered.MustJSON(without))
			if answer.Err == nil || answer.Err.Code != toolfold.InvalidInput {
				t.Errorf("%s %s: %s, want a refusal", a.FullName(), ordered.MustJSON(without), answer.Content)
				continue
			}
			named := slices.ContainsFunc(answer.Err.Problems, func(p toolfold.Problem) bool {
				return p.Kind == toolfold.ProblemMissing && either(strings.TrimPrefix(p.Path, "/"))
			})
			if !named {
				t.Errorf("%s: the refusal names no parameter to give: %s", a.FullName(), answer.Content)
			}
		}
	}
	if checked < 5 {
		t.Errorf("%d actions need one of several parameters", checked)
	}
}
