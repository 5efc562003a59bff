// Package rank is an in-memory full-text index for short documents, such as actions of tools. It
// also finds documents by words that their authors did not use.
//
// A query may be a few words or a page. Identifiers are split, English words are stemmed and stop
// words are dropped. Synonyms (remove, delete, erase) count half of the word itself, and less if
// the document has passages. Find chooses candidates by the words that they share with the query
// and ranks them. Relevance is BM25 over weighted fields. Neighbouring words count again if the
// document has them side by side. A document counts more if the query covers its name, or if it
// matches one sentence of a long query well. Passages, such as example requests, are compared with
// the query one by one, and the best one counts. A document without passages also counts more if
// its words are near those of a short query in a table of word vectors.
//
// Limits: only English is stemmed and has synonyms. Scripts written without spaces are matched rune
// by rune, all others by whole words. A word that no document has is guessed if it differs from an
// indexed word by one slip, or joins two indexed words. Everything is kept in memory.
package rank

import (
	"math"
	"sync"
)

// Field is a text of a document.
type Field struct {
	Text string
	// Weight is the weight of each word of Text; a word of the name has weight 2. Zero means 1. It
	// must not be negative.
	Weight float64
}

// Document is an item of an Index. Texts may be empty.
type Document struct {
	// ID is unique in an Index. It is not searched.
	ID string
	// Name is the short name or title: note.create, getWeather, Holiday rules.
	Name   string
	Fields []Field
	// Passages are short texts; only the best match counts.
	Passages []string
}

// Query is a search for documents.
type Query struct {
	Text string
	// Limit is the maximum number of hits. If it is zero or less, there are no hits.
	Limit int
	// Keep reports whether a document may be a hit. Nil means all.
	Keep func(id string) bool
	// Among reports whether a document counts for the rarity of a word. Nil means all.
	Among func(id string) bool
}

// Hit is a document that shares at least one word or synonym with a query, or one without passages
// that is near it by the meaning of its words.
type Hit struct {
	ID string
	// Worth is the relevance that orders hits. It is comparable only within a query.
	Worth float64
	// Coverage is the share of the query's words that the document has, between 0 and 1. Rare words
	// count more, and words that no document has count most.
	Coverage float64
	// Score is between 0 and 1 and comparable between queries and indexes. A hit below one half is
	// more likely unrelated than right. Only shared words and synonyms count.
	Score float64
}

// Index is a set of searchable documents. Use New to create one. All methods may be called
// concurrently, and each Put and Remove is atomic.
//
// A lock guards it instead of snapshots: a reader holds it for a few milliseconds at most, and a
// writer changes a few lists instead of copying the index.
type Index struct {
	mu         sync.RWMutex
	slots      map[string]int32 // by document ID
	docs       []entry          // by slot; zero in free slots
	lengths    []float32        // by slot
	plain      []bool           // by slot: the document has no passages
	directions []direction      // by slot: for documents without passages
	free       []int32
	length     float64 // of all documents together
	added      int32   // documents ever added

	numbers map[string]int32  // of terms
	terms   []term            // by number
	unused  []int32           // numbers
	near    map[shape][]int32 // terms that a misspelt word may mean, by shape

	passages       []span // by number
	unusedPassages []int32

	rarities [commonCount]float64 // by number of documents with a term
}

// New returns an index of docs.
func New(docs ...Document) *Index {
	x := &Index{slots: map[string]int32{}, numbers: map[string]int32{}, near: map[shape][]int32{}}
	x.Put(docs...)
	return x
}

// Put adds documents. A document replaces the one with the same ID and keeps its position among
// ties.
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

// Find returns the documents that match a query, best first; ties are in the order in which they
// were added. If few share a word with the query, others follow that are near it. A query without
// words has no hits. Only the first 16 kB of a query are used, and of these only the 128 rarest
// words and pairs.
func (x *Index) Find(q Query) []Hit {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if len(x.slots) == 0 || q.Limit <= 0 {
		return nil
	}
	f := finders.Get().(*finder)
	defer finders.Put(f)
	f.reset(x)
	f.countAmong(q.Among)
	f.parse(q.Text[:min(len(q.Text), longestQuery)])
	f.understand()
	f.choose(max(q.Limit, min(max(len(x.slots)/3, minCandidates), maxCandidates)), q.Keep)
	f.gather()
	return f.hits(q.Limit)
}

// background is the number of further documents that every index is assumed to have.
const background = 1000

// Rarity returns BM25's idf of a term that count of total documents have.
func Rarity(count, total float64) float64 {
	total = max(total, count) + background
	return math.Log(1 + (total-count+0.5)/(count+0.5))
}

// BM25 weighs the count of a word in a text.
type BM25 struct {
	Saturation  float64 // k1: the smaller it is, the more the first occurrence counts
	LengthShare float64 // b: how far a longer text needs more occurrences
}

// Share returns the weight, between 0 and 1, of count occurrences in a text of this length. Mean is
// the mean length of texts.
func (b BM25) Share(count, length, mean float64) float64 {
	return count / (count + b.norm(length/mean))
}

// norm returns the count that has weight one half. Length is relative to the mean.
func (b BM25) norm(length float64) float64 {
	return b.Saturation * (1 - b.LengthShare + b.LengthShare*length)
}
