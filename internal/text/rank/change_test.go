package rank_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/text/rank"
)

func TestPutReplacesAndRemoveForgets(t *testing.T) {
	t.Parallel()
	x := rank.New(named("a", "corden", "common"), named("b", "figal", "common"))
	x.Put(named("a", "hujo", "common"))
	if got := x.Find(rank.Query{Text: "corden", Limit: 10}); len(got) > 0 {
		t.Errorf("a replaced text is still found: %v", got)
	}
	if diff := cmp.Diff([]string{"a"}, ids(x.Find(rank.Query{Text: "hujo", Limit: 10}))); diff != "" {
		t.Errorf("hujo (-want +got):\n%s", diff)
	}
	x.Remove("a", "unknown", "a")
	if diff := cmp.Diff([]string{"b"}, ids(x.Find(rank.Query{Text: "common hujo", Limit: 10}))); diff != "" {
		t.Errorf("after Remove (-want +got):\n%s", diff)
	}
	x.Remove("b")
	if n := x.Len(); n != 0 || len(x.Find(rank.Query{Text: "common", Limit: 10})) > 0 {
		t.Errorf("the index holds %d documents after all were removed", n)
	}
	x.Put(named("c", "common", ""))
	if diff := cmp.Diff([]string{"c"}, ids(x.Find(rank.Query{Text: "common", Limit: 10}))); diff != "" {
		t.Errorf("after Put (-want +got):\n%s", diff)
	}
}

// A changed index must score like one that was built in its last state.
func TestChangesLeaveNoTrace(t *testing.T) {
	t.Parallel()
	docs := syntheticDocuments(60)
	x := rank.New(docs[:40]...)
	x.Put(docs[5:60]...)
	x.Put(named(docs[7].ID, "another text", "entirely"))
	x.Put(docs[7])
	x.Put(named("passing", "guest", ""))
	x.Remove("passing")
	fresh := rank.New(docs...)
	for _, d := range docs[:20] {
		if diff := cmp.Diff(fresh.Find(rank.Query{Text: d.Fields[0].Text, Limit: 60}),
			x.Find(rank.Query{Text: d.Fields[0].Text, Limit: 60})); diff != "" {
			t.Fatalf("Find(%q) (-fresh +changed):\n%s", d.Fields[0].Text, diff)
		}
	}
}

// Documents come in two versions that share one word; no answer may show a
// document twice, half or, of those always present, not at all.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	version := func(i, v int) rank.Document {
		return named(fmt.Sprint(i), fmt.Sprintf("shared version%c", 'a'+v), "")
	}
	x := rank.New()
	for i := range 50 {
		x.Put(version(i, 0))
	}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 200 {
				x.Put(version(i%50, (i+w)%2))
				x.Put(version(1000+w, 0))
				x.Remove(fmt.Sprint(1000 + w))
			}
		})
		wg.Go(func() {
			for range 200 {
				seen := map[string]bool{}
				for _, h := range x.Find(rank.Query{Text: "shared", Limit: 100}) {
					seen[h.ID] = true
				}
				for i := range 50 {
					if !seen[fmt.Sprint(i)] {
						t.Errorf("document %d is missing", i)
					}
				}
			}
		})
	}
	wg.Wait()
	if n := x.Len(); n != 50 {
		t.Errorf("the index holds %d documents, want 50", n)
	}
}
