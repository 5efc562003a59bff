package memory_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/internal/text/words"
)

// hardSets returns questions that have no word of their note, in two halves over the notes of both.
// Only sums are printed for the held half, because people who tune the search must not read it.
func hardSets(t testing.TB) (tune, unseen searchSet) {
	t.Helper()
	tune, unseen = readSearchSet(t, "hard-tune"), readSearchSet(t, "hard-held")
	tune.notes = slices.Concat(tune.notes, unseen.notes)
	unseen.notes = tune.notes
	return tune, unseen
}

// TestSearchInOtherWords measures questions that have no word of their note. The floors are a
// little below measured values; a plain full-text index finds next to nothing.
func TestSearchInOtherWords(t *testing.T) {
	t.Parallel()
	urls := map[string]func() string{"SQLite": func() string { return "memory:" }}
	if os.Getenv(storagetest.PostgresVariable) != "" {
		urls["PostgreSQL"] = func() string { return storagetest.Postgres(t) }
	}
	tune, held := hardSets(t)
	plain := plainFTS5(t, tune)
	for name, url := range urls {
		find := ours(t, tune, url())
		for _, half := range []struct {
			set         searchSet
			first, five float64
		}{
			{tune, 0.23, 0.64},
			{held, 0.10, 0.28},
		} {
			n := float64(len(half.set.questions))
			firsts, fives, missed := half.set.rates(find, 5)
			plainFirsts, plainFives, _ := half.set.rates(plain, 5)
			first, five := float64(firsts)/n, float64(fives)/n
			t.Logf("%s %s, %.0f questions: first %.3f, among five %.3f; plain FTS5 %.3f and %.3f", name, half.set.name, n, first, five,
				float64(plainFirsts)/n, float64(plainFives)/n)
			if half.set.name == tune.name && testing.Verbose() {
				t.Logf("not first:\n%s", strings.Join(missed, "\n"))
			}
			if first < half.first || five < half.five {
				t.Errorf("%s on %s: first %.3f, among five %.3f, want %.3f and %.3f", half.set.name, name, first, five, half.first, half.five)
			}
		}
	}
}

// Hard questions share no stem with their notes, except stop words.
func TestHardQuestionsHaveNoWordOfTheirNotes(t *testing.T) {
	t.Parallel()
	tune, held := hardSets(t)
	if n := len(tune.questions) + len(held.questions); n < 200 {
		t.Errorf("%d questions are left of 200", n)
	}
	for _, set := range []searchSet{tune, held} {
		for i, q := range set.questions {
			at := slices.IndexFunc(set.notes, func(n [2]string) bool { return n[0] == q[1] })
			if at < 0 {
				t.Errorf("question %d of %s asks for a note that is not there", i+1, set.name)
				continue
			}
			note := stems(set.notes[at][0] + " " + set.notes[at][1])
			for stem := range stems(q[0]) {
				if note[stem] {
					t.Errorf("question %d of %s has a word of its note", i+1, set.name)
				}
			}
		}
	}
}

// stems returns the stems of the words of a text that are not stop words.
func stems(text string) map[string]bool {
	list := map[string]bool{}
	for w := range words.Split(text) {
		for _, p := range append(w.Parts, w.Text) {
			if !words.IsStop(p) {
				list[words.Stem(p)] = true
			}
		}
	}
	return list
}
