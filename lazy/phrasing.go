package lazy

import (
	"math"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/words"
)

// What a turn of phrase counts for.
const (
	priorTurns     = 30   // turns of any action that each name is thought to have besides its own
	phrasingWeight = 0.15 // of the evidence, in the exponent of a share
)

// phrasing knows how people ask for actions of one name: those of every list, in
// whatever family, begin with "which" or "show all". It is learned from the
// Asks, grammar included, which the index leaves out.
type phrasing struct {
	names []float64         // by number of a name: what each turn counts against it
	turns map[string][]turn // by words: one, or two side by side
	of    map[string]int    // numbers, by name
}

// turn is a turn of phrase that actions of a name are asked for with.
type turn struct {
	name int
	gain float64 // what it counts for the name
}

func learnPhrasing(families []*toolfold.Family) *phrasing {
	p := &phrasing{turns: map[string][]turn{}, of: map[string]int{}}
	counts := map[string]map[int]float64{}
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
				for _, words := range turnsOf(ask) {
					if counts[words] == nil {
						counts[words] = map[int]float64{}
					}
					counts[words][name]++
					totals[name]++
					all++
				}
			}
		}
	}
	for _, total := range totals {
		p.names = append(p.names, math.Log(priorTurns/(total+priorTurns)))
	}
	for words, byName := range counts {
		total := 0.0
		for _, n := range byName {
			total += n
		}
		for name, n := range byName {
			p.turns[words] = append(p.turns[words], turn{name, math.Log1p(n * all / total / priorTurns)})
		}
	}
	return p
}

// turnsOf returns the words of a text, and each with the one before it: stems, but
// for those of grammar.
func turnsOf(text string) (list []string) {
	before := "^"
	for w := range words.Split(text) {
		here := w.Text
		if !words.IsStop(here) {
			here = words.Stem(here)
		}
		list = append(list, here, before+" "+here)
		before = here
	}
	return list
}

// shares returns how far a query is phrased as requests for an action of each
// name, against the name for which it is most: from 0 to 1. Actions without Asks may be
// asked for in any way: to them the query says nothing.
func (p *phrasing) shares(query string) func(name string) float64 {
	list := turnsOf(query)
	sums := make([]float64, len(p.names))
	known := 0.0
	for _, words := range list {
		turns := p.turns[words]
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
	weight := phrasingWeight / math.Sqrt(float64(len(list)+1))
	return func(name string) float64 {
		n, ok := p.of[name]
		if !ok {
			return math.Exp(-weight * best)
		}
		return math.Exp(weight * (sums[n] - best))
	}
}
