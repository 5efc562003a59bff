package memory

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolfold/toolfold/internal/text/rank"
	"github.com/toolfold/toolfold/internal/text/words"
)

// Parts of relevance.
const (
	keyBonus     = 1.0  // of a word in the key, in occurrences
	commonShare  = 0.5  // of the rarity, for a common word of questions
	synonymShare = 0.7  // of a synonym, relative to the word itself
	relatedShare = 0.35 // of a word of the same subject, relative to the word itself
	pairBonus    = 0.3  // of neighbours in the query that are also neighbours in the entry
	minPrefix    = 3    // characters of a word that may be a prefix of another
)

// evidence weighs the count of a word in an entry.
var evidence = rank.BM25{Saturation: 1.2, LengthShare: 0.75}

// ranker scores the candidates of a query.
type ranker struct {
	query query
	exact map[string][]int // terms by their forms
	like  map[string][]int // terms by their synonyms
	near  map[string][]int // terms by the words of their subjects
	pairs map[pair][]int   // terms by their synonyms of two words
	begin map[string][]int // terms by prefixes of matching words
	sizes []int            // of the prefixes, in bytes, each once
	total float64          // the highest possible sum
}

func newRanker(q query) *ranker {
	r := &ranker{query: q, exact: map[string][]int{}, like: map[string][]int{}, near: map[string][]int{}, begin: map[string][]int{},
		pairs: map[pair][]int{}}
	for i, t := range q.terms {
		r.total += t.rarity
		if i > 0 {
			r.total += pairBonus * min(t.rarity, q.terms[i-1].rarity)
		}
		for _, w := range t.forms {
			if !w.Prefix {
				r.exact[w.Text] = append(r.exact[w.Text], i)
				continue
			}
			shorter := func(o Word) bool { return o.Prefix && o != w && strings.HasPrefix(w.Text, o.Text) }
			if slices.ContainsFunc(t.forms, shorter) || slices.Contains(r.begin[w.Text], i) {
				continue // each word of an entry counts once for a term
			}
			r.begin[w.Text] = append(r.begin[w.Text], i)
			if !slices.Contains(r.sizes, len(w.Text)) {
				r.sizes = append(r.sizes, len(w.Text))
			}
		}
		for _, w := range t.like {
			r.like[w.Text] = append(r.like[w.Text], i)
		}
		for _, w := range t.near {
			r.near[w.Text] = append(r.near[w.Text], i)
		}
		for _, p := range t.pairs {
			r.pairs[p] = append(r.pairs[p], i)
		}
	}
	return r
}

// appendTerms appends the terms that a word of an entry matches.
func (r *ranker) appendTerms(list []int, word string) []int {
	list = append(list, r.exact[word]...)
	for _, n := range r.sizes {
		if n <= len(word) {
			list = append(list, r.begin[word[:n]]...)
		}
	}
	return list
}

// tally counts the matches of one entry. Its slices are by term.
type tally struct {
	count, inKey []float64
	like         []float64 // synonyms
	near         []float64 // words of the same subject
	pair         []bool    // next to the previous term
	words        int
}

// read counts the matches in the [IndexText] of an entry. ok is false if it lacks a phrase of the
// query.
func (r *ranker) read(text string) (t tally, ok bool) {
	for _, phrase := range r.query.phrases {
		if !strings.Contains(text+" ", phrase) {
			return t, false
		}
	}
	n := len(r.query.terms)
	t = tally{count: make([]float64, n), inKey: make([]float64, n), like: make([]float64, n), near: make([]float64, n), pair: make([]bool, n)}
	var before, here []int
	last := "" // previous word
	for word := range strings.SplitSeq(text, " ") {
		if strings.HasPrefix(word, hiddenMark) || strings.HasPrefix(word, strongMark) {
			continue
		}
		plain, inKey := strings.CutPrefix(word, keyMark)
		for _, i := range r.like[plain] {
			t.like[i]++
		}
		for _, i := range r.near[plain] {
			t.near[i]++
		}
		for _, i := range r.pairs[pair{last, plain}] {
			t.like[i]++
		}
		last = plain
		here = r.appendTerms(here[:0], plain)
		if inKey {
			for _, i := range here {
				t.inKey[i] = 1
			}
			continue
		}
		t.words++
		if len(here) == 0 && (len(before) == 0 || words.IsStop(plain)) {
			continue // "freeze on Friday" has freeze beside Friday
		}
		for _, i := range here {
			t.count[i]++
			for _, j := range before {
				t.pair[i] = t.pair[i] || j == i-1
			}
		}
		before, here = here, before
	}
	return t, true
}

// rarity returns the sum of the rarities of an entry's terms, without synonyms.
func (r *ranker) rarity(t tally) (sum float64) {
	for i, term := range r.query.terms {
		if t.count[i] > 0 {
			sum += term.rarity
		}
	}
	return sum
}

// score returns the relevance of an entry, between 0 and 1. It is the evidence for each word
// weighted by rarity, reduced for missing words.
func (r *ranker) score(t tally, meanWords float64) float64 {
	var sum, found, rarity float64
	for i, term := range r.query.terms {
		rarity += term.rarity
		if t.count[i] == 0 && t.inKey[i] == 0 {
			share, count := synonymShare, t.like[i]
			if count == 0 {
				share, count = relatedShare, t.near[i]
			}
			found += share * term.rarity * min(count, 1)
			sum += share * term.rarity * evidence.Share(count, float64(t.words), meanWords)
			continue
		}
		found += term.rarity * term.worth
		sum += term.rarity * term.worth * evidence.Share(t.count[i]+keyBonus*t.inKey[i], float64(t.words), meanWords)
		if t.pair[i] {
			sum += pairBonus * min(term.rarity, r.query.terms[i-1].rarity)
		}
	}
	if rarity == 0 {
		return 0
	}
	return sum / r.total * (0.5 + 0.5*found/rarity)
}

func longEnough(word string) bool { return utf8.RuneCountInString(word) >= minPrefix }
