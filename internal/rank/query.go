package rank

import (
	"cmp"
	"maps"
	"slices"
)

// parse fills terms, wants and parts.
func (f *finder) parse(query string) {
	a := newAnalyser()
	known := func(term string) bool { return len(f.x.postings[term]) > 0 }
	var all [][]string
	for _, s := range sentences(query, maxSentences) {
		if words := a.terms(s, known); len(words) > 0 {
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
			keys = append(keys, key)
		}
	}
	return keys
}

func (f *finder) resolveTerm(key string, isPair bool) {
	if _, seen := f.terms[key]; seen {
		return
	}
	literal := f.x.postings[key]
	t := &term{rarity: f.rarity(len(literal)), isPair: isPair}
	f.terms[key] = t
	worth := 1.0
	if isPair {
		worth = pairWeight
	} else {
		f.wants += t.rarity
	}
	t.addSource(literal, worth*t.rarity, 1)
	for _, s := range synonyms()[key] {
		list := f.x.postings[s]
		t.addSource(list, synonymWeight*worth*min(t.rarity, f.rarity(len(list))), synonymWeight)
	}
}

func (t *term) addSource(list []posting, weight, synonym float64) {
	if len(list) > 0 {
		t.sources = append(t.sources, source{weight: weight, synonym: synonym, postings: list})
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
