// Package rank is an in-memory full-text index for short documents, such as
// the actions of tools or abilities, that finds them by words their authors did
// not use.
//
// A query may be a few words or a page. Identifiers are split, English words
// are stemmed, stop words dropped, and usual synonyms (remove, delete, erase)
// count half of the word itself, less where a document has passages. Find chooses candidates by the words
// that they share with the query and then compares these closer: relevance is BM25
// over weighted fields; neighbouring words count again where the document has
// them side by side; a document whose name the query covers counts more, and so
// does one that answers a single sentence of a long query well. Passages, such
// as example requests, are compared with the query one by one, and the best one
// counts.
//
// Limits: only English is stemmed and has synonyms. Scripts written without
// spaces are matched rune by rune, all others by whole words; accents matter.
// Words that no document has are guessed at, when they are one slip away from
// one that some have, or join two. Everything is kept in memory.
package rank

import (
	"math"
	"sync"
)

// Field is a text of a document.
type Field struct {
	Text string
	// Weight says how much a word of Text counts, where 1 is usual and a word
	// of a document's name counts 2. Zero means 1; it must not be negative.
	Weight float64
}

// Document is an item of an Index. Texts that are empty do no harm.
type Document struct {
	// ID is unique in an Index. It is not searched.
	ID string
	// Name is the short name or title: note.create, getWeather, Holiday rules.
	Name   string
	Fields []Field
	// Passages are short texts of which the best one counts.
	Passages []string
}

// Query asks for documents.
type Query struct {
	Text string
	// Limit is the most hits; there are none where it is zero or less.
	Limit int
	// Keep reports whether a document may be a hit. Nil keeps all.
	Keep func(id string) bool
}

// Hit is a document that shares at least one word or synonym with a query.
type Hit struct {
	ID string
	// Worth is the relevance by which hits are ordered. It can be compared
	// within a query only.
	Worth float64
	// Coverage is the share of what the query asks for that the document has,
	// between 0 and 1: rare words count more, words that requests of any subject
	// have count less, and words that no document has count most.
	Coverage float64
	// Score is between 0 and 1 and can be compared between queries and indexes:
	// below one half a hit is more likely unrelated than right.
	Score float64
}

// Index holds documents. Use New to make one. All methods may be called
// concurrently. A Put or Remove is seen by a Find as a whole or not at all.
//
// A lock guards it, in place of snapshots: a reader holds it for a few
// milliseconds at most, and a writer changes a few lists instead of copying
// the index.
type Index struct {
	mu      sync.RWMutex
	slots   map[string]int32 // by document ID
	docs    []entry          // by slot; those of free slots are zero
	lengths []float32        // by slot
	plain   []bool           // by slot: the document has no passages
	free    []int32
	length  float64 // of all documents together
	added   int32   // documents ever added

	numbers map[string]int32  // of terms
	terms   []term            // by number
	unused  []int32           // numbers
	near    map[shape][]int32 // terms that may be meant by a misspelt word, by their shape

	passages       []span // by number
	unusedPassages []int32

	rarities [commonCount]float64 // by count of documents, as many as there are
}

// New returns an index of docs.
func New(docs ...Document) *Index {
	x := &Index{slots: map[string]int32{}, numbers: map[string]int32{}, near: map[shape][]int32{}}
	x.Put(docs...)
	return x
}

// Put adds documents. A document replaces the one with the same ID and takes
// its place among equals.
func (x *Index) Put(docs ...Document) {
	drafts := make([]draft, len(docs))
	for i, d := range docs {
		drafts[i] = analyse(d)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range drafts {
		x.put(&drafts[i])
	}
	x.setRarities()
}

// Remove removes documents by ID. Unknown IDs are ignored.
func (x *Index) Remove(ids ...string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range ids {
		x.remove(id)
	}
	x.setRarities()
}

// Len returns the number of documents.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.slots)
}

// Find returns the documents that match a query, best first; equals are in the
// order in which they were added. A query without words has no hits. Of a very
// long query only the rarest words of the first 16 kB are used.
func (x *Index) Find(q Query) []Hit {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if len(x.slots) == 0 || q.Limit <= 0 {
		return nil
	}
	f := finders.Get().(*finder)
	defer finders.Put(f)
	f.reset(x)
	f.parse(q.Text[:min(len(q.Text), longestQuery)])
	f.choose(max(q.Limit, min(max(len(x.slots)/3, minCandidates), maxCandidates)), q.Keep)
	f.gather()
	return f.hits(q.Limit)
}

// background is the number of documents that a small index is thought to be
// part of.
const background = 1000

// Rarity returns BM25's idf of a term that count of total documents have.
func Rarity(count, total float64) float64 {
	total = max(total, count) + background
	return math.Log(1 + (total-count+0.5)/(count+0.5))
}

// BM25 weighs how often a word occurs in a text.
type BM25 struct {
	Saturation  float64 // k1: the smaller it is, the more the first occurrence says
	LengthShare float64 // b: how far a longer text needs more occurrences
}

// Share returns what count occurrences in a text of a length say, where texts have
// a mean length: between 0 and 1.
func (b BM25) Share(count, length, mean float64) float64 {
	return count / (count + b.norm(length/mean))
}

// norm returns the count that says half, for a length against the mean.
func (b BM25) norm(length float64) float64 {
	return b.Saturation * (1 - b.LengthShare + b.LengthShare*length)
}
