package rank

import (
	"cmp"
	"math"
	"slices"
)

// What relevance is made of. Each value is in the middle of a range in which
// BenchmarkSets changes little.
const (
	saturation    = 1.2  // BM25's k1
	lengthShare   = 0.9  // BM25's b
	synonymWeight = 0.5  // of a synonym against the word itself
	guessWeight   = 0.5  // of a word one slip away against the word itself
	pairWeight    = 0.4  // of a pair against a word as rare
	nameBonus     = 0.7  // for a name that the query covers
	sentenceBonus = 0.7  // for the best sentence against the whole query
	background    = 1000 // documents that a small index is thought to be part of
	evenEvidence  = 1.0  // evidence that gives a Score of one half
	longestQuery  = 16 << 10
	maxTerms      = 128 // of a query, words and pairs
	maxSentences  = 16
	minGuessed    = 5 // letters of a stem that may be misspelt
	maxGuessed    = 8 // words of a query that are guessed at, each against all terms
)

// finder answers one query under the index's lock. Its slices are by slot.
type finder struct {
	x     *Index
	terms map[string]*term // of the query that match something
	wants float64          // rarity of all words of the query together
	parts [][]*term        // the whole query and, if several, its sentences
	norm  []float64        // by which a long document needs more matches
	best  []float64        // scratch of one term
	name  []float64        // words of the name that match
	score []float64

	guessed int // words of the query that were guessed at
}

// term is a word or pair of the query with all that may stand for it.
type term struct {
	rarity  float64
	isPair  bool
	sources []source
}

// source is a list that a term finds documents in.
type source struct {
	*list
	worth float64 // of a perfect match
	name  float64 // of a match in a name
}

func newFinder(x *Index, query string) *finder {
	n := len(x.docs)
	f := &finder{x: x, terms: map[string]*term{}, norm: make([]float64, n), best: make([]float64, n), name: make([]float64, n), score: make([]float64, n)}
	f.parse(query)
	mean := x.length / float64(len(x.slots))
	for slot, d := range x.docs {
		f.norm[slot] = saturation * (1 - lengthShare + lengthShare*d.length/mean)
	}
	return f
}

// rarity is BM25's idf of a term that count documents have.
func (f *finder) rarity(count int) float64 {
	n := float64(len(f.x.slots) + background)
	return math.Log(1 + (n-float64(count)+0.5)/(float64(count)+0.5))
}

// relevance returns what the documents are worth to the query.
func (f *finder) relevance() []float64 {
	total := slices.Clone(f.passage(f.parts[0]))
	bestPart := slices.Clone(total)
	if len(f.parts) > 1 {
		clear(bestPart)
	}
	for _, p := range f.parts[1:] {
		for slot, s := range f.passage(p) {
			bestPart[slot] = max(bestPart[slot], s)
		}
	}
	for slot := range total {
		total[slot] += sentenceBonus * bestPart[slot]
	}
	return total
}

// passage returns what the documents are worth to terms. The slice is valid
// until the next call.
func (f *finder) passage(terms []*term) []float64 {
	clear(f.score)
	clear(f.name)
	for _, t := range terms {
		f.add(t)
	}
	for slot, s := range f.score {
		if s > 0 && f.name[slot] > 0 {
			f.score[slot] *= 1 + nameBonus*min(1, f.name[slot]/f.nameRarity(slot))
		}
	}
	return f.score
}

// nameRarity returns how rare the words of a document's name are together.
func (f *finder) nameRarity(slot int) float64 {
	sum := 0.0
	for _, l := range f.x.docs[slot].name {
		sum += f.rarity(len(l.postings))
	}
	return sum
}

// add adds to every document what its best match of t is worth.
func (f *finder) add(t *term) {
	for _, src := range t.sources {
		for _, p := range src.postings {
			weight := float64(p.weight)
			worth := src.worth * weight / (weight + f.norm[p.slot])
			if worth > f.best[p.slot] {
				f.score[p.slot] += worth - f.best[p.slot]
				f.best[p.slot] = worth
			}
			if !t.isPair {
				f.name[p.slot] += src.name * float64(p.inName)
			}
		}
	}
	for _, src := range t.sources {
		for _, p := range src.postings {
			f.best[p.slot] = 0
		}
	}
}

// hits returns the best documents that are worth something.
func (f *finder) hits(worth []float64, limit int) []Hit {
	order := func(a, b int) int {
		return cmp.Or(cmp.Compare(worth[b], worth[a]), cmp.Compare(f.x.docs[a].order, f.x.docs[b].order))
	}
	var best []int
	for slot, w := range worth {
		if w == 0 || len(best) == limit && order(best[limit-1], slot) < 0 {
			continue
		}
		i, _ := slices.BinarySearchFunc(best, slot, order)
		best = slices.Insert(best, i, slot)
		best = best[:min(limit, len(best))]
	}
	hits := make([]Hit, len(best))
	asked := math.Sqrt(f.wants * f.rarity(0))
	for i, slot := range best {
		evidence := worth[slot] / asked
		hits[i] = Hit{ID: f.x.docs[slot].id, Score: evidence / (evidence + evenEvidence)}
	}
	return hits
}
