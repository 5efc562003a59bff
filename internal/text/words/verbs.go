package words

import (
	_ "embed"
	"strings"
	"sync"
)

// Each line is a verb, and the phrases of several words that mean it.
//
//go:embed verbs.txt
var verbText string

// phrase is the end of a phrase that means a verb.
type phrase struct {
	rest []string
	verb string
}

// phrases has the phrases by the stem of their first word, longer ones first.
var phrases = sync.OnceValue(func() map[string][]phrase {
	byFirst := map[string][]phrase{}
	for line := range strings.Lines(verbText) {
		verb, list, _ := strings.Cut(strings.TrimSpace(line), ": ")
		for text := range strings.SplitSeq(list, ", ") {
			all := strings.Fields(text)
			first := Stem(all[0])
			at := 0
			for at < len(byFirst[first]) && len(byFirst[first][at].rest) >= len(all)-1 {
				at++
			}
			byFirst[first] = append(byFirst[first][:at:at], append([]phrase{{all[1:], verb}}, byFirst[first][at:]...)...)
		}
	}
	return byFirst
})

// seconds has the second words of all phrases.
var seconds = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, list := range phrases() {
		for _, p := range list {
			all[p.rest[0]] = true
		}
	}
	return all
})

// objects are pronouns that may be inside a phrase of two words: throw it away.
var objects = Set("it them this that these those him her")

// Verb returns the verb that a phrase means, such as remove for "get rid of", and the number of its
// words. The number is 0 if the text does not begin with a phrase. Word returns the folded word at
// an index, and an empty string after the end.
func Verb(word func(i int) string) (verb string, n int) {
	second := word(1)
	if !seconds()[second] && !objects[second] { // few words are, and stemming costs more
		return "", 0
	}
	for _, p := range phrases()[Stem(word(0))] {
		i := 1
		if len(p.rest) == 1 && second != p.rest[0] && objects[second] {
			i = 2
		}
		if matches(p.rest, i, word) {
			return p.verb, i + len(p.rest)
		}
	}
	return "", 0
}

func matches(rest []string, at int, word func(i int) string) bool {
	for i, w := range rest {
		if word(at+i) != w {
			return false
		}
	}
	return true
}
