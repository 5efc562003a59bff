package storagetest

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/storage"
	"github.com/toolfold/toolfold/tools/memory"
)

// matching counts the entries that have all the words, and holds Frequency
// and Candidates to the same answer.
func matching(t *testing.T, s memory.Store, words ...memory.Word) int {
	t.Helper()
	n, err := s.Frequency(t.Context(), words, 1000)
	noError(t, err)
	list, err := s.Candidates(t.Context(), words, 1000)
	noError(t, err)
	if len(list) != n {
		t.Fatalf("%v: frequency is %d, and there are %d candidates", words, n, len(list))
	}
	return n
}

func word(text string) memory.Word { return memory.Word{Text: text} }

func searchIndex(t *testing.T, db *storage.DB) {
	s := db.Memory()
	first := entry("n", "Deploy", `{"text":"freeze on Friday"}`)
	put(t, s, first)
	put(t, s, entry("n", "other", `{"text":"frozen und eingefroren: 会議室, привет"}`))
	for _, c := range []struct {
		want  int
		words memory.Match
	}{
		{1, memory.Match{word("freeze")}},
		{2, memory.Match{word("text")}},
		{2, memory.Match{{Text: "fr", Prefix: true}}},
		{0, memory.Match{word("fr")}},
		{1, memory.Match{word("#deploy")}},
		{0, memory.Match{word("#freeze")}},
		{1, memory.Match{word("#deploy"), word("friday")}},
		{0, memory.Match{word("frozen"), word("friday")}},
		{1, memory.Match{word("会議"), word("привет")}},
		{1, memory.Match{{Text: "прив", Prefix: true}, {Text: "froz", Prefix: true}}},
	} {
		if n := matching(t, s, c.words...); n != c.want {
			t.Fatalf("%d entries match %v, want %d", n, c.words, c.want)
		}
	}
	list, err := s.Candidates(t.Context(), memory.Match{word("freeze")}, 10)
	noError(t, err)
	equal(t, list, []memory.Candidate{{ID: list[0].ID, StoredAt: noon, Words: memory.IndexText(first)}})
	entries, err := s.Load(t.Context(), []int64{list[0].ID, 1 << 40})
	noError(t, err)
	equal(t, entries, map[int64]memory.Entry{list[0].ID: first})
	put(t, s, entry("n", "Deploy", `{"text":"thaw"}`))
	equal(t, matching(t, s, word("freeze")), 0)
	equal(t, matching(t, s, word("thaw")), 1)
	_, err = s.DeleteAll(t.Context(), "n", "")
	noError(t, err)
	equal(t, matching(t, s, word("thaw")), 0)
}

// searchLarge stores values of the greatest size that are hard to index.
func searchLarge(t *testing.T, db *storage.DB) {
	s := db.Memory()
	random := rand.New(rand.NewSource(1))
	const room = 1<<20 - 10
	values := map[string]string{
		"one word":   strings.Repeat("x", room),
		"same words": strings.Repeat("word ", room/5),
		"ideographs": fill(room, func() string { return string(rune(0x4e00 + random.Intn(20000))) }),
		"numbers":    fill(room, func() string { return fmt.Sprint(random.Int63(), " ") }),
		"emoji":      fill(room, func() string { return string(rune(0x1f300 + random.Intn(500))) }),
	}
	for key, text := range values {
		put(t, s, entry("large", key, `{"last":"`+text+`"}`))
		equal(t, len(get(t, s, "large", key).Value), len(text)+11)
	}
	equal(t, matching(t, s, word("last")), len(values))
	equal(t, matching(t, s, word(strings.Repeat("x", 64))), 1)
}

// fill repeats part, as long as it fits into size bytes.
func fill(size int, part func() string) string {
	var b strings.Builder
	for b.Len() < size-30 {
		b.WriteString(part())
	}
	return b.String()
}

// searchLatest holds that a limit leaves the entries that were added last.
func searchLatest(t *testing.T, db *storage.DB) {
	s := db.Memory()
	for i := range 20 {
		put(t, s, entry("n", fmt.Sprint("k", i), `{"text":"common"}`))
	}
	n, err := s.Frequency(t.Context(), memory.Match{word("common")}, 7)
	noError(t, err)
	equal(t, n, 7)
	list, err := s.Candidates(t.Context(), memory.Match{word("common")}, 2)
	noError(t, err)
	keys := map[string]bool{}
	for _, c := range list {
		entries, err := s.Load(t.Context(), []int64{c.ID})
		noError(t, err)
		keys[entries[c.ID].Key] = true
	}
	equal(t, keys, map[string]bool{"k18": true, "k19": true})
}
