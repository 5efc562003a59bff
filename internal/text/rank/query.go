package rank

import (
	"cmp"
	"slices"
	"strings"
)

// Bounds of a query.
const (
	longestQuery = 16 << 10 // bytes
	maxTerms     = 128      // terms and pairs, the rarest
	maxSentences = 16
	minGuessed   = 5 // bytes of a stem that may be misspelt
	maxGuessed   = 8 // words to guess
)

// A substitute counts less than the word itself. A document without passages has only its author's
// words, so synonyms count more for it and neighbours less.
const (
	synonymShare      = 0.2
	plainSynonymShare = 0.5
	guessShare        = 0.5 // of a word one slip away
	pairShare         = 0.9 // of neighbours, relative to a word of the same rarity
	plainPairShare    = 0.6
)

// queryTerm is a word of the query, or a pair of neighbouring words.
type queryTerm struct {
	key    string
	second string  // of a pair
	term   int32   // of a word; noTerm if no document has it
	rarity float64 // of the word, or of the rarer word of a pair
	worth  float64 // of a perfect match
	isPair bool
	found  bool  // it has sources
	column int32 // for comparing candidates; noColumn = not compared
}

// source is a term, or a pair of neighbouring terms, that matches a query term.
type source struct {
	query    int32 // index
	first    int32 // first term of a pair; noTerm for a single term
	term     int32
	worth    float64 // of a perfect match
	name     float64 // of a match in a name
	share    float64 // of a match, relative to the word itself
	synonym  bool    // it is not what was asked, but means the same
	plain    float64 // factor of these for a document without passages
	postings []posting
}

const (
	noTerm   = -1
	noColumn = -1
)

// parse reads the query.
func (f *finder) parse(query string) {
	for s := range sentences(query, maxSentences) {
		f.words = f.x.appendTerms(f.words[:0], s)
		if len(f.words) == 0 {
			continue
		}
		before := int32(0)
		for i, term := range f.words {
			here := f.ask(term)
			f.parts = append(f.parts, here)
			if i > 0 && before != here {
				f.parts = append(f.parts, f.askPair(before, here))
			}
			before = here
		}
		f.ends = append(f.ends, int32(len(f.parts)))
	}
	f.keepRarest()
}

// ask adds a word to terms, unless it is there, and returns its index.
func (f *finder) ask(key string) int32 {
	n, known := f.x.numbers[key]
	if !known {
		n = noTerm
		if i, ok := f.strange[key]; ok {
			return i
		}
	} else if i := f.byTerm[n]; i > 0 {
		return i - 1
	}
	i := int32(len(f.terms))
	a := queryTerm{key: key, term: n, rarity: f.x.rarity(0), column: noColumn}
	if known {
		f.byTerm[n] = i + 1
		a.rarity = f.rarity(f.x.terms[n].postings)
	} else {
		f.strange[key] = i
	}
	a.worth = a.rarity
	f.terms = append(f.terms, a)
	if known {
		f.addTerm(i, n, 1, false)
	}
	f.addSynonyms(i, synonyms()[key])
	if !f.terms[i].found {
		f.guess(i)
	}
	return i
}

// askPair adds a pair of neighbouring words to terms, unless it is there, and returns its index.
func (f *finder) askPair(first, second int32) int32 {
	key := [2]int32{first, second}
	if i, ok := f.byPair[key]; ok {
		return i
	}
	i := int32(len(f.terms))
	f.byPair[key] = i
	one, other := f.terms[first], f.terms[second]
	a := queryTerm{key: one.key, second: other.key, term: noTerm, isPair: true, rarity: max(one.rarity, other.rarity), column: noColumn}
	a.worth = pairShare * a.rarity
	f.terms = append(f.terms, a)
	if one.term != noTerm && other.term != noTerm {
		f.addSource(source{query: i, first: one.term, term: other.term, worth: a.worth, share: 1})
	}
	f.text = append(append(append(f.text[:0], one.key...), ' '), other.key...)
	f.addSynonyms(i, synonyms()[string(f.text)])
	// "test run" finds testrun.
	f.text = append(append(f.text[:0], one.key...), other.key...)
	if n, ok := f.x.numbers[string(f.text)]; ok {
		list := f.x.terms[n].postings
		f.addSource(source{query: i, first: noTerm, term: n, worth: f.rarity(list), share: 1, postings: list})
	}
	return i
}

// addTerm adds a term as a source of query term i.
func (f *finder) addTerm(i, n int32, share float64, synonym bool) {
	f.addList(i, noTerm, n, f.x.terms[n].postings, share, synonym)
}

// addPair adds a pair of neighbouring terms as a source of query term i.
func (f *finder) addPair(i int32, first, second string, share float64, synonym bool) {
	a, ok := f.x.numbers[first]
	b, also := f.x.numbers[second]
	if !ok || !also {
		return
	}
	if list := f.x.sideBySide(a, b); len(list) > 0 {
		f.addList(i, a, b, list, share, synonym)
	}
}

func (f *finder) addList(i, first, n int32, list []posting, share float64, synonym bool) {
	rarity := f.rarity(list)
	a := &f.terms[i]
	s := source{query: i, first: first, term: n, worth: share * min(a.worth, rarity), share: share, synonym: synonym, postings: list}
	if !a.isPair {
		s.name = share * rarity
	}
	f.addSource(s)
}

func (f *finder) addSource(s source) {
	a := &f.terms[s.query]
	a.found = true
	s.plain = 1
	if s.synonym {
		s.plain = plainSynonymShare / synonymShare
	}
	if a.isPair {
		s.plain *= plainPairShare / pairShare
	}
	f.sources = append(f.sources, s)
}

func (f *finder) addSynonyms(i int32, list []string) {
	for _, s := range list {
		if first, second, isPair := strings.Cut(s, " "); isPair {
			f.addPair(i, first, second, synonymShare, true)
		} else if n, ok := f.x.numbers[s]; ok {
			f.addTerm(i, n, synonymShare, true)
		}
	}
}

// guess adds substitutes for a word that no document has: two words that it joins, as in testrun,
// or otherwise words that differ by one slip.
func (f *finder) guess(i int32) {
	word := f.terms[i].key
	for at := 2; at < len(word)-1; at++ {
		f.addPair(i, word[:at], word[at:], 1, false)
		if f.terms[i].found {
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
				f.addTerm(i, n, guessShare, false)
			}
		}
	}
}

// shapeOf returns the shape of a word. It returns false for words that are too short, too long or
// have digits, which are never guessed.
func shapeOf(word string) (s shape, ok bool) {
	if len(word) < minGuessed-1 || len(word) > 100 || strings.ContainsAny(word, "0123456789") {
		return shape{}, false
	}
	return shape{word[0], uint8(len(word))}, true
}

// isSlip reports whether two words of near shapes, so with the same first byte, differ by one
// missing, additional or wrong letter, or by two swapped neighbours.
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

// keepRarest assigns columns to the rarest query terms that have sources, at most maxTerms, and drops all
// other sources.
func (f *finder) keepRarest() {
	f.columns = f.columns[:0]
	for i, a := range f.terms {
		if !a.isPair {
			f.wants += a.rarity
		}
		if a.found {
			f.columns = append(f.columns, int32(i))
		}
	}
	if len(f.columns) > maxTerms {
		slices.SortFunc(f.columns, func(i, j int32) int {
			a, b := &f.terms[i], &f.terms[j]
			return cmp.Or(cmp.Compare(b.rarity, a.rarity), cmp.Compare(a.key, b.key), cmp.Compare(a.second, b.second))
		})
		f.columns = f.columns[:maxTerms]
		slices.Sort(f.columns)
	}
	for column, i := range f.columns {
		f.terms[i].column = int32(column)
	}
	f.sources = slices.DeleteFunc(f.sources, func(s source) bool { return f.terms[s.query].column == noColumn })
}
