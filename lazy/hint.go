package lazy

import (
	"slices"
	"strings"

	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/text/words"
)

// mostHint is the most words of the hint of a tool of another server.
const mostHint = 60

// hint returns the words by which a host finds a tool that it has not loaded: those that its family and its
// actions declare, and for a tool of another server also its server's purpose, and the words of the names
// and summaries of its actions that its own summary does not have. Those of names stand in the description too,
// as parts of the names, where a search by words does not see them. Each action in turn gives a word, so that
// an action at the end is found as well as one at the beginning. Purposes returns the map of [purposes].
func hint(t entry.Tool, purposes func() map[string]string) string {
	declared := wordsOf(t)
	if !external(t) {
		return declared
	}
	seen := map[string]bool{}
	fresh(declared, seen, spelling)
	all := fresh(purposes()[t.Entries[0].Action.Family.Server], seen, subject)
	if declared != "" {
		all = slices.Insert(all, 0, declared)
	}
	fresh(described(t), seen, subject)
	var rest [][]string
	for _, e := range t.Entries {
		rest = append(rest, fresh(e.Action.Name, seen, spelling))
	}
	for i, e := range t.Entries {
		summary := e.Action.Summary
		if cut, long := strings.CutSuffix(summary, "…"); long { // within a word, perhaps
			summary = cut[:max(strings.LastIndexByte(cut, ' '), 0)]
		}
		rest[i] = append(rest[i], fresh(summary, seen, subject)...)
	}
	for i := 0; len(all) < mostHint && slices.ContainsFunc(rest, func(list []string) bool { return i < len(list) }); i++ {
		for _, list := range rest {
			if i < len(list) && len(all) < mostHint {
				all = append(all, list[i])
			}
		}
	}
	return strings.Join(all, ", ")
}

// fresh returns the words of a text that were not seen, which then are: those that as keeps. It leaves out grammar
// and numbers.
func fresh(text string, seen map[string]bool, as func(word string) (key string, ok bool)) (list []string) {
	for word := range words.Split(text) {
		for _, part := range append(word.Parts, word.Text) {
			key, ok := as(part)
			if ok && part[0] > '9' && len(part) > 1 && !words.IsStop(part) && !seen[part] && !seen[key] {
				seen[part], seen[key] = true, true
				list = append(list, part)
			}
		}
	}
	return list
}

// spelling keeps every word as it is spelt: hosts look for names without stems.
func spelling(word string) (string, bool) { return word, true }

// subject keeps the first word of each stem, and no word that requests about any subject have.
func subject(word string) (string, bool) { return "stem " + words.Stem(word), !words.IsCommon(word) }

// purposes returns what each other server is for: the beginning of the summary of its first family, without what
// that says of the family itself.
func purposes(surface []entry.Tool) map[string]string {
	found := map[string]string{}
	for _, t := range surface {
		f := t.Entries[0].Action.Family
		if _, ok := found[f.Server]; !ok && f.Server != "" {
			purpose, _, _ := strings.Cut(f.Summary, ": ")
			found[f.Server] = strings.TrimSuffix(strings.TrimSuffix(purpose, ", reads"), ", changes")
		}
	}
	return found
}
