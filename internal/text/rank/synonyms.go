package rank

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold/internal/text/words"
)

// Each line is a group of words of one meaning; a_b is the pair "a b". A word
// may be in several groups, which stay apart. A line that begins with # names
// the trade of the groups that follow.
//
//go:embed synonyms.txt
var synonymText string

// synonyms returns the terms that may stand for each term.
var synonyms = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(synonymText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		group := strings.Fields(line)
		for i, w := range group {
			stems := strings.Split(w, "_")
			for j, part := range stems {
				stems[j] = words.Stem(part)
			}
			group[i] = strings.Join(stems, " ")
		}
		for _, term := range group {
			all[term] = union(all[term], group, term)
		}
	}
	return all
})

// union adds group to terms, but for except and what is there.
func union(terms, group []string, except string) []string {
	for _, g := range group {
		if g != except && !slices.Contains(terms, g) {
			terms = append(terms, g)
		}
	}
	return terms
}

// Synonyms returns the stems that may stand for a stem; two stems with a space
// between them are a pair of words side by side.
func Synonyms(stem string) []string { return synonyms()[stem] }
