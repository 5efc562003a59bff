package memory

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/toolfold/toolfold/internal/words"
)

// Limits of excerpts.
const (
	maxExcerpt     = 240     // characters
	maxExcerptRead = 2 << 20 // bytes of all values of an answer that are looked through
	maxPiece       = 40      // characters that are kept or left out together
)

// excerpter cuts values down to what is around the words of a query.
type excerpter struct {
	ranker *ranker
	room   int // bytes left to look through; later values are cut at their beginning
}

// piece is a word of a value as it is shown, with the terms that it matches.
type piece struct {
	text  string
	size  int // characters, with a space
	terms []int
}

// excerpt returns the part of a value with the most words of the query. A
// value is shown as its names and scalars; an ellipsis stands for what is left
// out.
func (x *excerpter) excerpt(value json.RawMessage) string {
	search := len(value) <= x.room
	var text string
	if search {
		x.room -= len(value)
		text = flatten(value)
	} else {
		text = strings.ToValidUTF8(string(value[:min(len(value), 4*maxExcerpt)]), "")
	}
	pieces := x.pieces(text, search)

	// A window of pieces slides over the value; it is worth the rarity of the
	// words in it, each once.
	count := make([]int, len(x.ranker.query.terms))
	var worth, best float64
	from, to, size, start := 0, 0, 0, 0
	for end, p := range pieces {
		size += p.size
		for _, t := range p.terms {
			if count[t]++; count[t] == 1 {
				worth += x.ranker.query.terms[t].rarity
			}
		}
		for size > maxExcerpt && start < end {
			size -= pieces[start].size
			for _, t := range pieces[start].terms {
				if count[t]--; count[t] == 0 {
					worth -= x.ranker.query.terms[t].rarity
				}
			}
			start++
		}
		if worth > best+1e-9 || to == 0 {
			best, from, to = worth, start, end+1
		}
	}
	// What was found last is at the end of the window: move on to show as much
	// after the words as before them.
	first, last := from, to
	for first < last && best > 0 && len(pieces[first].terms) == 0 {
		first++
	}
	size = 0
	for _, p := range pieces[first:last] {
		size += p.size
	}
	for before := (maxExcerpt - size) / 2; first > 0 && pieces[first-1].size <= before; {
		first--
		before -= pieces[first].size
		size += pieces[first].size
	}
	for last < len(pieces) && size+pieces[last].size <= maxExcerpt {
		size += pieces[last].size
		last++
	}

	var b strings.Builder
	if first > 0 {
		b.WriteString("… ")
	}
	for i, p := range pieces[first:last] {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(p.text)
	}
	if last < len(pieces) || !search {
		b.WriteString(" …")
	}
	return b.String()
}

// pieces splits a text at spaces, and long stretches without a space.
func (x *excerpter) pieces(text string, search bool) []piece {
	var all []piece
	for field := range strings.FieldsSeq(text) {
		for field != "" {
			end := 0
			for n := 0; n < maxPiece && end < len(field); n++ {
				_, size := utf8.DecodeRuneInString(field[end:])
				end += size
			}
			p := piece{text: field[:end], size: utf8.RuneCountInString(field[:end]) + 1}
			if search {
				p.terms = x.terms(p.text)
			}
			all = append(all, p)
			field = field[end:]
		}
	}
	return all
}

// terms returns the terms of the query that a piece of text matches.
func (x *excerpter) terms(text string) []int {
	var found []int
	match := func(word string) {
		found = append(found, x.ranker.exact[word]...)
		for _, i := range x.ranker.begin {
			for _, w := range x.ranker.query.terms[i].forms {
				if w.Prefix && strings.HasPrefix(word, w.Text) {
					found = append(found, i)
					break
				}
			}
		}
	}
	before := ""
	for w := range words.Split(text) {
		match(words.Stem(w.Text))
		for _, p := range w.Parts {
			match(words.Stem(p))
		}
		if w.Joined {
			match(before + w.Text)
		}
		before = w.Text
	}
	return found
}

// flatten writes the names and scalars of a JSON value as one text.
func flatten(value json.RawMessage) string {
	var b strings.Builder
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	var inObject []bool // by depth
	isName := false
	for {
		token, err := dec.Token()
		if err != nil {
			return b.String()
		}
		switch v := token.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				inObject = append(inObject, v == '{')
			} else {
				inObject = inObject[:len(inObject)-1]
			}
			isName = len(inObject) > 0 && inObject[len(inObject)-1]
			continue
		case string:
			b.WriteString(v)
		case json.Number:
			b.WriteString(v.String())
		case bool:
			b.WriteString(map[bool]string{true: "true", false: "false"}[v])
		case nil:
			b.WriteString("null")
		}
		if isName {
			b.WriteString(": ")
			isName = false
			continue
		}
		b.WriteByte(' ')
		isName = len(inObject) > 0 && inObject[len(inObject)-1]
	}
}
