package rank

import (
	"cmp"
	"slices"
	"strings"
)

// Bounds of a query.
const (
	longestQuery = 16 << 10 // bytes
	maxAsked     = 128      // terms and pairs
	maxSentences = 16
	minGuessed   = 5 // bytes of a stem that may be misspelt
	maxGuessed   = 8 // words that are guessed at
)

// What stands for a word counts less than the word.
const (
	synonymShare = 0.2
	guessShare   = 0.5 // of a word one slip away
	pairShare    = 0.9 // of neighbours against a word as rare
)

// asked is a word of the query, or two that stand side by side, with all that
// may stand for it.
type asked struct {
	key     string
	rarity  float64 // of the word; of a pair, of the rarer of its words
	worth   float64 // of a perfect match
	isPair  bool
	sources []int32
}

// source is a term, or two side by side, that a document may have for what is
// asked.
type source struct {
	asked  int32 // index
	first  int32 // term; noTerm for a single one
	term   int32
	worth  float64 // of a perfect match
	name   float64 // of a match in a name
	share  float64 // of a match against the word itself
	postin []posting
	next   int32 // 1 + the next source that is the same term; 0 for the last
}

const noTerm = -1

// parse reads the query.
func (f *finder) parse(query string) {
	known := func(term string) bool { _, ok := f.x.numbers[term]; return ok }
	for _, s := range sentences(query, maxSentences) {
		words := queryWords(s, known)
		if len(words) == 0 {
			continue
		}
		var part []int32
		for i, w := range words {
			part = append(part, f.ask(w.term))
			if i > 0 && words[i-1].term != w.term {
				part = append(part, f.askPair(words[i-1], w))
			}
		}
		f.parts = append(f.parts, part)
	}
	f.dropCommonest()
	for _, part := range f.parts {
		for _, i := range part {
			if !slices.Contains(f.whole, i) {
				f.whole = append(f.whole, i)
			}
		}
	}
}

// ask adds a word to what is asked for, once, and returns its index.
func (f *finder) ask(key string) int32 {
	if i, ok := f.keys[key]; ok {
		return i
	}
	i := int32(len(f.asked))
	f.keys[key] = i
	a := asked{key: key, rarity: f.x.rarity(0)}
	n, ok := f.x.numbers[key]
	if ok {
		a.rarity = f.x.rarity(f.x.count(n))
	}
	a.worth = a.rarity
	f.asked = append(f.asked, a)
	if ok {
		f.addTerm(i, n, 1)
	}
	f.addSynonyms(i)
	if len(f.asked[i].sources) == 0 {
		f.guess(i)
	}
	return i
}

// askPair adds two neighbours to what is asked for.
func (f *finder) askPair(first, second word) int32 {
	key := first.term + " " + second.term
	if i, ok := f.keys[key]; ok {
		return i
	}
	i := int32(len(f.asked))
	f.keys[key] = i
	a := asked{key: key, isPair: true}
	for _, w := range []word{first, second} {
		a.rarity = max(a.rarity, f.asked[f.keys[w.term]].rarity)
	}
	a.worth = pairShare * a.rarity
	f.asked = append(f.asked, a)
	x, ok := f.x.numbers[first.term]
	y, also := f.x.numbers[second.term]
	if ok && also {
		f.addSource(source{asked: i, first: x, term: y, worth: a.worth, share: 1})
	}
	f.addSynonyms(i)
	// "test run" finds testrun.
	if n, ok := f.x.numbers[first.term+second.term]; ok {
		f.addSource(source{asked: i, first: noTerm, term: n, worth: f.x.rarity(f.x.count(n)), share: 1, postin: f.x.terms[n].postings})
	}
	return i
}

// addTerm adds a term that stands for what is asked.
func (f *finder) addTerm(i, n int32, share float64) {
	f.addList(i, noTerm, n, f.x.terms[n].postings, share)
}

// addPair adds two terms that stand side by side for what is asked.
func (f *finder) addPair(i int32, first, second string, share float64) {
	a, ok := f.x.numbers[first]
	b, also := f.x.numbers[second]
	if !ok || !also {
		return
	}
	if list := f.x.sideBySide(a, b); len(list) > 0 {
		f.addList(i, a, b, list, share)
	}
}

func (f *finder) addList(i, first, n int32, list []posting, share float64) {
	rarity := f.x.rarity(len(list))
	a := &f.asked[i]
	s := source{asked: i, first: first, term: n, worth: share * min(a.worth, rarity), share: share, postin: list}
	if !a.isPair {
		s.name = share * rarity
	}
	f.addSource(s)
}

func (f *finder) addSource(s source) {
	f.asked[s.asked].sources = append(f.asked[s.asked].sources, int32(len(f.sources)))
	f.sources = append(f.sources, s)
}

func (f *finder) addSynonyms(i int32) {
	for _, s := range synonyms()[f.asked[i].key] {
		if first, second, isPair := strings.Cut(s, " "); isPair {
			f.addPair(i, first, second, synonymShare)
		} else if n, ok := f.x.numbers[s]; ok {
			f.addTerm(i, n, synonymShare)
		}
	}
}

// guess looks for what may be meant by a word that no document has: two words
// that it joins, as in testrun, or else words that are one slip away.
func (f *finder) guess(i int32) {
	word := f.asked[i].key
	for at := 2; at < len(word)-1; at++ {
		f.addPair(i, word[:at], word[at:], 1)
		if len(f.asked[i].sources) > 0 {
			return
		}
	}
	s, ok := shapeOf(word)
	if !ok || f.guessed == maxGuessed || len(word) < minGuessed {
		return
	}
	f.guessed++
	for size := s.size - 1; size <= s.size+1; size++ {
		for _, n := range f.x.near[shape{s.first, size}] {
			if isSlip(word, f.x.terms[n].text) {
				f.addTerm(i, n, guessShare)
			}
		}
	}
}

// shapeOf returns the shape of a word that may be misspelt, or be meant by a
// misspelt one. A digit never is a slip.
func shapeOf(word string) (s shape, ok bool) {
	if len(word) < minGuessed-1 || len(word) > 100 || strings.ContainsAny(word, "0123456789") {
		return shape{}, false
	}
	return shape{word[0], uint8(len(word))}, true
}

// isSlip reports whether two words of near shapes differ by one letter, which
// is missing, too many or another, or by two neighbours that are swapped. The
// first letter is taken as right.
func isSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	rest := min(i+1, len(a))
	return a[rest:] == b[rest:] || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// dropCommonest leaves only the rarest maxAsked of what is asked for and found.
func (f *finder) dropCommonest() {
	var found []int32
	for i, a := range f.asked {
		if !a.isPair {
			f.wants += a.rarity
		}
		if len(a.sources) > 0 {
			found = append(found, int32(i))
		}
	}
	if len(found) <= maxAsked {
		return
	}
	slices.SortFunc(found, func(a, b int32) int {
		return cmp.Or(cmp.Compare(f.asked[b].rarity, f.asked[a].rarity), cmp.Compare(f.asked[a].key, f.asked[b].key))
	})
	dropped := map[int32]bool{}
	for _, i := range found[maxAsked:] {
		dropped[i] = true
		f.asked[i].sources = nil
	}
	f.sources = slices.Clone(f.sources)
	for i := range f.sources {
		if dropped[f.sources[i].asked] {
			f.sources[i].postin, f.sources[i].term = nil, noTerm
		}
	}
}
