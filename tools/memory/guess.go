package memory

import (
	"strings"

	"github.com/toolfold/toolfold/internal/text/words"
)

// minGuessed is the fewest characters of a word that is guessed at: of a
// shorter one, too many others are a letter away.
const minGuessed = 5

// nearForms returns the stems of all words that are one slip away from a
// folded word, the likeliest slips first: two letters swapped, one missing, one
// too many, another one. Letters are added to words in plain Latin letters only.
func nearForms(word string) []string {
	seen := map[string]bool{}
	var forms []string
	add := func(parts ...string) {
		stem := words.Stem(strings.Join(parts, ""))
		if !seen[stem] {
			seen[stem] = true
			forms = append(forms, stem)
		}
	}
	letters := ""
	if strings.Trim(word, latin) == "" {
		letters = latin
	}
	chars := []rune(word)
	for i := range len(chars) - 1 {
		add(string(chars[:i]), string(chars[i+1]), string(chars[i]), string(chars[i+2:]))
	}
	for i := range len(chars) + 1 {
		for _, letter := range letters {
			add(string(chars[:i]), string(letter), string(chars[i:]))
		}
	}
	for i := range chars {
		add(string(chars[:i]), string(chars[i+1:]))
	}
	for i := range chars {
		for _, letter := range letters {
			add(string(chars[:i]), string(letter), string(chars[i+1:]))
		}
	}
	return forms
}

const latin = "abcdefghijklmnopqrstuvwxyz"
