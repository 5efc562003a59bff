package memory

import (
	"math"
	"strings"
	"unicode/utf8"
)

// What a match is worth by where and how it matches.
const (
	keyExact       = 1.0
	keyBeginning   = 0.7
	valueExact     = 0.5
	valueBeginning = 0.3
)

// score tells how well an entry with the given [IndexText] matches. The whole
// part is 1 when every word matches and 0 otherwise. The rest is the average
// worth of the words' matches, rare words weighing more than common ones,
// less for long entries and for keys that say other things besides.
func score(words []term, text string) float64 {
	matches, size := worths(words, text)
	var sum, total float64
	all := 1.0
	for i, t := range words {
		weight := rarity(t.frequency)
		total += weight
		sum += weight * matches[i]
		if matches[i] == 0 {
			all = 0
		}
	}
	quality := sum / total * brevity(size)
	return math.Round((all+0.999*quality)*1e4) / 1e4
}

// rarity is 1 for common words, and 8 for words that no entry has.
func rarity(frequency int) float64 {
	return 1 + math.Log(float64(maxFrequency+1)/float64(frequency+1))
}

// brevity is near 1 for entries of a few words and near a half for those of
// many thousand.
func brevity(words int) float64 {
	return 1 / (1 + 0.1*math.Log2(1+float64(words)/32))
}

// worths returns the best match of every query word, 0 for none, and how many
// words the entry has.
func worths(words []term, text string) (best []float64, size int) {
	best = make([]float64, len(words))
	keyWords := 0
	for word := range strings.SplitSeq(text, " ") {
		size++
		whole, start := valueExact, valueBeginning
		if plain, ok := strings.CutPrefix(word, keyMark); ok {
			word, whole, start = plain, keyExact, keyBeginning
			keyWords++
		}
		for i, t := range words {
			best[i] = max(best[i], worth(word, t.text, whole, start))
		}
	}
	return best, size
}

func worth(word, asked string, whole, start float64) float64 {
	switch {
	case !strings.HasPrefix(word, asked):
		return 0
	case len(word) == len(asked):
		return whole
	case utf8.RuneCountInString(asked) >= minPrefix:
		return start
	}
	return 0
}
