package lazy_test

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/code/policy"
	"github.com/toolfold/toolfold/internal/code/scan"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/rank/ranktest"
	"github.com/toolfold/toolfold/surface"
)

var (
	//go:embed testdata/queries.txt
	queriesFile string

	//go:embed testdata/queries-trades.txt
	tradesFile string

	//go:embed testdata/queries-unread.txt
	unreadFile string

	//go:embed testdata/queries-nothing.txt
	nothingFile string
)

// labelledQuery is a query with the actions that answer it.
type labelledQuery struct {
	query string
	right []string
}

func readQueries(t testing.TB, file string) []labelledQuery {
	t.Helper()
	var list []labelledQuery
	for line := range strings.Lines(file) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		query, right, ok := strings.Cut(line, " => ")
		if !ok {
			t.Fatalf("no answer in %q", line)
		}
		list = append(list, labelledQuery{query, strings.Split(right, ", ")})
	}
	return list
}

// rates returns the shares of queries for which a right action comes first and
// among the first three, and lists the queries for which none comes first.
func rates(queries []labelledQuery, find func(query string, limit int) []string) (first, three float64, missed []string) {
	among := 0
	for _, q := range queries {
		got := find(q.query, 10)
		place := slices.IndexFunc(got, func(name string) bool { return slices.Contains(q.right, name) })
		if place != 0 {
			missed = append(missed, fmt.Sprintf("%q wants %v, got %v", q.query, q.right, got[:min(3, len(got))]))
		}
		if place >= 0 && place < 3 {
			among++
		}
	}
	n := float64(len(queries))
	return (n - float64(len(missed))) / n, float64(among) / n, missed
}

// finder returns what finds actions of a workbench.
func finder(b *workbench.Bench) func(query string, limit int) []string {
	return func(query string, limit int) (names []string) {
		for _, f := range b.Discovery.View(context.Background()).Find(query, limit) {
			names = append(names, b.Runner.Lookup(f.Name)[0].Action.FullName())
		}
		return names
	}
}

// plainFTS5 searches what is declared of the actions with SQLite's full-text
// index.
func plainFTS5(t *testing.T, b *workbench.Bench, withAsks bool) func(query string, limit int) []string {
	var list []ranktest.Document
	for _, f := range b.Families() {
		for _, a := range f.Actions {
			texts := []string{a.FullName(), a.Summary, a.Words, a.Doc, f.Summary, f.Words}
			for _, p := range a.Params() {
				texts = append(texts, p.Name, p.Doc, strings.Join(p.Enum, " "))
			}
			if withAsks {
				texts = append(texts, a.Asks...)
			}
			list = append(list, ranktest.Document{ID: a.FullName(), Text: strings.Join(texts, "\n")})
		}
	}
	return ranktest.FTS5(t, list)
}

// Queries must lead to the action. The floors are a little below what was
// measured; of the queries that nobody reads only sums are printed. Plain FTS5 over
// the texts that are shown comes first no more often in any set; over all unread
// queries it is to be 0.20 behind, and 0.05 and 0.03 when it has the Asks too.
func TestFindLeadsToTheAction(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	find := finder(b)
	plain, plainWithAsks := plainFTS5(t, b, false), plainFTS5(t, b, true)
	names, trades, ok := strings.Cut(unreadFile, "# In the words of other trades.")
	if !ok {
		t.Fatal("queries-unread.txt has no part in the words of other trades")
	}
	for _, set := range []struct {
		name         string
		queries      []labelledQuery
		first, three float64
		least        int // queries that the set has
		unread       bool
	}{
		{name: "words that the declarations do not use", queries: readQueries(t, queriesFile), first: 0.87, three: 0.97, least: 150},
		{name: "nouns of other trades", queries: readQueries(t, tradesFile), first: 0.80, three: 0.94, least: 150},
		{name: "unread, in the words of the names", queries: readQueries(t, names), first: 0.92, three: 0.96},
		{name: "unread, in the words of other trades", queries: readQueries(t, trades), first: 0.73, three: 0.89},
		{name: "unread", queries: readQueries(t, unreadFile), unread: true},
	} {
		first, three, missed := rates(set.queries, find)
		plainFirst, plainThree, _ := rates(set.queries, plain)
		asksFirst, asksThree, _ := rates(set.queries, plainWithAsks)
		t.Logf("%s, %d queries: first %.3f, among three %.3f; plain FTS5 %.3f and %.3f, with Asks %.3f and %.3f",
			set.name, len(set.queries), first, three, plainFirst, plainThree, asksFirst, asksThree)
		if testing.Verbose() && !strings.HasPrefix(set.name, "unread") {
			t.Logf("not first:\n%s", strings.Join(missed, "\n"))
		}
		if first < set.first || three < set.three {
			t.Errorf("%s: first %.3f, among three %.3f, want %.3f and %.3f", set.name, first, three, set.first, set.three)
		}
		if len(set.queries) < set.least {
			t.Errorf("%s: %d queries are left of at least %d", set.name, len(set.queries), set.least)
		}
		if first < plainFirst {
			t.Errorf("%s: plain FTS5 has a right action first more often", set.name)
		}
		if set.unread && (first < plainFirst+0.20 || three < plainThree+0.20 || first < asksFirst+0.05 || three < asksThree+0.03) {
			t.Errorf("%s: find is not as far ahead of plain FTS5 as it was", set.name)
		}
	}
}

// The first of many results are those of a search for few.
func TestFindOrdersAlikeAtEveryLimit(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	find := finder(b)
	for _, q := range readQueries(t, queriesFile) {
		all := find(q.query, 50)
		for _, limit := range []int{1, 3, 5, 10} {
			if few := find(q.query, limit); !slices.Equal(few, all[:min(limit, len(all))]) {
				t.Errorf("%q: %d results are %v, but the first of 50 %v", q.query, limit, few, all[:limit])
			}
		}
	}
}

// What scans look for and policies check is found in the words of their rules.
func TestFindKnowsScanRules(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	find := finder(b)
	for action, list := range map[string][]string{
		"bugfix.scan":   scan.Covers(scan.Bugs),
		"refactor.scan": scan.Covers(scan.Refactorings),
		"guard.check":   policy.Covers(),
	} {
		if len(list) < 9 {
			t.Errorf("%s covers %v", action, list)
		}
		for _, text := range list {
			if !strings.ContainsAny(text, " _") {
				continue // a single word may mean anything
			}
			if found := find(text, 3); !slices.Contains(found, action) {
				t.Errorf("%q does not lead to %s but to %v", text, action, found)
			}
		}
	}
}

// Of requests that nothing answers most are told so, of right first answers few.
func TestFindReportsNoFit(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	find := finder(b)
	fits := func(query string) bool {
		answer := b.Runner.Call(t.Context(), "tools.find", []byte(`{"query":`+quoted(query)+`}`))
		return !strings.Contains(string(answer.Content), `"hint":"nothing `)
	}
	var nothing [2][]string // those that may be looked at, and those that may not
	for line := range strings.Lines(nothingFile) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			half := (len(nothing[0]) + len(nothing[1])) % 2
			nothing[half] = append(nothing[half], line)
		}
	}
	for i, queries := range nothing {
		hints := 0.0
		for _, q := range queries {
			if !fits(q) {
				hints++
			} else if i == 0 {
				t.Logf("fits: %s", q)
			}
		}
		share := hints / float64(len(queries))
		t.Logf("half %d: of %d requests that nothing answers, %.2f are told so", i+1, len(queries), share)
		if share < 0.70 {
			t.Errorf("want 0.70")
		}
	}
	right, refused := 0.0, 0.0
	for _, q := range readQueries(t, unreadFile) {
		if found := find(q.query, 1); len(found) > 0 && slices.Contains(q.right, found[0]) {
			right++
			if !fits(q.query) {
				refused++
			}
		}
	}
	t.Logf("of %.0f right first answers, %.3f are said not to fit", right, refused/right)
	if refused/right > 0.10 {
		t.Errorf("want at most 0.10")
	}
}

// The Asks are not the queries that find is measured with.
func TestAsksAreNotTheQueries(t *testing.T) {
	t.Parallel()
	queries := map[string]bool{}
	for _, file := range []string{queriesFile, tradesFile, unreadFile} {
		for _, q := range readQueries(t, file) {
			queries[strings.ToLower(q.query)] = true
		}
	}
	for _, f := range workbench.New(t, surface.Options{}).Families() {
		for _, a := range f.Actions {
			if len(a.Asks) < 15 || len(a.Asks) > 20 {
				t.Errorf("%s has %d Asks, want 15 to 20: requests in the words of different trades", a.FullName(), len(a.Asks))
			}
			for _, ask := range a.Asks {
				if queries[strings.ToLower(ask)] {
					t.Errorf("%s: %q is a query of testdata", a.FullName(), ask)
				}
			}
		}
	}
}

// Every action has a query that asks for it, and no query asks for another.
func TestQueriesAskForActions(t *testing.T) {
	t.Parallel()
	known, expected := map[string]bool{}, map[string]bool{}
	for _, f := range workbench.New(t, surface.Options{}).Families() {
		for _, a := range f.Actions {
			known[a.FullName()] = true
		}
	}
	check := func(queries []labelledQuery, expected map[string]bool) {
		for _, q := range queries {
			for _, name := range q.right {
				expected[name] = true
				if !known[name] {
					t.Errorf("%q expects %s, which is no action", q.query, name)
				}
			}
		}
	}
	check(readQueries(t, queriesFile), expected)
	check(readQueries(t, tradesFile), map[string]bool{})
	check(readQueries(t, unreadFile), map[string]bool{})
	for name := range known {
		if !expected[name] {
			t.Errorf("no query asks for %s: add some to testdata/queries.txt", name)
		}
	}
}

// Whatever is asked, the answer helps and nothing breaks.
func TestFindTakesAnything(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	for _, query := range []string{"", " ", "\x00\x01\u0007", "???", "the of and", strings.Repeat("weather of a city ", 600), "日本語のメモ",
		"\u202e"} {
		answer := b.Runner.Call(t.Context(), "tools.find", []byte(`{"query":`+quoted(query)+`}`))
		if answer.IsError() {
			t.Errorf("%.30q: %s", query, answer.Content)
		}
		if !strings.Contains(string(answer.Content), `"name"`) && !strings.Contains(string(answer.Content), `"hint"`) {
			t.Errorf("%.30q: neither results nor a hint: %s", query, answer.Content)
		}
	}
}

func quoted(s string) string { return string(ordered.MustJSON(s)) }
