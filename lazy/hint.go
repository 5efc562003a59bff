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
// and summaries of its actions that the description does not have. Each action in turn gives a word, so that
// an action at the end is found as well as one at the beginning. Purposes returns the map of [purposes].
func hint(t entry.Tool, purposes func() map[string]string, description string) string {
	declared := wordsOf(t)
	if !external(t) {
		return declared
	}
	seen := map[string]bool{}
	fresh(declared, seen)
	all := fresh(purposes()[t.Entries[0].Action.Family.Server], seen)
	if declared != "" {
		all = slices.Insert(all, 0, declared)
	}
	fresh(description, seen)
	var rest [][]string
	for _, e := range t.Entries {
		summary := e.Action.Summary
		if cut, long := strings.CutSuffix(summary, "…"); long { // within a word, perhaps
			summary = cut[:max(strings.LastIndexByte(cut, ' '), 0)]
		}
		rest = append(rest, fresh(e.Action.Name+" "+summary, seen))
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

// fresh returns the words of a text that were not seen, which then are. It leaves out grammar, words of
// requests about any subject, numbers, and all but the first word of a stem.
func fresh(text string, seen map[string]bool) (list []string) {
	for word := range words.Split(text) {
		for _, part := range append(word.Parts, word.Text) {
			stem := words.Stem(part)
			if part[0] > '9' && len(part) > 1 && !words.IsStop(part) && !words.IsCommon(part) && !seen[stem] {
				seen[stem] = true
				list = append(list, part)
			}
		}
	}
	return list
}

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
