package rank

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// Parts of relevance. Each value is in the middle of a range in which BenchmarkSets changes little.
const (
	nameBonus     = 1.0  // for a name that the query covers
	sentenceBonus = 0.7  // for the best sentence, relative to the whole query
	inPassage     = 0.5  // weight of a word of a passage; passages do not count as length
	passageBonus  = 0.2  // for the best passage
	evenEvidence  = 0.3  // product of evidence and coverage for a Score of one half
	leastCoverage = 0.01 // of a hit that matches only pairs
)

// evidence weighs the count of a word in a document.
var evidence = BM25{Saturation: 1.0, LengthShare: 0.9}

// Limits of the candidates, which are a third of all documents within these limits.
const (
	minCandidates = 24
	maxCandidates = 100
)

// finder runs one query under the index's lock. The next query reuses its lists.
type finder struct {
	x *Index

	among   []bool // by slot: counts for rarity; empty = all count
	terms   []queryTerm
	byTerm  []int32            // by term: 1 + the index in terms; zero between queries
	strange map[string]int32   // by word that no document has: index in terms
	byPair  map[[2]int32]int32 // by pair of indexes in terms: index of the pair in terms
	sources []source           // grouped by query term
	words   []string           // terms of a sentence
	text    []byte             // scratch
	columns []int32            // indexes of the terms that candidates are compared by
	parts   []int32            // indexes in terms, sentence by sentence
	ends    []int32            // of the sentences, in parts
	wants   float64            // rarity of all words together
	guessed int

	direction  direction   // of the query
	scores     []float32   // by slot
	candidates []int32     // slots
	place      []int32     // by slot: 1 + the index of the candidate
	norms      []float64   // by candidate: see BM25
	cells      []cell      // by candidate and column
	best       []float64   // by candidate: worth of the best passage
	round      int32       // counts the comparisons with a source
	meetings   []pairMatch // by candidate
	tallies    []tally     // by passage
	touched    []int32     // passages with a tally
	matches    []match
}

// cell is the match of a candidate with one word or pair.
type cell struct {
	value float64 // worth of the best source
	named float64 // the same for the name, summed up
	share float64 // of the best source
}

// pairMatch is the match of a candidate with two terms side by side.
type pairMatch struct {
	round  int32 // in which the candidate has the first term
	weight float32
	inName uint16
}

// tally adds up the worth of a passage.
type tally struct {
	sum      float64
	last     float64 // part of sum, for the last query term
	lastTerm int32   // 1 + index of the last query term
	meet     int32   // round in which the passage has the first of two terms
}

// match is a candidate with a worth above zero.
type match struct {
	slot     int32
	worth    float64
	shared   float64 // part of worth for words that it shares with the query
	coverage float64
}

var finders = sync.Pool{New: func() any {
	return &finder{strange: map[string]int32{}, byPair: map[[2]int32]int32{}}
}}

// reset forgets the last query.
func (f *finder) reset(x *Index) {
	for _, a := range f.terms {
		if a.term != noTerm {
			f.byTerm[a.term] = 0
		}
	}
	clear(f.strange)
	clear(f.byPair)
	f.x, f.terms, f.sources, f.parts, f.ends = x, f.terms[:0], f.sources[:0], f.parts[:0], f.ends[:0]
	f.wants, f.guessed = 0, 0
	if more := len(x.terms) - len(f.byTerm); more > 0 {
		f.byTerm = append(f.byTerm, make([]int32, more)...)
	}
}

// countAmong makes only some documents count for rarity. Nil means all.
func (f *finder) countAmong(among func(id string) bool) {
	f.among = f.among[:0]
	if among == nil {
		return
	}
	for _, e := range f.x.docs {
		f.among = append(f.among, e.id != "" && among(e.id))
	}
}

// rarity returns the rarity of a term with these documents.
func (f *finder) rarity(list []posting) float64 {
	if len(f.among) == 0 {
		return f.x.rarity(len(list))
	}
	count := 0
	for _, p := range list {
		if f.among[p.slot] {
			count++
		}
	}
	return f.x.rarity(count)
}

// nameRarity returns the sum of the rarities of the words of a document's name.
func (f *finder) nameRarity(e *entry) (sum float64) {
	if len(e.parts) == 0 || e.parts[0].kind != name || e.parts[0].loose {
		return 0
	}
	for _, n := range e.terms[:e.parts[0].end] {
		sum += f.rarity(f.x.terms[n].postings)
	}
	return sum
}

func zeroed[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

// choose selects the documents that share the most with the query as candidates, unordered.
func (f *finder) choose(limit int, keep func(id string) bool) {
	x := f.x
	f.scores = zeroed(f.scores, len(x.docs))
	fixed := float32(evidence.norm(0))
	perWord := (float32(evidence.norm(1)) - fixed) * float32(len(x.slots)) / float32(max(x.length, 1))
	for _, s := range f.sources {
		worth, plainWorth := float32(s.worth), float32(s.worth*s.plain)
		for _, p := range s.postings {
			worth := worth
			if x.plain[p.slot] {
				worth = plainWorth
			}
			f.scores[p.slot] += worth * p.weight / (p.weight + fixed + perWord*x.lengths[p.slot])
		}
	}
	// The root of the heap is the worst of the best.
	heap := f.candidates[:0]
	worse := func(a, b int32) bool { return f.scores[a] < f.scores[b] || f.scores[a] == f.scores[b] && a > b }
	down := func(i int) {
		for {
			c := 2*i + 1
			if c >= len(heap) {
				return
			}
			if c+1 < len(heap) && worse(heap[c+1], heap[c]) {
				c++
			}
			if !worse(heap[c], heap[i]) {
				return
			}
			heap[i], heap[c] = heap[c], heap[i]
			i = c
		}
	}
	for slot, score := range f.scores {
		if score <= 0 || len(heap) == limit && score <= f.scores[heap[0]] || keep != nil && !keep(x.docs[slot].id) {
			continue
		}
		if len(heap) < limit {
			heap = append(heap, int32(slot))
			for i := len(heap) - 1; i > 0 && worse(heap[i], heap[(i-1)/2]); i = (i - 1) / 2 {
				heap[i], heap[(i-1)/2] = heap[(i-1)/2], heap[i]
			}
			continue
		}
		heap[0] = int32(slot)
		down(0)
	}
	if len(heap) < limit {
		heap = f.appendNear(heap, limit, keep)
	}
	f.candidates = heap
}

// gather compares the candidates with the words and pairs of the query.
func (f *finder) gather() {
	x := f.x
	f.place = zeroed(f.place, len(x.docs))
	f.norms = f.norms[:0]
	for i, slot := range f.candidates {
		f.place[slot] = int32(i + 1)
		f.norms = append(f.norms, evidence.norm(float64(x.lengths[slot])*float64(len(x.slots))/max(x.length, 1)))
	}
	f.cells = zeroed(f.cells, len(f.candidates)*len(f.columns))
	f.best = zeroed(f.best, len(f.candidates))
	f.meetings = zeroed(f.meetings, len(f.candidates))
	f.tallies = zeroed(f.tallies, len(x.passages))
	f.touched, f.round = f.touched[:0], 0
	for i := range f.sources {
		s := &f.sources[i]
		if s.first != noTerm {
			f.meet(s)
			continue
		}
		t := &x.terms[s.term]
		for _, p := range t.postings {
			if c := f.place[p.slot]; c > 0 {
				f.credit(c-1, s, p.evidence, p.inName)
			}
		}
		for _, n := range t.passages {
			f.tally(n, s)
		}
	}
	f.ratePassages()
}

// meet compares the candidates with two terms side by side.
func (f *finder) meet(s *source) {
	f.round++
	first, second := &f.x.terms[s.first], &f.x.terms[s.term]
	for _, p := range first.postings {
		if c := f.place[p.slot]; c > 0 {
			f.meetings[c-1] = pairMatch{round: f.round}
		}
	}
	for _, p := range second.postings {
		c := f.place[p.slot]
		if c > 0 && f.meetings[c-1].round == f.round && p.evidence > inPassage*float32(p.inPassages) {
			m := &f.meetings[c-1]
			m.weight, m.inName = f.x.docs[p.slot].sideBySide(s.first, s.term)
		}
	}
	for _, n := range first.passages {
		f.tallies[n].meet = f.round
	}
	for _, n := range second.passages {
		if c := f.place[f.x.passages[n].slot]; c > 0 && f.tallies[n].meet == f.round {
			if times := f.x.besides(n, s.first, s.term); times > 0 {
				f.meetings[c-1].weight += inPassage * float32(times)
				f.tally(n, s)
			}
		}
	}
	for _, p := range second.postings {
		if c := f.place[p.slot]; c > 0 && f.meetings[c-1].round == f.round && f.meetings[c-1].weight > 0 {
			f.credit(c-1, s, f.meetings[c-1].weight, f.meetings[c-1].inName)
		}
	}
}

// credit records that a candidate has a source.
func (f *finder) credit(candidate int32, s *source, weight float32, inName uint16) {
	w, plain := float64(weight), 1.0
	if f.x.plain[f.candidates[candidate]] {
		plain = s.plain
	}
	at := &f.cells[int(candidate)*len(f.columns)+int(f.terms[s.query].column)]
	at.value = max(at.value, plain*s.worth*w/(w+f.norms[candidate]))
	at.named += plain * s.name * float64(inName)
	at.share = max(at.share, plain*s.share)
}

// tally records that a passage has a source. Only the best source of each query term counts.
func (f *finder) tally(passage int32, s *source) {
	t := &f.tallies[passage]
	if t.lastTerm == 0 {
		f.touched = append(f.touched, passage)
	}
	if t.lastTerm != s.query+1 {
		t.lastTerm, t.last = s.query+1, 0
	}
	if s.worth > t.last {
		t.sum += s.worth - t.last
		t.last = s.worth
	}
}

// ratePassages finds the best passage of each candidate.
func (f *finder) ratePassages() {
	for _, n := range f.touched {
		s, sum := &f.x.passages[n], f.tallies[n].sum
		if c := f.place[s.slot]; c > 0 && sum > f.best[c-1] {
			f.best[c-1] = max(f.best[c-1], sum*math.Sqrt(f.wants/(s.rarity+f.wants)))
		}
	}
}

// hits returns the best candidates with a worth above zero.
func (f *finder) hits(limit int) []Hit {
	f.matches = f.matches[:0]
	best := 0.0
	for i, slot := range f.candidates {
		shared, coverage := f.rate(i)
		best = max(best, coverage)
		f.matches = append(f.matches, match{slot, shared, shared, coverage})
	}
	bonus := f.meaningBonus(best)
	for i := range f.matches {
		f.matches[i].worth += bonus * f.near(f.matches[i].slot)
	}
	f.matches = slices.DeleteFunc(f.matches, func(one match) bool { return one.worth <= 0 })
	slices.SortFunc(f.matches, func(a, b match) int {
		if a.worth != b.worth {
			return cmp.Compare(b.worth, a.worth)
		}
		return cmp.Compare(f.x.docs[a.slot].order, f.x.docs[b.slot].order)
	})
	list := make([]Hit, min(limit, len(f.matches)))
	total := math.Sqrt(f.wants * f.x.rarity(0))
	for i, one := range f.matches[:len(list)] {
		shown := one.shared / total * max(one.coverage, leastCoverage)
		if one.shared == 0 {
			shown = one.worth / total * leastCoverage
		}
		score := shown / (shown + evenEvidence)
		if i > 0 {
			score = min(score, list[i-1].Score) // it may have more of the words but less worth
		}
		list[i] = Hit{ID: f.x.docs[one.slot].id, Worth: one.worth, Coverage: one.coverage, Score: score}
	}
	return list
}

// rate returns the worth of a candidate, and the share of the query that it covers.
func (f *finder) rate(candidate int) (worth, coverage float64) {
	cells := f.cells[candidate*len(f.columns):][:len(f.columns)]
	nameRarity := f.nameRarity(&f.x.docs[f.candidates[candidate]])
	value, named, has := 0.0, 0.0, 0.0
	for column, i := range f.columns {
		value += cells[column].value
		named += cells[column].named
		if a := &f.terms[i]; !a.isPair {
			has += a.rarity * cells[column].share
		}
	}
	worth = withName(value, named, nameRarity)
	bestPart := worth
	if len(f.ends) > 1 {
		bestPart = 0
		begin := int32(0)
		for _, end := range f.ends {
			value, named := 0.0, 0.0
			for _, i := range f.parts[begin:end] {
				if column := f.terms[i].column; column != noColumn {
					value += cells[column].value
					named += cells[column].named
				}
			}
			bestPart = max(bestPart, withName(value, named, nameRarity))
			begin = end
		}
	}
	return worth + sentenceBonus*bestPart + passageBonus*f.best[candidate], has / max(f.wants, 1e-9)
}

// withName returns the worth of a match, increased by the share of the name that it covers.
func withName(value, named, nameRarity float64) float64 {
	if nameRarity > 0 {
		value *= 1 + nameBonus*min(1, named/nameRarity)
	}
	return value
}
