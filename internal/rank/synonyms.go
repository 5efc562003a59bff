package rank

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// Each line is a group of words of one meaning; a_b is the pair "a b". A word
// may be in several groups, which stay apart.
//
//go:embed synonyms.txt
var synonymText string

// synonyms returns the terms that may stand for each term.
var synonyms = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	a := newAnalyser()
	for line := range strings.Lines(synonymText) {
		group := strings.Fields(line)
		for i, w := range group {
			group[i] = a.phrase(w)
		}
		for _, term := range group {
			all[term] = union(all[term], group, term)
		}
	}
	return all
})

func hasSynonyms(term string) bool { return len(synonyms()[term]) > 0 }

// phrase is the term of a word of the table.
func (a *analyser) phrase(word string) string {
	stems := strings.Split(word, "_")
	for i, w := range stems {
		stems[i] = a.stem(w)
	}
	return strings.Join(stems, " ")
}

// union adds group to terms, but for except and what is there.
func union(terms, group []string, except string) []string {
	for _, g := range group {
		if g != except && !slices.Contains(terms, g) {
			terms = append(terms, g)
		}
	}
	return terms
}
