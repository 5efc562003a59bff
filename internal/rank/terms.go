package rank

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/kljensen/snowball/english"
)

// longestStem is the length in bytes above which a word is no English word.
const longestStem = 32

//go:embed stopwords.txt
var stopWordText string

var stopWords = set(strings.Fields(stopWordText))

// particles make a verb of their own with the word before: log in, look up.
var particles = set([]string{"back", "down", "in", "off", "on", "out", "up"})

func set(words []string) map[string]bool {
	s := make(map[string]bool, len(words))
	for _, w := range words {
		s[w] = true
	}
	return s
}

// analyser makes terms of text: the stems of its words. It remembers stems
// and is for one goroutine.
type analyser struct {
	stems map[string]string
}

func newAnalyser() *analyser { return &analyser{stems: map[string]string{}} }

// terms returns the terms of text in order. A compound like GitHub gives those
// of its parts, or only its own where known says that it is a term.
func (a *analyser) terms(text string, known func(term string) bool) []string {
	var all []string
	before := ""
	for _, chunk := range chunks(text) {
		words := parts(chunk)
		if len(words) > 1 && known != nil && known(a.compound(chunk)) {
			all, before = append(all, a.compound(chunk)), ""
			continue
		}
		for _, w := range words {
			if particles[w] && before != "" && hasSynonyms(a.stem(before+w)) {
				all[len(all)-1], before = a.stem(before+w), ""
				continue
			}
			before = ""
			if !stopWords[w] {
				all, before = append(all, a.stem(w)), w
			}
		}
	}
	return all
}

// compounds returns the terms of the words of text that have parts.
func (a *analyser) compounds(text string) []string {
	all := chunks(text)
	all = slices.DeleteFunc(all, func(c string) bool { return len(parts(c)) == 1 })
	for i, c := range all {
		all[i] = a.compound(c)
	}
	return all
}

func (a *analyser) compound(chunk string) string { return a.stem(fold(chunk)) }

func (a *analyser) stem(word string) string {
	if s, ok := a.stems[word]; ok {
		return s
	}
	s := word
	if len(word) <= longestStem && isASCII(word) {
		s = english.Stem(word, true)
	}
	a.stems[word] = s
	return s
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > 127 })
}

// pair is the term of two words side by side.
func pair(first, second string) string { return first + " " + second }
