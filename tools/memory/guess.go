package memory

import (
	"strings"

	"github.com/toolfold/toolfold/internal/text/words"
)

// minGuessed is the minimum length of a guessed word, in characters. Too many words differ from a
// shorter one by one letter.
const minGuessed = 5

// nearForms returns the stems of all words that differ from a folded word by one slip. The most
// likely slips come first: two swapped letters, a missing, an additional and a wrong letter.
// Letters are added and replaced only in words of plain Latin letters.
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
