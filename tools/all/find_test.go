package all_test

import (
	"context"
	_ "embed"
	"slices"
	"strings"
	"testing"
)

var (
	//go:embed testdata/queries.txt
	queriesFile string

	//go:embed testdata/queries-trades.txt
	tradesFile string
)

// The least share of the queries that must lead to a right action in first
// place, and among the first three. Raise them when find gets better.
const (
	floorTop1 = 0.80
	floorTop3 = 0.94
)

type labelled struct {
	query string
	right []string
}

func readQueries(t *testing.T, file string) []labelled {
	t.Helper()
	var list []labelled
	for line := range strings.Lines(file) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		query, right, ok := strings.Cut(line, " => ")
		if !ok {
			t.Fatalf("no answer in %q", line)
		}
		list = append(list, labelled{query, strings.Split(right, ", ")})
	}
	return list
}

// Queries in words that the declarations do not use must lead to the action.
func TestFindLeadsToTheAction(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	queries := readQueries(t, queriesFile)
	known := map[string]bool{}
	for _, s := range b.Families() {
		for _, a := range s.Actions {
			known[a.FullName()] = true
		}
	}
	top1, top3 := 0, 0
	asked := map[string]bool{}
	for _, q := range queries {
		for _, name := range q.right {
			asked[name] = true
			if !known[name] {
				t.Errorf("%q expects %s, which is no action", q.query, name)
			}
		}
		place := b.place(q)
		if place == 0 {
			top1++
		}
		if place >= 0 && place < 3 {
			top3++
		} else {
			t.Logf("missed: %q wants %v, got %v", q.query, q.right, b.names(q.query, 3))
		}
	}
	for name := range known {
		if !asked[name] {
			t.Errorf("no query asks for %s: add some to testdata/queries.txt", name)
		}
	}
	n := float64(len(queries))
	t.Logf("%d queries: top-1 %.1f %%, top-3 %.1f %%", len(queries), 100*float64(top1)/n, 100*float64(top3)/n)
	if len(queries) < 150 || float64(top1)/n < floorTop1 || float64(top3)/n < floorTop3 {
		t.Errorf("of %d queries %d are right in first place and %d among three", len(queries), top1, top3)
	}
}

// Queries in the nouns of other trades must lead to the action too. Half 0
// had a say in the words of the declarations, half 1 none.
func TestFindInOtherTrades(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	queries := readQueries(t, tradesFile)
	for half, floor := range [][2]float64{{0.86, 0.96}, {0.36, 0.56}} {
		var asked, top1, top3 float64
		for i := half; i < len(queries); i += 2 {
			asked++
			place := b.place(queries[i])
			if place == 0 {
				top1++
			} else if half == 0 {
				t.Logf("not first: %q wants %v, got %v", queries[i].query, queries[i].right, b.names(queries[i].query, 3))
			}
			if place >= 0 && place < 3 {
				top3++
			}
		}
		t.Logf("half %d, %.0f queries: top-1 %.1f %%, top-3 %.1f %%", half, asked, 100*top1/asked, 100*top3/asked)
		if top1/asked < floor[0] || top3/asked < floor[1] {
			t.Errorf("half %d is worse than %v", half, floor)
		}
	}
}

// place is where the first right action comes; -1 when it does not come.
func (b *bench) place(q labelled) int {
	return slices.IndexFunc(b.names(q.query, 10), func(name string) bool { return slices.Contains(q.right, name) })
}

func (b *bench) names(query string, limit int) []string {
	var list []string
	for _, f := range b.Discovery.View(context.Background()).Find(query, limit) {
		list = append(list, b.Runner.Lookup(f.Name)[0].Action.FullName())
	}
	return list
}

// Whatever is asked, the answer helps and nothing breaks.
func TestFindTakesAnything(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, query := range []string{"", " ", "\x00\x01\u0007", "???", "the of and", strings.Repeat("weather of a city ", 600), "日本語のメモ", "\u202e"} {
		answer := b.Runner.Call(t.Context(), "tools.find", []byte(`{"query":`+quoted(query)+`}`))
		if answer.IsError() {
			t.Errorf("%.30q: %s", query, answer.Content)
		}
		if !strings.Contains(string(answer.Content), `"name"`) && !strings.Contains(string(answer.Content), `"hint"`) {
			t.Errorf("%.30q: neither results nor a hint: %s", query, answer.Content)
		}
	}
}
