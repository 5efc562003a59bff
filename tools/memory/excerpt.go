package memory

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolfold/toolfold/internal/text/words"
)

// Limits of excerpts.
const (
	maxExcerpt      = 240       // characters
	maxExcerptRead  = 1 << 20   // bytes read of all values of a response
	maxExcerptEntry = 128 << 10 // bytes read of one value
	maxPiece        = 40        // characters of a piece
	maxKnownPieces  = 10_000    // pieces with cached terms
)

// excerpter cuts values to the parts around the words of a query.
type excerpter struct {
	ranker *ranker
	room   int              // bytes left to read; when used up, excerpts are the beginnings of values
	known  map[string][]int // terms by the text of a piece, because most words are repeated
}

func newExcerpter(r *ranker) *excerpter {
	return &excerpter{ranker: r, room: maxExcerptRead, known: map[string][]int{}}
}

// piece is a word of a shown value, with its matching terms.
type piece struct {
	text  string
	size  int // characters, with a space
	terms []int
}

// excerpt returns the part of a value with the most words of the query, weighted by rarity. A value
// is shown as its names and scalars, with an ellipsis for omitted parts. The search ends early when
// a part reaches rarity, the sum for all words of the query in the entry.
func (x *excerpter) excerpt(value json.RawMessage, rarity float64) string {
	read := min(x.room, maxExcerptEntry)
	x.room -= read

	// A window of pieces slides over the value. Its worth is the rarity of the query's words in it,
	// each counted once.
	var pieces []piece
	count := make([]int, len(x.ranker.query.terms))
	var worth, best float64
	from, to, size, start := 0, 0, 0, 0
	after := 0 // characters after the part that was read
	for text := range inPieces(value) {
		p := piece{text: text, size: utf8.RuneCountInString(text) + 1}
		if read <= 0 || best > 0 && best >= rarity-1e-9 {
			pieces = append(pieces, p)
			if after += p.size; after > maxExcerpt {
				break
			}
			continue
		}
		read -= len(text) + 1
		p.terms = x.terms(text)
		end := len(pieces)
		pieces = append(pieces, p)
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
	x.room += max(read, 0)
	// The last word found is at the end of the window. Move the window to show as much after the
	// words as before them.
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
	if last < len(pieces) {
		b.WriteString(" …")
	}
	return b.String()
}

// inPieces yields the text of a value, split at spaces and after maxPiece characters.
func inPieces(value json.RawMessage) iter.Seq[string] {
	return func(yield func(string) bool) {
		for text := range flatten(value) {
			for field := range strings.FieldsSeq(text) {
				for field != "" {
					end := 0
					for n := 0; n < maxPiece && end < len(field); n++ {
						_, size := utf8.DecodeRuneInString(field[end:])
						end += size
					}
					if !yield(field[:end]) {
						return
					}
					field = field[end:]
				}
			}
		}
	}
}

// terms returns the terms of the query that a piece of text matches.
func (x *excerpter) terms(text string) []int {
	found, ok := x.known[text]
	if ok {
		return found
	}
	match := func(word string) { found = x.ranker.appendTerms(found, word) }
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
	if len(x.known) < maxKnownPieces {
		x.known[text] = found
	}
	return found
}

// flatten yields the names and scalars of a JSON value in order.
func flatten(value json.RawMessage) iter.Seq[string] {
	return func(yield func(string) bool) {
		dec := jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		for {
			token, err := dec.ReadToken()
			if err != nil {
				return
			}
			switch token.Kind() {
			case '{', '}', '[', ']':
				continue
			}
			text := token.String()
			if kind, length := dec.StackIndex(dec.StackDepth()); kind == '{' && length%2 == 1 {
				text += ":"
			}
			if !yield(text) {
				return
			}
		}
	}
}
