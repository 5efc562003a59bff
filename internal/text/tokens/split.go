package tokens

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// pieceEnd returns the length of the first piece of a non-empty text. Pieces are the matches of
// o200k_base's expression below; the first alternative that matches wins. An engine for it, which
// needs lookahead, would add 0.5 MB.
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
func pieceEnd(text string) int {
	first, size := utf8.DecodeRuneInString(text)
	before := 0 // length of the character that may precede a word
	if first != '\r' && first != '\n' && !unicode.IsLetter(first) && !unicode.IsNumber(first) {
		before = size
	}
	for _, word := range []func(string) int{lowerWord, upperWord} {
		if n := word(text[before:]); n > 0 {
			return before + n
		}
		if n := word(text); before > 0 && n > 0 {
			return n
		}
	}
	switch {
	case unicode.IsNumber(first):
		end := 0
		for range 3 {
			r, n := utf8.DecodeRuneInString(text[end:])
			if !unicode.IsNumber(r) {
				break
			}
			end += n
		}
		return end
	case first == ' ' && len(text) > 1 || !unicode.IsSpace(first):
		start := len(text) - len(strings.TrimPrefix(text, " "))
		if end := start + span(text[start:], isSign); end > start {
			return end + span(text[end:], func(r rune) bool { return r == '\r' || r == '\n' || r == '/' })
		}
	}
	end := span(text, unicode.IsSpace)
	if i := strings.LastIndexAny(text[:end], "\r\n"); i >= 0 {
		return i + 1
	}
	if _, last := utf8.DecodeLastRuneInString(text[:end]); end < len(text) && last < end {
		return end - last
	}
	return end
}

// lowerWord returns the length of a word that ends in a non-capital letter, by the first
// alternative, or 0.
func lowerWord(text string) int {
	end, lower := 0, 0 // end of the possible capitals, and of those among them that may follow capitals
	for i, r := range text {
		if !isUpper(r) {
			break
		}
		end = i + utf8.RuneLen(r)
		if isLower(r) {
			lower = end
		}
	}
	if n := span(text[end:], isLower); n > 0 {
		lower = end + n
	}
	if lower == 0 {
		return 0
	}
	return lower + contraction(text[lower:])
}

// upperWord returns the length of a word of capitals, by the second alternative, if the first does
// not match.
func upperWord(text string) int {
	end := span(text, isUpper)
	if end == 0 {
		return 0
	}
	return end + contraction(text[end:])
}

// contraction returns the length of an ending such as 's.
func contraction(text string) int {
	if !strings.HasPrefix(text, "'") {
		return 0
	}
	for _, ending := range []string{"s", "t", "re", "ve", "m", "ll", "d"} {
		end := 1
		for range len(ending) { // by characters, because ſ also equals s
			_, n := utf8.DecodeRuneInString(text[end:])
			end += n
		}
		if strings.EqualFold(text[1:end], ending) {
			return end
		}
	}
	return 0
}

// span returns the length of the longest prefix of a text whose characters are all in a set.
func span(text string, in func(rune) bool) int {
	if i := strings.IndexFunc(text, func(r rune) bool { return !in(r) }); i >= 0 {
		return i
	}
	return len(text)
}

func isUpper(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Lt, unicode.Lm, unicode.Lo, unicode.M)
}
func isLower(r rune) bool { return unicode.In(r, unicode.Ll, unicode.Lm, unicode.Lo, unicode.M) }
func isSign(r rune) bool  { return !unicode.IsSpace(r) && !unicode.IsLetter(r) && !unicode.IsNumber(r) }
