package rank

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold/internal/text/words"
)

// Each line is a group of words with the same meaning; a_b is the pair "a b". A word may be in
// several groups, which stay separate. A line that begins with # is a comment with the trade of the
// next groups.
//
//go:embed synonyms.txt
var synonymText string

// Each line is a subject: a word, and related words that cannot replace it. The format is that of
// synonymText, without pairs.
//
//go:embed related.txt
var relatedText string

var (
	// synonyms returns the terms that may replace each term.
	synonyms = sync.OnceValue(func() map[string][]string { return parseGroups(synonymText) })
	// related returns the terms of the subjects of each term.
	related = sync.OnceValue(func() map[string][]string { return parseGroups(relatedText) })
)

// parseGroups returns the other terms of each term's groups.
func parseGroups(text string) map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		group := strings.Fields(line)
		for i, w := range group {
			group[i] = termOf(w)
		}
		for _, term := range group {
			all[term] = union(all[term], group, term)
		}
	}
	return all
}

// termOf returns the term of a member of a group: a stem, or a pair of stems.
func termOf(member string) string {
	stems := strings.Split(member, "_")
	for i, part := range stems {
		stems[i] = words.Stem(part)
	}
	return strings.Join(stems, " ")
}

// union adds the terms of group to terms, except duplicates and except itself.
func union(terms, group []string, except string) []string {
	for _, g := range group {
		if g != except && !slices.Contains(terms, g) {
			terms = append(terms, g)
		}
	}
	return terms
}

// Synonyms returns the stems that may replace a stem. Two stems with a space between them are a
// pair of neighbouring words.
func Synonyms(stem string) []string { return synonyms()[stem] }

// Related returns the stems of the subjects that a stem belongs to: tooth and molar for dentist.
// They are weaker than synonyms.
func Related(stem string) []string { return related()[stem] }
