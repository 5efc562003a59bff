// Package rank is an in-memory full-text index for short documents, such as
// the actions of tools or notes, that finds them by words their authors did
// not use.
//
// A query may be a few words or a page. Identifiers are split, English words
// are stemmed, stop words dropped, and usual synonyms (remove, delete, erase)
// count about half of the word itself. Relevance is BM25 over weighted fields
// with three additions: neighbouring words count again where the document has
// them side by side, a document whose name the query covers counts more, and
// so does one that answers a single sentence of a long query well.
//
// Limits: only English is stemmed and has synonyms. Scripts written without
// spaces are matched rune by rune, all others by whole words; accents matter.
// Words that no document has are guessed at, when they are one slip away from
// one that some have, or join two. Everything is kept in memory.
package rank

import "sync"

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
}

// Hit is a document that shares at least one word or synonym with a query.
type Hit struct {
	ID string
	// Score is between 0 and 1 and can be compared between queries and
	// indexes, so a threshold can keep out what is unrelated. It weighs the
	// rare words that document and query share against all that the query
	// asks for: a document does not become relevant to a long text by a few
	// chance words. The more documents there are, the better is the best of
	// unrelated ones. Measured on up to 200 documents: of the best hits for
	// unrelated questions nine in ten were below 0.46, of the right best hits
	// three in four were above 0.5, which is a fair threshold; on thousands of
	// documents 0.6 was.
	Score float64
}

// Index holds documents. Use New to make one. All methods may be called
// concurrently. A Put or Remove is seen by a Find as a whole or not at all.
//
// A lock guards it, in place of snapshots: a reader holds it for a
// millisecond at most, and a writer changes a few lists instead of copying
// the index.
type Index struct {
	mu     sync.RWMutex
	slots  map[string]int // by document ID
	docs   []entry        // by slot; a free slot is in no list
	free   []int
	lists  map[string]*list // by term; none is empty
	length float64          // of all documents together
	added  int              // documents ever added
}

// New returns an index of docs.
func New(docs ...Document) *Index {
	x := &Index{slots: map[string]int{}, lists: map[string]*list{}}
	x.Put(docs...)
	return x
}

// Put adds documents. A document replaces the one with the same ID and takes
// its place among equals.
func (x *Index) Put(docs ...Document) {
	drafts := analyse(docs)
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, d := range drafts {
		x.put(d)
	}
}

// Remove removes documents by ID. Unknown IDs are ignored.
func (x *Index) Remove(ids ...string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range ids {
		x.remove(id)
	}
}

// Len returns the number of documents.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.slots)
}

// Find returns the documents that match query, best first; equals are in the
// order in which they were added. It returns at most limit hits, and none where
// limit is zero or less or the query has no words. Of a very long query only the
// rarest words of the first 16 kB are used.
func (x *Index) Find(query string, limit int) []Hit {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if len(x.slots) == 0 || limit <= 0 {
		return nil
	}
	f := newFinder(x, query[:min(len(query), longestQuery)])
	return f.hits(f.relevance(), limit)
}
