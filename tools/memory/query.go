package memory

import (
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/rank"
	"github.com/toolfold/toolfold/internal/text/words"
)

// query is a parsed search.
type query struct {
	terms []*term // each once, in the order of the query

	// phrases are stems that must follow each other in an entry, separated and enclosed by spaces.
	phrases []string

	// required are the words of all phrases.
	required Match
}

// term is a word of the query.
type term struct {
	stem  string
	typed string   // folded, as written
	parts []string // stems of a compound's parts
	forms Group    // words of the index that match it
	worth float64  // of a match; 1 for the word itself, less for a guess
	like  Group    // synonyms, which count less
	pairs []pair   // synonyms of two neighbouring words
	near  Group    // words of the same subject, which count least

	ids    []int64 // entries that have it, the latest first
	common bool    // ids has only the latest ones
	rarity float64 // BM25's idf
	bit    uint64  // of the term in a set; 0 after the 64th term
}

// parseQuery parses a query. Words of grammar are dropped, unless they are quoted or the query has
// no other words.
func parseQuery(text string) query {
	var q query
	var all, content []*term
	known := map[string]*term{}
	add := func(t *term, stop bool) {
		if known[t.stem] != nil {
			return
		}
		known[t.stem] = t
		t.worth = 1
		t.forms = Group{{Text: t.stem}}
		t.addSynonyms(rank.Synonyms(t.stem))
		for _, s := range rank.Related(t.stem) {
			t.near = append(t.near, Word{Text: s})
		}
		all = append(all, t)
		if !stop {
			content = append(content, t)
		}
	}
	for i, piece := range strings.Split(text, `"`) {
		quoted := i%2 == 1 && strings.Count(text, `"`) > i
		var phrase []string
		before := ""
		list := slices.Collect(words.Split(piece))
		for j, w := range list {
			switch {
			case w.Char && w.Joined:
				add(&term{stem: before + w.Text, typed: before + w.Text}, false)
				phrase = append(phrase, before+w.Text)
			case w.Char && j+1 < len(list) && list[j+1].Joined:
				// It becomes a pair with the next character.
				phrase = append(phrase, w.Text)
			default:
				t := &term{stem: words.Stem(w.Text), typed: w.Text}
				for _, p := range w.Parts {
					t.parts = append(t.parts, words.Stem(p))
				}
				add(t, words.IsStop(w.Text) && !quoted)
				if w.Hyphened { // post-mortem finds postmortem
					joined := Word{Text: words.Stem(before + w.Text)}
					for _, t := range []*term{known[words.Stem(before)], known[t.stem]} {
						t.forms = append(t.forms, joined)
					}
				}
				if t.parts != nil {
					phrase = append(phrase, t.parts...)
				} else {
					phrase = append(phrase, t.stem)
				}
			}
			if !w.Char && j > 0 && !list[j-1].Char {
				verb := known[words.Stem(before)]
				verb.addSynonyms(rank.Synonyms(words.Stem(before + w.Text)))
				verb.addSynonyms(rank.Synonyms(words.Stem(verb.stem + w.Text)))
			}
			if !w.Char && j > 0 && !list[j-1].Char && len(before)+len(w.Text) >= minGuessed { // roll out finds rollout
				joined := Word{Text: words.Stem(before + w.Text)}
				for _, t := range []*term{known[words.Stem(before)], known[words.Stem(w.Text)]} {
					if !slices.Contains(t.forms, joined) {
						t.forms = append(t.forms, joined)
					}
				}
			}
			before = w.Text
		}
		if quoted && len(phrase) > 0 {
			q.phrases = append(q.phrases, " "+strings.Join(phrase, " ")+" ")
			for _, word := range phrase {
				q.required = append(q.required, Group{{Text: word}})
			}
		}
	}
	q.terms = content
	if len(content) == 0 {
		q.terms = all
	}
	for i := 1; i < len(q.terms); i++ {
		list := rank.Synonyms(q.terms[i-1].stem + " " + q.terms[i].stem)
		q.terms[i-1].addSynonyms(list)
		q.terms[i].addSynonyms(list)
	}
	if len(all) == 1 { // a single word means the word, not the subject; "who is on leave" means the subject
		q.terms[0].like, q.terms[0].pairs, q.terms[0].near = nil, nil, nil
	}
	return q
}

// pair is the stems of two neighbouring words.
type pair [2]string

// particles are endings of verbs that are written in one word or two: pickup, pick up.
var particles = []string{"away", "back", "down", "off", "in", "on", "out", "over", "up"}

// addSynonyms adds synonyms of the term, each once. A synonym that may be written in two words is
// also added as a pair.
func (t *term) addSynonyms(list []string) {
	add := func(p pair) {
		if !slices.Contains(t.pairs, p) {
			t.pairs = append(t.pairs, p)
		}
	}
	for _, s := range list {
		if first, second, ok := strings.Cut(s, " "); ok {
			add(pair{first, second})
			continue
		}
		if w := (Word{Text: s}); s != t.stem && !slices.Contains(t.like, w) {
			t.like = append(t.like, w)
		}
		for _, p := range particles {
			if verb, ok := strings.CutSuffix(s, p); ok && len(verb) >= minPrefix {
				add(pair{words.Stem(verb), p})
			}
		}
	}
}

// bothWords matches entries that have a first and a second word of pairs.
func (t *term) bothWords() Match {
	var first, second Group
	for _, p := range t.pairs {
		first, second = append(first, Word{Text: p[0]}), append(second, Word{Text: p[1]})
	}
	return Match{first, second}
}

// setRarity sets the rarity of the term. If it has too many entries to count, their number is
// estimated from the distance between the ids of the latest ones.
func (t *term) setRarity(last int64) {
	count := float64(len(t.ids))
	if t.common {
		span := float64(t.ids[0] - t.ids[len(t.ids)-1] + 1)
		count *= float64(last) / span
	}
	t.rarity = rank.Rarity(count, float64(last))
	if words.IsCommon(t.typed) {
		t.rarity *= commonShare
	}
}
