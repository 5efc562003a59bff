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

// Each line is a subject: a word, and then words that are said of it and cannot
// stand for it. The file is read as synonymText is, and has no pairs.
//
//go:embed related.txt
var relatedText string

var (
	// synonyms returns the terms that may stand for each term.
	synonyms = sync.OnceValue(func() map[string][]string { return parseGroups(synonymText) })
	// related returns the terms of the subjects of each term.
	related = sync.OnceValue(func() map[string][]string { return parseGroups(relatedText) })
)

// parseGroups returns for each term of a list the terms of its groups.
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

// Related returns the stems of the subjects that a stem belongs to: of dentist,
// tooth and molar. They say less than synonyms.
func Related(stem string) []string { return related()[stem] }
