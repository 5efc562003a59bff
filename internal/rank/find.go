package rank

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// What relevance is made of. Each value is in the middle of a range in which
// BenchmarkSets changes little.
const (
	nameBonus     = 1.0 // for a name that the query covers
	sentenceBonus = 0.7 // for the best sentence against the whole query
	inPassage     = 0.5 // weight of a word of a passage, which makes no document longer
	passageBonus  = 0.2 // for the best passage
	evenEvidence  = 0.3 // evidence times coverage that gives a Score of one half
)

// evidence weighs how often a word occurs in a document.
var evidence = BM25{Saturation: 1.0, LengthShare: 0.9}

// Bounds of the documents of which the texts are read: a third of all, within these.
const (
	minCandidates = 24
	maxCandidates = 100
)

// finder answers one query under the index's lock.
type finder struct {
	x       *Index
	asked   []asked
	keys    map[string]int32 // of asked
	sources []source
	parts   [][]int32 // sentences, of asked
	whole   []int32   // all that is asked for
	wants   float64   // rarity of all words together
	guessed int

	scores []float32 // by slot
	best   []float64 // scratch of the candidates

	singles []int32              // by term: 1 + the first source that it is, see source.next
	paired  []bool               // by term: it is one of two side by side
	pairs   map[[2]int32][]int32 // sources by two terms

	weight []float64 // by source: of its occurrences in a document
	inName []float64 // by source: occurrences in the name
	value  []float64 // by asked: worth of the best source
	named  []float64 // by asked: of the name
	share  []float64 // by asked: best share
	inPass []float64 // by asked: of a passage
	touch  []int32
}

var finders = sync.Pool{New: func() any {
	return &finder{keys: map[string]int32{}, pairs: map[[2]int32][]int32{}}
}}

func (f *finder) reset(x *Index, query string) {
	clear(f.keys)
	clear(f.pairs)
	for _, s := range f.sources { // of the last query
		for _, term := range [...]int32{s.first, s.term} {
			if term != noTerm {
				f.singles[term], f.paired[term] = 0, false
			}
		}
	}
	*f = finder{
		x: x, asked: f.asked[:0], keys: f.keys, sources: f.sources[:0], parts: f.parts[:0], whole: f.whole[:0],
		scores: f.scores, best: f.best[:0], singles: f.singles, paired: f.paired, pairs: f.pairs, touch: f.touch[:0],
		weight: f.weight, inName: f.inName, value: f.value, named: f.named, share: f.share, inPass: f.inPass,
	}
	f.parse(query)
	if more := len(x.terms) - len(f.singles); more > 0 {
		f.singles, f.paired = append(f.singles, make([]int32, more)...), append(f.paired, make([]bool, more)...)
	}
	for i, s := range f.sources {
		if s.term == noTerm {
			f.sources[i].first = noTerm
			continue
		}
		if s.first == noTerm {
			f.sources[i].next = f.singles[s.term]
			f.singles[s.term] = int32(i + 1)
		} else {
			f.paired[s.first], f.paired[s.term] = true, true
			key := [2]int32{s.first, s.term}
			f.pairs[key] = append(f.pairs[key], int32(i))
		}
	}
	f.weight = zeroed(f.weight, len(f.sources))
	f.inName = zeroed(f.inName, len(f.sources))
	f.value = zeroed(f.value, len(f.asked))
	f.named = zeroed(f.named, len(f.asked))
	f.share = zeroed(f.share, len(f.asked))
	f.inPass = zeroed(f.inPass, len(f.asked))
}

func zeroed[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

// candidates returns the slots of the documents that share the most with the
// query, in no order.
func (f *finder) candidates(limit int, keep func(id string) bool) []int32 {
	x := f.x
	f.scores = zeroed(f.scores, len(x.docs))
	fixed := float32(evidence.norm(0))
	perWord := (float32(evidence.norm(1)) - fixed) * float32(len(x.slots)) / float32(max(x.length, 1))
	for _, s := range f.sources {
		worth := float32(s.worth)
		for _, p := range s.postin {
			f.scores[p.slot] += worth * p.weight / (p.weight + fixed + perWord*x.lengths[p.slot])
		}
	}
	// The root of the heap is the worst of the best.
	heap := make([]int32, 0, limit)
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
	return heap
}

// hits reads the texts of candidates and returns the best that are worth
// something.
func (f *finder) hits(candidates []int32, limit int) []Hit {
	type found struct {
		slot            int32
		worth, coverage float64
	}
	all := make([]found, 0, len(candidates))
	for _, slot := range candidates {
		if worth, coverage := f.read(slot); worth > 0 {
			all = append(all, found{slot, worth, coverage})
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		if a.worth != b.worth {
			return cmp.Compare(b.worth, a.worth)
		}
		return cmp.Compare(f.x.docs[a.slot].order, f.x.docs[b.slot].order)
	})
	list := make([]Hit, min(limit, len(all)))
	asked := math.Sqrt(f.wants * f.x.rarity(0))
	for i, one := range all[:len(list)] {
		shown := one.worth / asked * one.coverage
		list[i] = Hit{ID: f.x.docs[one.slot].id, Worth: one.worth, Coverage: one.coverage, Score: shown / (shown + evenEvidence)}
	}
	return list
}

// read returns what a document is worth to the query, and how much of the query
// it has.
func (f *finder) read(slot int32) (worth, coverage float64) {
	e := &f.x.docs[slot]
	norm := evidence.norm(float64(f.x.lengths[slot]) * float64(len(f.x.slots)) / max(f.x.length, 1))
	clear(f.value)
	clear(f.named)
	clear(f.share)
	nameRarity, bestPassage := 0.0, 0.0
	begin := int32(0)
	f.touch = f.touch[:0]
	i := 0
	for ; i < len(e.parts) && e.parts[i].kind != passage; i++ {
		p := e.parts[i]
		if p.kind == name {
			for _, t := range e.terms[begin:p.end] {
				nameRarity += f.x.rarity(f.x.count(t))
			}
		}
		f.each(e.terms[begin:p.end], p.kind != compounds, func(s int32) {
			if f.weight[s] == 0 {
				f.touch = append(f.touch, s)
			}
			f.weight[s] += float64(p.weight)
			if p.weight == nameWeight && i < 2 && (p.kind == name || p.kind == compounds) {
				f.inName[s]++
			}
		})
		begin = p.end
	}
	for ; i < len(e.parts); i++ {
		p := e.parts[i]
		if p.kind == passage {
			bestPassage = max(bestPassage, f.passage(e.terms[begin:p.end]))
		}
		begin = p.end
	}
	for _, s := range f.touch {
		src := &f.sources[s]
		w := f.weight[s]
		a := src.asked
		f.value[a] = max(f.value[a], src.worth*w/(w+norm))
		f.named[a] += src.name * f.inName[s]
		f.share[a] = max(f.share[a], src.share)
		f.weight[s], f.inName[s] = 0, 0
	}
	worth = f.sum(f.whole, nameRarity)
	bestPart := worth
	if len(f.parts) > 1 {
		bestPart = 0
		for _, part := range f.parts {
			bestPart = max(bestPart, f.sum(part, nameRarity))
		}
	}
	worth += sentenceBonus*bestPart + passageBonus*bestPassage
	has := 0.0
	for i, a := range f.asked {
		if !a.isPair {
			has += a.rarity * f.share[i]
		}
	}
	return worth, has / max(f.wants, 1e-9)
}

// sum returns what terms of the query are worth, more where they cover the name.
func (f *finder) sum(terms []int32, nameRarity float64) float64 {
	sum, named := 0.0, 0.0
	for _, i := range terms {
		sum += f.value[i]
		named += f.named[i]
	}
	if nameRarity > 0 {
		sum *= 1 + nameBonus*min(1, named/nameRarity)
	}
	return sum
}

// passage returns what a passage is worth to the query.
func (f *finder) passage(terms []int32) float64 {
	if !slices.ContainsFunc(terms, func(t int32) bool { return f.singles[t] > 0 || f.paired[t] }) {
		return 0 // as most do
	}
	clear(f.inPass)
	sum := 0.0
	f.each(terms, true, func(s int32) {
		src := &f.sources[s]
		if f.weight[s] == 0 {
			f.touch = append(f.touch, s)
		}
		f.weight[s] += inPassage
		if v := src.worth; v > f.inPass[src.asked] {
			sum += v - f.inPass[src.asked]
			f.inPass[src.asked] = v
			f.share[src.asked] = max(f.share[src.asked], src.share)
		}
	})
	if sum == 0 {
		return 0
	}
	has := 0.0
	for _, t := range terms {
		has += f.x.rarity(f.x.count(t))
	}
	return sum * math.Sqrt(f.wants/(has+f.wants))
}

// each calls found with every source that terms have; those in order have
// neighbours.
func (f *finder) each(terms []int32, inOrder bool, found func(source int32)) {
	for i, t := range terms {
		for n := f.singles[t]; n > 0; n = f.sources[n-1].next {
			found(n - 1)
		}
		if inOrder && f.paired[t] && i > 0 && f.paired[terms[i-1]] {
			for _, s := range f.pairs[[2]int32{terms[i-1], t}] {
				found(s)
			}
		}
	}
}
