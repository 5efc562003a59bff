package lazy

import (
	"iter"
	"math"

	"github.com/toolfold/toolfold"
)

// Weights of turns of phrase.
const (
	priorTurns     = 30   // additional turns, as of an average action, that each name is assumed to have
	phrasingWeight = 0.15 // of the evidence, in the exponent of the factor
)

// phrasing is how people ask for actions of each name. For example, requests for a list begin with
// "which" or "show all" in every family. It is learned from the Asks, including grammar, which the
// index drops.
type phrasing struct {
	names []float64           // by number of a name: log weight of a turn that the name does not have
	of    map[string]int      // numbers, by name
	words map[string]int32    // numbers of the words of turns, from 1
	turns map[[2]int32][]turn // by the previous word (noWord for a turn of one word) and the word
}

// Numbers that do not stand for a word of a turn.
const (
	noWord    = -1 // before a turn of one word
	unheard   = -2 // a word that is in no turn
	atStart   = 0  // before the first word of a request
	ofOne     = -3 // the turn of a request without a plural
	ofSeveral = -4 // the turn of a request with a plural, mostly for a list
)

// turn is a turn of phrase in requests for actions of a name.
type turn struct {
	name int
	gain float64 // its weight for the name
}

func newPhrasing(families []*toolfold.Family) *phrasing {
	p := &phrasing{of: map[string]int{}, words: map[string]int32{}, turns: map[[2]int32][]turn{}}
	counts := map[[2]int32]map[int]float64{}
	var totals []float64
	all := 0.0
	for _, f := range families {
		for _, a := range f.Actions {
			if len(a.Asks) == 0 {
				continue
			}
			name, ok := p.of[a.Name]
			if !ok {
				name = len(totals)
				p.of[a.Name], totals = name, append(totals, 0)
			}
			for _, ask := range a.Asks {
				for key := range p.turnsOf(appendWords(nil, ask), p.learn) {
					if counts[key] == nil {
						counts[key] = map[int]float64{}
					}
					counts[key][name]++
					totals[name]++
					all++
				}
			}
		}
	}
	for _, total := range totals {
		p.names = append(p.names, math.Log(priorTurns/(total+priorTurns)))
	}
	for key, byName := range counts {
		total := 0.0
		for _, n := range byName {
			total += n
		}
		for name, n := range byName {
			p.turns[key] = append(p.turns[key], turn{name, math.Log1p(n * all / total / priorTurns)})
		}
	}
	return p
}

// learn returns the number of a word and assigns one to a new word.
func (p *phrasing) learn(word string) int32 {
	n, ok := p.words[word]
	if !ok {
		n = int32(len(p.words) + 1)
		p.words[word] = n
	}
	return n
}

// know returns the number of a known word, or unheard.
func (p *phrasing) know(word string) int32 {
	if n, ok := p.words[word]; ok {
		return n
	}
	return unheard
}

// turnsOf yields each word of a text alone and with its previous word, including grammar, and at
// the end ofOne or ofSeveral, because stems do not show the plural.
func (p *phrasing) turnsOf(list []requestWord, number func(word string) int32) iter.Seq[[2]int32] {
	return func(yield func([2]int32) bool) {
		before, plural := int32(atStart), int32(ofOne)
		for _, s := range list {
			if s.isPlural() {
				plural = ofSeveral
			}
			here := number(s.stem)
			if !yield([2]int32{noWord, here}) || !yield([2]int32{before, here}) {
				return
			}
			before = here
		}
		yield([2]int32{noWord, plural})
	}
}

// shares returns a function from the name of an action to a factor from 0 to 1: how well the
// phrasing of the query fits the name, relative to the best name. A name without Asks may be asked
// for in any way, so the phrasing counts neither for nor against it.
func (p *phrasing) shares(query []requestWord) func(name string) float64 {
	sums := make([]float64, len(p.names))
	known := 0.0
	for key := range p.turnsOf(query, p.know) {
		turns := p.turns[key]
		if len(turns) > 0 {
			known++
		}
		for _, t := range turns {
			sums[t.name] += t.gain
		}
	}
	best := 0.0
	for name, against := range p.names {
		sums[name] += known * against
		best = max(best, sums[name])
	}
	weight := phrasingWeight / math.Sqrt(float64(2*len(query)+1))
	return func(name string) float64 {
		n, ok := p.of[name]
		if !ok {
			return math.Exp(-weight * best)
		}
		return math.Exp(weight * (sums[n] - best))
	}
}
