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
	maxExcerptRead  = 1 << 20   // bytes of all values of an answer that are looked through
	maxExcerptEntry = 128 << 10 // and of one value
	maxPiece        = 40        // characters that are kept or left out together
	maxKnownPieces  = 10_000    // pieces whose terms are remembered
)

// excerpter cuts values down to what is around the words of a query.
type excerpter struct {
	ranker *ranker
	room   int              // bytes left to look through; later values are cut at their beginning
	known  map[string][]int // terms by the text of a piece: most words of a text come again
}

func newExcerpter(r *ranker) *excerpter {
	return &excerpter{ranker: r, room: maxExcerptRead, known: map[string][]int{}}
}

// piece is a word of a value as it is shown, with the terms that it matches.
type piece struct {
	text  string
	size  int // characters, with a space
	terms []int
}

// excerpt returns the part of a value with the most words of the query. A
// value is shown as its names and scalars; an ellipsis stands for what is left
// out. Looking ends where the words found together have the rarity that all
// words of the entry have.
func (x *excerpter) excerpt(value json.RawMessage, rarity float64) string {
	read := min(x.room, maxExcerptEntry)
	x.room -= read

	// A window of pieces slides over the value; it is worth the rarity of the
	// words in it, each once.
	var pieces []piece
	count := make([]int, len(x.ranker.query.terms))
	var worth, best float64
	from, to, size, start := 0, 0, 0, 0
	after := 0 // characters beyond the part that was looked through
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
	if last < len(pieces) {
		b.WriteString(" …")
	}
	return b.String()
}

// inPieces yields the text of a value, split at spaces, and long stretches
// without a space.
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

// flatten yields the names and scalars of a JSON value in their order.
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
