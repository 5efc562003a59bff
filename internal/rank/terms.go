package rank

import "github.com/toolfold/toolfold/internal/words"

// courtesies are words of requests that say nothing about a tool.
var courtesies = words.Set("want wants need needs like wish know let lets please kindly " +
	"able possible help assist thanks thank hi hello hey using based")

// particles make a verb of their own with the word before: log in, look up.
var particles = words.Set("back down in off on out up")

// terms returns the terms of text in order: the stems of its words. A compound
// like GitHub gives those of its parts, or only its own where known says that
// it is a term.
func terms(text string, known func(term string) bool) []string {
	var all []string
	before := ""
	for w := range words.Split(text) {
		if w.Parts != nil && known != nil && known(words.Stem(w.Text)) {
			all, before = append(all, words.Stem(w.Text)), ""
			continue
		}
		parts := w.Parts
		if parts == nil {
			parts = []string{w.Text}
		}
		for _, p := range parts {
			if particles[p] && before != "" && len(synonyms()[words.Stem(before+p)]) > 0 {
				all[len(all)-1], before = words.Stem(before+p), ""
				continue
			}
			before = ""
			if !words.IsStop(p) && !courtesies[p] {
				all, before = append(all, words.Stem(p)), p
			}
		}
	}
	return all
}

// compounds returns the terms of the words of text that have parts, and of
// hyphened words in one.
func compounds(text string) []string {
	var all []string
	before := ""
	for w := range words.Split(text) {
		if w.Parts != nil {
			all = append(all, words.Stem(w.Text))
		}
		if w.Hyphened {
			all = append(all, words.Stem(before+w.Text))
		}
		before = w.Text
	}
	return all
}

// pair is the term of two words side by side.
func pair(first, second string) string { return first + " " + second }
