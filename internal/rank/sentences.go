package rank

import "unicode"

// sentences splits text where a sentence or a line ends. The last of at most
// limit sentences holds all the rest.
func sentences(text string, limit int) []string {
	var all []string
	start, runes := 0, []rune(text)
	for i, r := range runes {
		if len(all) < limit-1 && endsSentence(r, runes[i+1:]) {
			all = append(all, string(runes[start:i]))
			start = i + 1
		}
	}
	return append(all, string(runes[start:]))
}

// endsSentence reports whether r ends a sentence in front of rest; the stop
// in note.create and 3.5 does not.
func endsSentence(r rune, rest []rune) bool {
	switch r {
	case '\n', ';', '。', '！', '？', '；', '؟':
		return true
	case '.', '!', '?':
		return len(rest) == 0 || unicode.IsSpace(rest[0])
	}
	return false
}
