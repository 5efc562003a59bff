package rank

import "slices"

// nameWeight is how much a word of a document's name counts.
const nameWeight = 2

// posting is one document in the list of a term.
type posting struct {
	slot   int32
	inName float32 // times the term occurs in the name
	weight float32 // times the term occurs, each by the weight of its field
}

// entry is a document as the index keeps it.
type entry struct {
	id        string
	order     int
	length    float64 // words, each by the weight of its field
	nameWords float64
	terms     map[string]posting // nil once indexed
	keys      []string           // of terms, to find the postings again
}

// analyse does the costly part of Put, which needs no lock.
func analyse(docs []Document) []entry {
	a := newAnalyser()
	entries := make([]entry, len(docs))
	for i, d := range docs {
		e := entry{id: d.ID, terms: map[string]posting{}}
		e.nameWords = float64(e.add(a, d.Name, nameWeight))
		for key, p := range e.terms {
			p.inName = p.weight / nameWeight
			e.terms[key] = p
		}
		for _, f := range d.Fields {
			if f.Weight == 0 {
				f.Weight = 1
			}
			e.add(a, f.Text, f.Weight)
		}
		entries[i] = e
	}
	return entries
}

// add counts the terms of text and returns the number of its words.
func (e *entry) add(a *analyser, text string, weight float64) int {
	count := func(key string) {
		p := e.terms[key]
		p.weight += float32(weight)
		e.terms[key] = p
	}
	words := a.terms(text, nil)
	for i, w := range words {
		count(w)
		if i > 0 {
			count(pair(words[i-1], w))
		}
	}
	for _, w := range a.compounds(text) {
		count(w)
	}
	e.length += weight * float64(len(words))
	return len(words)
}

// put adds e, in the place of the document with the same ID if there is one.
func (x *Index) put(e entry) {
	e.order = x.added
	if slot, ok := x.slots[e.id]; ok {
		e.order = x.docs[slot].order
		x.remove(e.id)
	} else {
		x.added++
	}
	slot := x.freeSlot()
	for key, p := range e.terms {
		p.slot = int32(slot)
		x.postings[key] = append(x.postings[key], p)
		e.keys = append(e.keys, key)
	}
	e.terms = nil
	x.docs[slot] = e
	x.slots[e.id] = slot
	x.length += e.length
}

func (x *Index) freeSlot() int {
	if n := len(x.free); n > 0 {
		slot := x.free[n-1]
		x.free = x.free[:n-1]
		return slot
	}
	x.docs = append(x.docs, entry{})
	return len(x.docs) - 1
}

func (x *Index) remove(id string) {
	slot, ok := x.slots[id]
	if !ok {
		return
	}
	for _, key := range x.docs[slot].keys {
		x.unpost(key, int32(slot))
	}
	x.length -= x.docs[slot].length
	x.docs[slot] = entry{}
	x.free = append(x.free, slot)
	delete(x.slots, id)
}

// unpost takes the document at slot out of the list of key, whose order has
// no meaning.
func (x *Index) unpost(key string, slot int32) {
	list := x.postings[key]
	i := slices.IndexFunc(list, func(p posting) bool { return p.slot == slot })
	last := len(list) - 1
	if last == 0 {
		delete(x.postings, key)
		return
	}
	list[i] = list[last]
	x.postings[key] = list[:last]
}
