package rank

import (
	"iter"

	"github.com/toolfold/toolfold/internal/text/words"
)

// courtesies are words of requests that do not help to find a tool.
var courtesies = words.Set("want wants need needs like wish know let lets please kindly " +
	"able possible help assist thanks thank hi hello hey using based")

// particles make a new verb with the word before them: log in, look up.
var particles = words.Set("back down in off on out up")

// appendTerms appends the terms of text, which are the stems of its words, to order. Compounds such
// as GitHub and hyphenated words have their parts in order, and their unsplit stems are appended to
// whole.
func appendTerms(order, whole []string, text string) ([]string, []string) {
	before := "" // previous word, if a particle may follow
	previous := ""
	for w := range withVerbs(text) {
		if w.Hyphened {
			whole = append(whole, words.Stem(previous+w.Text))
		}
		previous = w.Text
		if w.Parts == nil {
			order, before = appendWord(order, w.Text, before)
			continue
		}
		whole = append(whole, words.Stem(w.Text))
		for _, p := range w.Parts {
			order, before = appendWord(order, p, before)
		}
	}
	return order, whole
}

// withVerbs yields the words of a text. Each phrase that means a verb is replaced by the verb.
func withVerbs(text string) iter.Seq[words.Word] {
	return func(yield func(words.Word) bool) {
		var room [32]words.Word
		list := room[:0]
		for w := range words.Split(text) {
			list = append(list, w)
		}
		for i := 0; i < len(list); i++ {
			verb, n := words.Verb(func(at int) string {
				if at += i; at < len(list) {
					return list[at].Text
				}
				return ""
			})
			w := list[i]
			if n > 0 {
				w = words.Word{Text: verb}
				i += n - 1
			}
			if !yield(w) {
				return
			}
		}
	}
}

// appendWord appends the term of a word, unless it is grammar or courtesy. A particle changes the
// term of the word before it. It returns the value of before for the next word.
func appendWord(order []string, word, before string) ([]string, string) {
	if joined, ok := phrasal(before, word); ok {
		order[len(order)-1] = joined
		return order, ""
	}
	if words.IsStop(word) || courtesies[word] {
		return order, ""
	}
	return append(order, words.Stem(word)), word
}

// phrasal returns the term of a verb with its particle. It returns false unless the term has
// synonyms.
func phrasal(verb, particle string) (term string, ok bool) {
	if verb == "" || !particles[particle] {
		return "", false
	}
	term = words.Stem(verb + particle)
	return term, len(synonyms()[term]) > 0
}

// appendTerms appends the terms of a query's text. A compound such as k8s is one term if it is
// indexed or has synonyms; otherwise its parts are appended.
func (x *Index) appendTerms(order []string, text string) []string {
	before := ""
	for w := range withVerbs(text) {
		if w.Parts != nil {
			whole := words.Stem(w.Text)
			if _, known := x.numbers[whole]; !known && len(synonyms()[whole]) == 0 {
				for _, p := range w.Parts {
					order, before = appendWord(order, p, before)
				}
				continue
			}
		}
		order, before = appendWord(order, w.Text, before)
	}
	return order
}
