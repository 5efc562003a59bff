package ability

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/rank"
	"github.com/toolfold/toolfold/internal/text/words"
)

// Weights of relevance. They were chosen with testdata/tasks.txt and the odd tasks of
// testdata/trades, where similar values do about as well.
const (
	headWeight   = 1.5 // of a word in id, title or tags, relative to one elsewhere
	commonShare  = 0.4 // for words that are common in requests on any subject
	formShare    = 0.8 // for a match in another form: response for responsive, rollout for roll out
	synonymShare = 0.3 // for a match by a synonym
	minJoined    = 7   // minimum bytes of the stem of two words that may be written as one; shorter ones match by chance
)

// evidence weighs the frequency of a word: in a short text, one mention is nearly enough.
var evidence = rank.BM25{Saturation: 0.4, LengthShare: 0.6}

// An ability is injected if its relevance reaches threshold, so that an unrelated task gets none.
// It must also be near the best one's, so that a task with a clear answer gets no chance matches.
const (
	threshold = 0.45
	nearness  = 0.8
	besides   = 0.85 // factor for texts that only have the words in their content
)

// maxShown bounds the words in a reason.
const maxShown = 5

// document holds the words of an ability.
type document struct {
	weights map[string]float64 // by stem
	forms   map[string]bool    // words as written
	head    map[string]bool    // stems in id, title, tags and description, which show the text's purpose
	pairs   map[string]bool    // adjacent stems, and the stem of both as one word
	length  float64
}

// analyse splits the texts of an ability. The parts of a compound count as words, so that oauth
// finds oauth2.
func analyse(a Ability) document {
	d := document{weights: map[string]float64{}, forms: map[string]bool{}, head: map[string]bool{}, pairs: map[string]bool{}}
	add := func(weight float64, texts ...string) {
		text := strings.Join(texts, "\n")
		for _, word := range split(text) {
			d.weights[words.Stem(word)] += weight
			d.forms[word] = true
			d.length++
		}
		for pair := range sideBySide(text) {
			d.pairs[pair.joined], d.pairs[pair.apart] = true, true
		}
	}
	add(headWeight, a.ID, a.DisplayName, strings.Join(a.Tags, "\n"))
	add(1, a.Description)
	for stem := range d.weights {
		d.head[stem] = true
	}
	add(1, a.Category, a.Content)
	return d
}

// pair is two adjacent words, as stems.
type pair struct{ apart, joined string }

// sideBySide yields the pairs of adjacent words in a text, because roll out may be written rollout.
func sideBySide(text string) iter.Seq[pair] {
	return func(yield func(pair) bool) {
		before := ""
		for w := range words.Split(text) {
			if w.Char {
				before = ""
				continue
			}
			if before != "" && !words.IsStop(before) && !yield(pair{words.Stem(before) + " " + words.Stem(w.Text), words.Stem(before + w.Text)}) {
				return
			}
			before = w.Text
		}
	}
}

// split returns the words of a text that can show its subject. It leaves out numbers of one or two
// digits, and single letters and digits of an id such as api-v2. Scripts without spaces yield pairs
// of characters.
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
	worth float64  // weight of the shared words relative to the task
	place float64  // worth for comparison with other hits
	words []string // of the task, most specific first
}

// score maps worth to 0 to 1, with one half at the threshold.
func (h hit) score() float64 {
	return math.Round(100*h.worth/(h.worth+threshold)) / 100
}

// match returns the abilities that share words with a task, best first.
func match(documents map[string]document, task string) []hit {
	terms := split(task)
	for pair := range sideBySide(task) {
		for _, d := range documents {
			if len(pair.joined) >= minJoined && d.weights[pair.joined] > 0 {
				terms = append(terms, pair.joined)
				break
			}
		}
	}
	slices.Sort(terms)
	terms = slices.Compact(terms)
	mean := 0.0
	for _, d := range documents {
		mean += d.length / float64(len(documents))
	}
	type sharedWords struct {
		worth float64
		words map[string]float64
		head  bool // one of the words is in the head
	}
	found := map[string]sharedWords{}
	total := 0.0
	for _, word := range terms {
		stem := words.Stem(word)
		having := 0.0
		for _, d := range documents {
			if d.weights[stem] > 0 {
				having++
			}
		}
		rarity := rank.Rarity(having, float64(len(documents))) / rank.Rarity(0, float64(len(documents)))
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
					if d.pairs[other] {
						weight = max(weight, 1)
					}
				}
			}
			if weight < 1 && len(stem) >= minJoined && d.pairs[stem] {
				weight, share = 1, formShare
			}
			if weight == 0 {
				continue
			}
			e := found[id]
			if e.words == nil {
				e.words = map[string]float64{}
			}
			e.words[word] = rarity * share * (1 + evidence.Saturation) * evidence.Share(weight, d.length, mean)
			e.worth += e.words[word]
			e.head = e.head || d.head[stem]
			found[id] = e
		}
	}
	var hits []hit
	for id, e := range found {
		shown := slices.SortedFunc(maps.Keys(e.words), func(a, b string) int {
			return cmp.Or(cmp.Compare(e.words[b], e.words[a]), cmp.Compare(a, b))
		})
		worth := e.worth / math.Sqrt(max(total, 1))
		place := worth
		if !e.head {
			place *= besides
		}
		hits = append(hits, hit{id: id, worth: worth, place: place, words: shown[:min(maxShown, len(shown))]})
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.place, a.place), cmp.Compare(a.id, b.id))
	})
	return hits
}
