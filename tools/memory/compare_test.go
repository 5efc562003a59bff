package memory_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/internal/text/rank/ranktest"
	"github.com/toolfold/toolfold/tools/memory"
)

// searchSet is a notebook with questions and the keys of their notes.
type searchSet struct {
	name      string
	notes     [][2]string // key and text
	questions [][2]string // question and keys
}

// readSearchSet reads a set in testdata/search.
func readSearchSet(t testing.TB, name string) searchSet {
	t.Helper()
	set := searchSet{name: name}
	for file, list := range map[string]*[][2]string{"notes.txt": &set.notes, "questions.txt": &set.questions} {
		raw, err := os.ReadFile(filepath.Join("testdata", "search", name, file))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
			left, right, ok := strings.Cut(strings.TrimSpace(line), " => ")
			if !ok {
				t.Fatalf("%s/%s:%d has no arrow", name, file, i+1)
			}
			*list = append(*list, [2]string{left, right})
		}
	}
	return set
}

// searcher returns the keys that a question finds, best first.
type searcher func(question string) []string

// rates counts how often the right note comes first, and among the first n, and lists the questions for which it does
// not come first.
func (s searchSet) rates(find searcher, n int) (first, among int, missed []string) {
	for _, q := range s.questions {
		found := find(q[0])
		place := slices.IndexFunc(found, func(key string) bool { return slices.Contains(strings.Split(q[1], ", "), key) })
		switch {
		case place == 0:
			first++
			among++
			continue
		case place > 0 && place < n:
			among++
		}
		missed = append(missed, fmt.Sprintf("%s: want %s, got %v", q[0], q[1], found[:min(3, len(found))]))
	}
	return first, among, missed
}

// ours searches with the family, on the store at a URL.
func ours(t testing.TB, set searchSet, url string) searcher {
	db := storagetest.Open(t, url)
	s := memory.New(db.Memory(memory.History{}), time.Now)
	for _, n := range set.notes {
		value, err := json.Marshal(n[1])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Store(t.Context(), memory.StoreIn{Key: n[0], Value: value}); err != nil {
			t.Fatal(err)
		}
	}
	return func(question string) (keys []string) {
		out, err := s.Search(t.Context(), memory.SearchIn{Query: question, Page: toolfold.Page{Limit: 10}})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range out.Results {
			keys = append(keys, h.Key)
		}
		return keys
	}
}

// plainFTS5 searches with SQLite's full-text index.
func plainFTS5(t testing.TB, set searchSet) searcher {
	var list []ranktest.Document
	for _, n := range set.notes {
		list = append(list, ranktest.Document{ID: n[0], Text: n[1]})
	}
	find := ranktest.FTS5(t, list)
	return func(question string) []string { return find(question, 10) }
}

// TestSearchBesidePlainFTS5 checks that questions in common words find at least as much as with a
// plain full-text index.
func TestSearchBesidePlainFTS5(t *testing.T) {
	t.Parallel()
	urls := map[string]func() string{"SQLite": func() string { return "memory:" }}
	if os.Getenv(storagetest.PostgresVariable) != "" {
		urls["PostgreSQL"] = func() string { return storagetest.Postgres(t) }
	}
	for _, name := range []string{"home", "team"} {
		set := readSearchSet(t, name)
		if len(set.notes) < 150 || len(set.questions) < 80 {
			t.Errorf("%s has %d notes and %d questions", set.name, len(set.notes), len(set.questions))
		}
		plainFirst, plainThree, _ := set.rates(plainFTS5(t, set), 3)
		n := float64(len(set.questions))
		t.Logf("%-5s %-10s first %.3f, among three %.3f", set.name, "plain FTS5", float64(plainFirst)/n, float64(plainThree)/n)
		for name, url := range urls {
			first, three, missed := set.rates(ours(t, set, url()), 3)
			t.Logf("%-5s %-10s first %.3f, among three %.3f", set.name, name, float64(first)/n, float64(three)/n)
			if testing.Verbose() {
				t.Logf("not first:\n%s", strings.Join(missed, "\n"))
			}
			if first < plainFirst || three < plainThree {
				t.Errorf("%s on %s finds %d first and %d among three, plain FTS5 %d and %d", set.name, name, first, three, plainFirst, plainThree)
			}
		}
	}
}
