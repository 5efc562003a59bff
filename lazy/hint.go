package lazy

import (
	"slices"
	"strings"

	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/text/words"
)

// mostHint limits the hint of another server's tool, in words.
const mostHint = 60

// hint returns the words by which a host finds a tool that it has not loaded: the words that its
// family and actions declare. For another server's tool it adds the server's purpose, and words of
// action names and summaries that the tool's summary lacks. Words of names are also in the
// description, but a search by words does not see parts of a name. The actions give one word each
// in turn, so that the last action is found as well as the first. Purposes returns the result of
// [purposes].
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
		if cut, long := strings.CutSuffix(summary, "…"); long { // it may be cut within a word
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

// fresh returns the words of a text that are not in seen, and adds them to seen. It skips grammar,
// numbers and words that as rejects; key is the form that is compared.
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

// spelling keeps every word as it is spelt, because hosts search names without stemming.
func spelling(word string) (string, bool) { return word, true }

// subject keeps the first word of each stem and drops common words of requests.
func subject(word string) (string, bool) { return "stem " + words.Stem(word), !words.IsCommon(word) }

// purposes returns the purpose of each other server: the beginning of its first family's summary,
// without the part about the family itself.
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
