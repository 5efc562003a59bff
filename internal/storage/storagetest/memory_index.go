package storagetest

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/tools/memory"
)

// match parses a condition: words separated by spaces, alternatives by |, and a star after a
// prefix.
func match(text string) memory.Match {
	var m memory.Match
	for group := range strings.FieldsSeq(text) {
		var any memory.Group
		for word := range strings.SplitSeq(group, "|") {
			plain, prefix := strings.CutSuffix(word, "*")
			any = append(any, memory.Word{Text: plain, Prefix: prefix})
		}
		m = append(m, any)
	}
	return m
}

// matching returns the ids of the entries that match a condition.
func matching(t *testing.T, s memory.Store, condition string) []int64 {
	t.Helper()
	ids, err := s.Matching(t.Context(), memory.Scope{}, match(condition), 1000)
	noError(t, err)
	return ids
}

func searchIndex(t *testing.T, db *storage.DB) {
	s := db.Memory(memory.History{})
	first := entry("n", "Deploy", `{"text":"freeze on Friday"}`)
	put(t, s, first)
	put(t, s, entry("n", "other", `{"text":"thaw und eingefroren: 会議室, привет"}`))
	for condition, want := range map[string]int{
		"freez":          1,
		"text":           2,
		"fr*|tha*":       2,
		"fr":             0,
		"fr|freez":       1,
		"#deploy":        1,
		"#freez":         0,
		"#deploy frida*": 1,
		"thaw friday":    0,
		"会議 привет":      1,
		"прив* thaw|x":   1,
	} {
		if n := len(matching(t, s, condition)); n != want {
			t.Fatalf("%d entries match %s, want %d", n, condition, want)
		}
	}
	ids := matching(t, s, "freez")
	list, err := s.Candidates(t.Context(), append(ids, 1<<40, 1<<41))
	noError(t, err)
	equal(t, list, []memory.Candidate{{ID: ids[0], StoredAt: noon, Words: memory.IndexText(first)}})
	entries, err := s.Load(t.Context(), []int64{ids[0], 1 << 40})
	noError(t, err)
	equal(t, entries, map[int64]memory.Entry{ids[0]: first})
	last, err := s.LastID(t.Context())
	noError(t, err)
	if all := matching(t, s, "text"); len(all) != 2 || all[0] != last || all[1] != ids[0] {
		t.Fatalf("got %v, want the latest first, which is %d", all, last)
	}
	put(t, s, entry("n", "Deploy", `{"text":"melt"}`))
	equal(t, len(matching(t, s, "freez")), 0)
	equal(t, len(matching(t, s, "melt")), 1)
	_, _, err = s.DeleteAll(t.Context(), memory.Scope{Namespace: "n"}, 9)
	noError(t, err)
	equal(t, len(matching(t, s, "melt")), 0)
}

// searchScope limits matches to keys with a prefix, in one namespace or all.
func searchScope(t *testing.T, db *storage.DB) {
	s := db.Memory(memory.History{})
	for _, n := range []string{"a", "b"} {
		for _, k := range []string{"x/1", "x/2", "y/1", "%"} {
			put(t, s, entry(n, k, `{"text":"word"}`))
		}
	}
	for _, test := range []struct {
		scope memory.Scope
		want  int
	}{
		{memory.Scope{}, 8},
		{memory.Scope{Namespace: "a"}, 4},
		{memory.Scope{Prefix: "x/"}, 4},
		{memory.Scope{Namespace: "a", Prefix: "x/"}, 2},
		{memory.Scope{Namespace: "a", Prefix: "%"}, 1},
		{memory.Scope{Prefix: "z"}, 0},
	} {
		scope, want := test.scope, test.want
		ids, err := s.Matching(t.Context(), scope, match("word"), 100)
		noError(t, err)
		n, err := s.CountMatching(t.Context(), scope, match("word"), 5)
		noError(t, err)
		if len(ids) != want || n != min(want, 5) {
			t.Fatalf("%d entries of %+v match and %d are counted, want %d, counted up to 5", len(ids), scope, n, want)
		}
	}
}

// searchLarge stores values of the maximum size that are hard to index.
func searchLarge(t *testing.T, db *storage.DB) {
	s := db.Memory(memory.History{})
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
	equal(t, len(matching(t, s, "last")), len(values))
	equal(t, len(matching(t, s, strings.Repeat("x", 64))), 1)
}

// fill repeats part as often as it fits into size bytes.
func fill(size int, part func() string) string {
	var b strings.Builder
	for b.Len() < size-30 {
		b.WriteString(part())
	}
	return b.String()
}

// searchLatest checks that a limit keeps the entries that were added last.
func searchLatest(t *testing.T, db *storage.DB) {
	s := db.Memory(memory.History{})
	for i := range 20 {
		put(t, s, entry("n", fmt.Sprint("k", i), `{"text":"common"}`))
	}
	ids, err := s.Matching(t.Context(), memory.Scope{}, match("common"), 2)
	noError(t, err)
	entries, err := s.Load(t.Context(), ids)
	noError(t, err)
	keys := map[string]bool{}
	for _, e := range entries {
		keys[e.Key] = true
	}
	equal(t, keys, map[string]bool{"k18": true, "k19": true})
}
