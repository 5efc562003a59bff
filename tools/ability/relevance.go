package ability

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/rank"
	"github.com/toolfold/toolfold/internal/words"
)

// What relevance is made of. The values were chosen on testdata/tasks.txt and
// the odd tasks of testdata/trades, where their neighbours do about as well.
const (
	headWeight   = 1.5  // of a word in id, title or tags, where one elsewhere weighs 1
	saturation   = 0.4  // BM25's k1: in a short text one mention says nearly all
	lengthShare  = 0.6  // BM25's b
	background   = 1000 // abilities that a small library is thought to be part of
	commonShare  = 0.4  // of a word that requests of any subject have
	formShare    = 0.8  // of a match in another form: response for responsive
	synonymShare = 0.3  // of a match by a synonym
)

// An ability is put in unasked when its relevance reaches threshold, so that a
// task that no ability is for gets none, and is near enough to the best one's,
// so that a task with a clear answer gets no chance finds besides.
const (
	threshold = 0.45
	nearness  = 0.7
)

// maxShown bounds the words that a reason names.
const maxShown = 5

// document holds the words of an ability for the index.
type document struct {
	weights map[string]float64 // by stem
	forms   map[string]bool    // words as they are written
	length  float64
}

// analyse splits the texts of an ability. The parts of a compound count as words,
// so that oauth finds oauth2.
func analyse(a Ability) document {
	d := document{weights: map[string]float64{}, forms: map[string]bool{}}
	add := func(weight float64, texts ...string) {
		for _, word := range split(strings.Join(texts, "\n")) {
			d.weights[words.Stem(word)] += weight
			d.forms[word] = true
			d.length++
		}
	}
	add(headWeight, a.ID, a.DisplayName, strings.Join(a.Tags, "\n"))
	add(1, a.Category, a.Description, a.Content)
	return d
}

// split returns the words of a text that can say something about its subject.
// Numbers of one or two digits, and single letters and digits of an id such as
// api-v2, are in texts about anything. Characters of scripts without spaces come
// in pairs.
func split(text string) []string {
	var all []string
	before := ""
	for w := range words.Split(text) {
		switch {
		case w.Joined:
			all = append(all, before+w.Text)
		case words.IsStop(w.Text) || len(w.Text) < 3 && strings.Trim(w.Text, "0123456789") == "":
		default:
			all = append(all, w.Text)
		}
		for _, p := range w.Parts {
			if len(p) > 1 && !words.IsStop(p) && strings.Trim(p, "0123456789") != "" {
				all = append(all, p)
			}
		}
		before = w.Text
	}
	return all
}

// hit is an ability that shares words with a task.
type hit struct {
	id    string
	worth float64  // of the shared words against what the task asks for
	words []string // of the task, the most telling first
}

// score is the worth between 0 and 1, with one half at the threshold.
func (h hit) score() float64 {
	return math.Round(100*h.worth/(h.worth+threshold)) / 100
}

// match finds the abilities that share words with a task, best first.
func match(documents map[string]document, task string) []hit {
	terms := split(task)
	slices.Sort(terms)
	terms = slices.Compact(terms)
	mean := 0.0
	for _, d := range documents {
		mean += d.length / float64(len(documents))
	}
	type evidence struct {
		worth float64
		words map[string]float64
	}
	found := map[string]evidence{}
	total := 0.0
	for _, word := range terms {
		stem := words.Stem(word)
		having := 0.0
		for _, d := range documents {
			if d.weights[stem] > 0 {
				having++
			}
		}
		rarity := rarity(having, float64(len(documents)))
		if words.IsCommon(word) {
			rarity *= commonShare
		}
		total += rarity
		for id, d := range documents {
			weight, share := d.weights[stem], 1.0
			if weight > 0 && !d.forms[word] {
				share = formShare
			}
			if weight == 0 && !words.IsCommon(word) {
				share = synonymShare
				for _, other := range rank.Synonyms(stem) {
					weight = max(weight, d.weights[other])
				}
			}
			if weight == 0 {
				continue
			}
			e := found[id]
			if e.words == nil {
				e.words = map[string]float64{}
			}
			frequency := weight * (1 + saturation) / (weight + saturation*(1-lengthShare+lengthShare*d.length/mean))
			e.words[word] = rarity * share * frequency
			e.worth += e.words[word]
			found[id] = e
		}
	}
	var hits []hit
	for id, e := range found {
		telling := slices.SortedFunc(maps.Keys(e.words), func(a, b string) int {
			return cmp.Or(cmp.Compare(e.words[b], e.words[a]), cmp.Compare(a, b))
		})
		hits = append(hits, hit{id: id, worth: e.worth / math.Sqrt(max(total, 1)), words: telling[:min(maxShown, len(telling))]})
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.worth, a.worth), cmp.Compare(a.id, b.id))
	})
	return hits
}

// rarity is BM25's idf of a word that count of total abilities have, as a share
// of that of a word that none has.
func rarity(count, total float64) float64 {
	of := func(count float64) float64 { return math.Log(1 + (total+background-count+0.5)/(count+0.5)) }
	return of(count) / of(0)
}
