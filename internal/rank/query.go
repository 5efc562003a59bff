package rank

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// parse fills terms, wants and parts.
func (f *finder) parse(query string) {
	known := func(term string) bool { return f.x.lists[term] != nil }
	var all [][]string
	for _, s := range sentences(query, maxSentences) {
		if words := terms(s, known); len(words) > 0 {
			all = append(all, f.resolve(words))
		}
	}
	f.capTerms()
	f.parts = append(f.parts, f.pick(slices.Concat(all...)))
	for _, keys := range all {
		if len(all) > 1 {
			f.parts = append(f.parts, f.pick(keys))
		}
	}
}

// resolve looks up words and their pairs and returns both.
func (f *finder) resolve(words []string) []string {
	keys := slices.Clone(words)
	for i, w := range words {
		f.resolveTerm(w, false)
		if i > 0 && words[i-1] != w {
			key := pair(words[i-1], w)
			f.resolveTerm(key, true)
			// "test run" finds testrun.
			if t, joined := f.terms[key], words[i-1]+w; f.count(key) == 0 {
				f.addSource(t, joined, f.rarity(f.count(joined)), 1)
			}
			keys = append(keys, key)
		}
	}
	return keys
}

func (f *finder) resolveTerm(key string, isPair bool) {
	if f.terms[key] != nil {
		return
	}
	t := &term{rarity: f.rarity(f.count(key)), isPair: isPair}
	f.terms[key] = t
	worth := t.rarity
	if isPair {
		worth *= pairWeight
	} else {
		f.wants += t.rarity
	}
	f.addSource(t, key, worth, 1)
	for _, s := range synonyms()[key] {
		f.addSource(t, s, min(worth, f.rarity(f.count(s))), synonymWeight)
	}
	if !isPair && len(t.sources) == 0 {
		f.guess(t, key)
	}
}

// guess looks for what may be meant by a word that no document has: two words
// that it joins, as in testrun, or else words that are one slip away.
func (f *finder) guess(t *term, word string) {
	for i := 2; i < len(word)-1; i++ {
		if key := pair(word[:i], word[i:]); f.count(key) > 0 {
			f.addSource(t, key, f.rarity(f.count(key)), 1)
			return
		}
	}
	if len(word) < minGuessed || f.guessed == maxGuessed {
		return
	}
	f.guessed++
	for key := range f.x.lists {
		if isSlip(word, key) {
			f.addSource(t, key, min(t.rarity, f.rarity(f.count(key))), guessWeight)
		}
	}
}

// isSlip reports whether two words differ by one letter, which is missing, too
// many or another, or by two neighbours that are swapped. The first letter is
// taken as right, and a digit never is a slip.
func isSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 || len(a) < minGuessed-1 || a[0] != b[0] || strings.ContainsAny(b, " 0123456789") {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	rest := min(i+1, len(a))
	return a[rest:] == b[rest:] || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// count returns the number of documents that have a term.
func (f *finder) count(key string) int {
	if l := f.x.lists[key]; l != nil {
		return len(l.postings)
	}
	return 0
}

func (f *finder) addSource(t *term, key string, worth, share float64) {
	if l := f.x.lists[key]; l != nil {
		t.sources = append(t.sources, source{list: l, worth: share * worth, name: share * f.rarity(len(l.postings))})
	}
}

// capTerms drops terms without a match and all but the rarest maxTerms.
func (f *finder) capTerms() {
	maps.DeleteFunc(f.terms, func(_ string, t *term) bool { return len(t.sources) == 0 })
	if len(f.terms) <= maxTerms {
		return
	}
	byRarity := func(a, b string) int {
		return cmp.Or(cmp.Compare(f.terms[b].rarity, f.terms[a].rarity), cmp.Compare(a, b))
	}
	for _, key := range slices.SortedFunc(maps.Keys(f.terms), byRarity)[maxTerms:] {
		delete(f.terms, key)
	}
}

// pick returns the terms of keys, each once, in order.
func (f *finder) pick(keys []string) []*term {
	var picked []*term
	seen := map[string]bool{}
	for _, key := range keys {
		if t := f.terms[key]; t != nil && !seen[key] {
			picked = append(picked, t)
			seen[key] = true
		}
	}
	return picked
}
