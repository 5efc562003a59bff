package files

import "strings"

// part is a stretch of a file that is read separately: the whole file, a code block of a page, or
// JSON in a string.
type part struct {
	*document
	text  string
	base  int                 // offset of the text in the file
	at    []int               // file offset of each byte of the text and of its end; nil = consecutive from base
	write func(string) string // encodes replacement text for the file; nil = unchanged
	depth int                 // nesting depth
}

// offset returns the file offset of a byte of the text.
func (p part) offset(i int) int {
	if p.at == nil {
		return p.base + i
	}
	return p.at[i]
}

// sub returns a slice of the part.
func (p part) sub(start, end int) part {
	inner := p
	inner.text = p.text[start:end]
	if p.at == nil {
		inner.base = p.base + start
	} else {
		inner.at = p.at[start : end+1]
	}
	inner.depth++
	return inner
}

// inside returns a decoded text of the part as a part: a string without escapes, or lines without
// their indentation. at maps each byte of text and its end to offsets in p; write encodes
// replacements.
func (p part) inside(text string, at []int, write func(string) string) part {
	inner := part{document: p.document, text: text, at: make([]int, len(at)), depth: p.depth + 1}
	for i, offset := range at {
		inner.at[i] = p.offset(offset)
	}
	inner.write = func(s string) string {
		if s = write(s); p.write != nil {
			s = p.write(s)
		}
		return s
	}
	return inner
}

// lines returns several slices of the part as one part.
func (p part) lines(stretches [][2]int) part {
	var b strings.Builder
	var at []int
	end := 0
	for _, s := range stretches {
		b.WriteString(p.text[s[0]:s[1]])
		for i := s[0]; i < s[1]; i++ {
			at = append(at, i)
		}
		end = s[1]
	}
	return p.inside(b.String(), append(at, end), func(s string) string { return s })
}

// edit replaces the bytes from start to end, as part of rewriting a name.
func (p part) edit(n name, start, end int, text string) {
	if p.write != nil {
		text = p.write(text)
	}
	p.document.edits = append(p.document.edits, edit{p.offset(start), p.offset(end), text, n.place})
}
