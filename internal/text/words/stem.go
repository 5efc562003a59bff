package words

import (
	_ "embed"
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kljensen/snowball/english"
)

// longestStem is the length in bytes above which a word is not stemmed.
const longestStem = 32

// Each line of irregular.txt is a word and its irregular forms, including British spellings.
//
//go:embed irregular.txt
var irregularText string

var irregular = sync.OnceValue(func() map[string]string {
	forms := map[string]string{}
	for line := range strings.Lines(irregularText) {
		list := strings.Fields(line)
		for _, form := range list[1:] {
			forms[form] = list[0]
		}
	}
	return forms
})

// recent caches stems by the hash of the word, because stemming takes microseconds. A word replaces
// another one with the same hash.
var recent [1 << 14]atomic.Pointer[[2]string]

var recentSeed = maphash.MakeSeed()

// Stem returns the stem of a folded word: deploys, deployed and deploying have the same stem as
// deploy. Words longer than 32 bytes or not in ASCII are their own stems.
func Stem(word string) string {
	if len(word) > longestStem || !isASCII(word) {
		return word
	}
	place := &recent[maphash.String(recentSeed, word)%uint64(len(recent))]
	if known := place.Load(); known != nil && known[0] == word {
		return known[1]
	}
	word = strings.Clone(word) // it may be part of a long text
	found := stem(word)
	place.Store(&[2]string{word, found})
	return found
}

func stem(word string) string {
	if base, ok := irregular()[word]; ok {
		word = base
	}
	// The plural of an abbreviation: vms, pdfs, but not css.
	if short, ok := strings.CutSuffix(word, "s"); ok && len(short) > 1 && !strings.HasSuffix(short, "s") &&
		!strings.ContainsAny(short, "aeiouy") {
		return short
	}
	return english.Stem(word, true)
}

//go:embed stopwords.txt
var stopWordText string

var stopWords = Set(stopWordText)

// IsStop reports whether a folded word is English grammar, such as "the" and "where".
func IsStop(word string) bool { return stopWords[word] }

//go:embed common.txt
var commonText string

var common = Set(commonText)

// IsCommon reports whether a folded word occurs in requests about any subject, such as "make",
// "first" and "customer".
func IsCommon(word string) bool { return common[word] }

// Set returns the words of a text separated by spaces.
func Set(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}
