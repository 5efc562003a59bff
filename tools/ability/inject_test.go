package ability

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/tokens"
)

// rules parses an ability with conditions for its use: "id! p90 <coder,-bob >needs #rival" is
// disabled, of priority 90, for coder, not for bob, and so on.
func rules(text string) Ability {
	words := strings.Fields(text)
	id, off := strings.CutSuffix(words[0], "!")
	a := Ability{ID: id, Content: "Text of " + id + ".", Priority: 50, Enabled: !off}
	for _, w := range words[1:] {
		switch name := w[1:]; w[0] {
		case 'p':
			fmt.Sscan(name, &a.Priority)
		case '<':
			a.ApplicableTo = append(a.ApplicableTo, name)
		case '-':
			a.ExcludeFrom = append(a.ExcludeFrom, name)
		case '>':
			a.Requires = append(a.Requires, name)
		case '#':
			a.Conflicts = append(a.Conflicts, name)
		}
	}
	return a
}

// Without a task, all applicable abilities are injected by priority.
func TestInjectRules(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		why  string
		all  []string
		in   InjectIn
		want string // ids, then those left out with their reasons
	}{
		{"by priority", []string{"a", "b p90", "c p10", "d"}, InjectIn{}, "b a d c"},
		{"disabled", []string{"a!", "b"}, InjectIn{}, "b"},
		{"for some", []string{"a <coder", "b <bob", "c <*", "d <bob <coder"}, InjectIn{}, "a c d"},
		{"not for some", []string{"a -coder", "b -bob", "c <coder -coder", "d -*"}, InjectIn{}, "b"},
		{"nothing", nil, InjectIn{}, ""},
		{"core first", []string{"a p90", "b", "c p10"}, InjectIn{CoreAbilities: []string{"c", "b", "c"}}, "c b a"},
		{"core that cannot be had", []string{"a", "b!", "c <bob"}, InjectIn{CoreAbilities: []string{"none", "b", "c"}},
			"a; none: there is no such ability; b: disabled; c: not for this agent"},
		{"required first", []string{"a p90 >c", "b p60", "c p10"}, InjectIn{}, "c a b"},
		{"required chain", []string{"a p90 >b", "b p20 >c", "c p10", "d"}, InjectIn{}, "c b a d"},
		{"required by two", []string{"a p90 >c", "b p80 >c", "c p10"}, InjectIn{}, "c a b"},
		{"cycle", []string{"a p90 >b", "b >c", "c >a", "d"}, InjectIn{}, "c b a d"},
		{"core requires", []string{"a p90", "b >c", "c"}, InjectIn{CoreAbilities: []string{"b"}}, "c b a"},
		{"required but missing", []string{"a >none >b >c >d", "b!", "c -coder", "d"}, InjectIn{},
			"d a; none: a requires it: there is no such ability; b: a requires it: disabled; c: a requires it: not for this agent"},
		{"required indirectly but missing", []string{"a p90 >b", "b >none"}, InjectIn{},
			"b a; none: b requires it: there is no such ability"},
		{"conflict", []string{"a p90", "b #a", "c"}, InjectIn{}, "a c; b: conflicts with a"},
		{"conflict told by the better", []string{"a p90 #b", "b", "c"}, InjectIn{}, "a c; b: conflicts with a"},
		{"core goes before better", []string{"a p90", "b #a"}, InjectIn{CoreAbilities: []string{"b"}}, "b; a: conflicts with b"},
		{"a conflict with what is out", []string{"a p90", "b p60 #a", "c #b"}, InjectIn{}, "a c; b: conflicts with a"},
		{"required conflicts", []string{"a p90 #c", "b p60 >c", "c", "d p10"}, InjectIn{},
			"a d; b: requires c, which conflicts with a; c: conflicts with a"},
		{"at odds with itself", []string{"a p90 >b >c", "b #c p20", "c p10"}, InjectIn{},
			"b; a: requires c, which conflicts with b; c: conflicts with b"},
		{"most abilities", []string{"a p90", "b p80", "c p70"}, InjectIn{MaxAbilities: 2}, "a b; c: maxAbilities"},
		{"most abilities with required ones", []string{"a p90", "b p80 >d", "c p70", "d p10"}, InjectIn{MaxAbilities: 2},
			"a c; b: maxAbilities; d: maxAbilities"},
	} {
		t.Run(test.why, func(t *testing.T) {
			t.Parallel()
			var stored []Ability
			for _, text := range test.all {
				stored = append(stored, rules(text))
			}
			s, _ := newService(t, stored...)
			in := test.in
			in.AgentID, in.MaxTokens = "coder", 50000
			if in.MaxAbilities == 0 {
				in.MaxAbilities = 10
			}
			out := inject(t, s, in)
			got := strings.Join(out.InjectedAbilities, " ")
			for _, l := range out.LeftOut {
				got += "; " + l.AbilityID + ": " + l.Reason
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if out.Truncated {
				t.Error("truncated, though nothing was too long")
			}
		})
	}
}

func TestInjectText(t *testing.T) {
	t.Parallel()
	first, second := simple("first", "\n\nOne.\n"), simple("second", "Two.")
	first.DisplayName, first.Priority = "The\nfirst", 60
	s, _ := newService(t, first, second, Ability{ID: "third", Priority: 40, Enabled: true})
	in := ask()
	out := inject(t, s, in)
	want := InjectOut{
		AgentID: "coder", InjectedAbilities: []string{"first", "second", "third"},
		Injected: []InjectedAbility{
			{AbilityID: "first", Tokens: 2, Reason: "priority"}, {AbilityID: "second", Tokens: 2, Reason: "priority"},
			{AbilityID: "third", Reason: "priority"},
		},
		CombinedContent: "One.\n\n---\n\nTwo.", TokenCount: countOf(t, "One.\n\n---\n\nTwo."),
	}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	in.IncludeMetadata = true
	text := "## The first (first)\n\nOne.\n\n---\n\n## second\n\nTwo.\n\n---\n\n## third"
	if out := inject(t, s, in); out.CombinedContent != text || out.TokenCount != countOf(t, text) {
		t.Errorf("%d tokens: %s", out.TokenCount, out.CombinedContent)
	}
}

func countOf(t testing.TB, text string) int {
	t.Helper()
	n, err := tokens.Count(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A text that is too long is skipped in favour of one that fits.
func TestInjectTooLong(t *testing.T) {
	t.Parallel()
	words := func(n int) string { return strings.Repeat("word ", n) }
	big, small := simple("big", words(200)), simple("small", words(50))
	big.Priority = 90
	needy := simple("needy", "Short.")
	needy.Priority, needy.Requires = 80, []string{"big"}
	s, _ := newService(t, big, small, needy)
	in := ask()
	in.MaxTokens = 100
	out := inject(t, s, in)
	if diff := cmp.Diff([]string{"small"}, out.InjectedAbilities); diff != "" || !out.Truncated || out.TokenCount > 100 {
		t.Errorf("%+v\n%s", out, diff)
	}
	want := []LeftOut{{AbilityID: "big", Reason: "maxTokens"}, {AbilityID: "needy", Reason: "maxTokens"}}
	if diff := cmp.Diff(want, out.LeftOut); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	exact := simple("exact", strings.TrimSpace(words(100)))
	s, _ = newService(t, exact)
	if out := inject(t, s, in); len(out.InjectedAbilities) != 1 || out.TokenCount != 100 || out.Truncated {
		t.Errorf("a text of exactly maxTokens: %d tokens, truncated %v", out.TokenCount, out.Truncated)
	}
}

// Only the first of many left-out abilities are listed.
func TestFewLeftOutAbilitiesAreListed(t *testing.T) {
	t.Parallel()
	var stored []Ability
	for i := range 60 {
		stored = append(stored, simple(fmt.Sprintf("a%02d", i), "Text."))
	}
	s, _ := newService(t, stored...)
	in := ask()
	in.MaxAbilities = 5
	out := inject(t, s, in)
	if len(out.InjectedAbilities) != 5 || len(out.LeftOut) != maxLeftOut || out.LeftOut[0].AbilityID != "a05" {
		t.Errorf("%+v", out)
	}
}

// With a task, only related abilities are injected, except core abilities and requirements.
func TestInjectForTask(t *testing.T) {
	t.Parallel()
	s := New(&fakeStore{abilities: map[string]Ability{}}, workspace.Folder{Dir: "testdata/workspace"})
	in := ask()
	in.CoreAbilities = []string{"git-workflow"}
	in.Task = "Deploy version 2.4 to the kubernetes cluster"
	out := inject(t, s, in)
	if diff := cmp.Diff([]string{"git-workflow", "docker-images", "kubernetes-deploys"}, out.InjectedAbilities); diff != "" {
		t.Error(diff)
	}
	in.CoreAbilities, in.Task = nil, "Book a table for six people on Saturday evening"
	if out := inject(t, s, in); len(out.InjectedAbilities) > 0 || out.CombinedContent != "" || out.TokenCount != 0 || out.Truncated {
		t.Errorf("an unrelated task got %+v", out)
	}
	in.Task = " \n"
	if out := inject(t, s, in); len(out.InjectedAbilities) != 10 {
		t.Errorf("a blank task got %v", out.InjectedAbilities)
	}
	in.Task = "敬語の使い方を直してください"
	if out := inject(t, s, in); len(out.InjectedAbilities) != 1 || out.TokenCount != countOf(t, out.CombinedContent) {
		t.Errorf("a Japanese task got %v", out.InjectedAbilities)
	}
}

// A result gives the reason for each ability, and lists those that nearly fit.
func TestInjectGivesReasons(t *testing.T) {
	t.Parallel()
	gc, base := simple("go-concurrency", "Every goroutine has an owner. Run the tests with the race detector."), simple("base", "Be brief.")
	gc.Requires = []string{"base"}
	s, _ := newService(t, gc, base, simple("house", "Be kind."), simple("data-privacy", "Personal data has a purpose."))
	in := ask()
	in.CoreAbilities, in.Task = []string{"house"}, "There is a data race between 2 goroutines"
	out := inject(t, s, in)
	got, err := json.Marshal(map[string]any{"injected": out.Injected, "leftOut": out.LeftOut})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"injected":[{"abilityId":"house","tokens":3,"reason":"core"},{"abilityId":"base","tokens":3,` +
		`"reason":"go-concurrency requires it"},{"abilityId":"go-concurrency","tokens":15,"reason":"task: race, goroutines","score":0.67}],` +
		`"leftOut":[{"abilityId":"data-privacy","reason":"fits too little: data","score":0.39}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A fitting text is left out beside one that fits far better, with that reason.
func TestInjectReportsBetterFits(t *testing.T) {
	t.Parallel()
	s, _ := newService(t, simple("sql-tuning", "Tune slow SQL queries: read the execution plan, add the missing index."),
		simple("reports", "Reports hold slow queries, then totals."))
	in := ask()
	in.Task = "Tune the slow SQL queries, read the execution plan and add the missing index"
	out := inject(t, s, in)
	if len(out.Injected) != 1 || len(out.LeftOut) != 1 || out.LeftOut[0].Score < 0.5 ||
		out.LeftOut[0].Reason != "others fit better: queries, slow" {
		t.Errorf("got %+v, left out %+v", out.Injected, out.LeftOut)
	}
}

// A page about another subject injects no ability, but a single sentence of a page does.
func TestInjectForALongTask(t *testing.T) {
	t.Parallel()
	s := New(&fakeStore{abilities: ofTrades(t).abilities}, workspace.Folder{Dir: t.TempDir()})
	page, err := os.ReadFile("testdata/page.txt")
	if err != nil {
		t.Fatal(err)
	}
	in := ask()
	in.Task = string(page)
	if out := inject(t, s, in); len(out.Injected) > 0 {
		t.Errorf("a page about lighthouses got %+v", out.Injected)
	}
	in.Task = "The order service is slow. " + string(page[:600]) + " Read the execution plan with EXPLAIN ANALYZE and say which index " +
		"the WHERE and the JOIN lack."
	if out := inject(t, s, in); len(out.Injected) != 1 || out.Injected[0].AbilityID != "sql-tuning" {
		t.Errorf("a page with a question about SQL got %+v", out.Injected)
	}
}

// Of two similarly relevant abilities, the one of higher priority comes first. No priority makes an
// unrelated one relevant.
func TestPriorityBoosts(t *testing.T) {
	t.Parallel()
	one, two := simple("sql-one", "Tune SQL queries with indexes."), simple("sql-two", "Tune SQL queries with an index.")
	two.Priority = 100
	other := simple("cooking", "Salt the water before the pasta goes in.")
	other.Priority = 100
	s, _ := newService(t, one, two, other)
	in := ask()
	in.Task = "Tune this SQL query"
	if diff := cmp.Diff([]string{"sql-two", "sql-one"}, inject(t, s, in).InjectedAbilities); diff != "" {
		t.Error(diff)
	}
}

// The next call sees registered, changed and removed abilities.
func TestInjectFollowsChanges(t *testing.T) {
	t.Parallel()
	s, _ := newService(t)
	in := ask()
	in.Task = "Roast coffee beans"
	check := func(want ...string) {
		t.Helper()
		out := inject(t, s, in)
		if strings.Join(out.InjectedAbilities, " ") != strings.Join(want, " ") || out.TokenCount != countOf(t, out.CombinedContent) {
			t.Errorf("want %v, got %+v", want, out)
		}
	}
	register := func(id, content string) {
		t.Helper()
		if _, err := s.Register(t.Context(), RegisterIn{AbilityID: id, Content: content, Priority: 50, Enabled: true}); err != nil {
			t.Fatal(err)
		}
	}
	check()
	register("one", "How to roast coffee beans.")
	check("one")
	register("one", "About tea.")
	register("two", "Roast coffee beans until the second crack.")
	check("two")
	if _, err := s.Remove(t.Context(), RemoveIn{"two"}); err != nil {
		t.Fatal(err)
	}
	check()
}

// Concurrent calls that see different abilities do not affect each other.
func TestInjectAtOnce(t *testing.T) {
	t.Parallel()
	s, _ := newService(t, simple("base", "Roast coffee beans."))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			id := fmt.Sprintf("extra-%d", i)
			for n := range 20 {
				in := RegisterIn{AbilityID: id, Content: strings.Repeat("Roast coffee beans. ", n+1), Priority: 50, Enabled: true}
				if _, err := s.Register(t.Context(), in); err != nil {
					t.Error(err)
				}
				ask := ask()
				ask.Task, ask.CoreAbilities, ask.MaxTokens = "Roast coffee beans", []string{id}, 100
				out, err := s.Inject(t.Context(), ask)
				if err != nil || out.TokenCount > 100 || out.TokenCount != countOf(t, out.CombinedContent) {
					t.Errorf("%+v, %v", out, err)
				}
			}
		})
	}
	wg.Wait()
}
