package rank

import (
	"cmp"
	"slices"
)

// nameWeight is the weight of a word of a document's name.
const nameWeight = 2

// posting is one document in the list of a term.
type posting struct {
	slot   int32
	inName float32 // times the term occurs in the name
	weight float32 // times the term occurs, each by the weight of its field
}

// list holds the documents that have a term, in no order.
type list struct {
	term     string
	postings []posting
}

// entry is a document as the index keeps it.
type entry struct {
	id     string
	order  int
	length float64 // words, each by the weight of its field
	lists  []*list // in which it has a posting
	name   []*list // of the words of its name
}

// draft is a document that is analysed and not yet in the index.
type draft struct {
	id     string
	length float64
	name   []string
	terms  map[string]posting
}

// analyse does the costly part of Put, which needs no lock.
func analyse(docs []Document) []draft {
	drafts := make([]draft, len(docs))
	for i, doc := range docs {
		d := draft{id: doc.ID, terms: map[string]posting{}}
		d.name = d.add(doc.Name, nameWeight)
		for term, p := range d.terms {
			p.inName = p.weight / nameWeight
			d.terms[term] = p
		}
		for _, f := range doc.Fields {
			d.add(f.Text, cmp.Or(f.Weight, 1))
		}
		drafts[i] = d
	}
	return drafts
}

// add counts the terms of text and returns those of its words.
func (d *draft) add(text string, weight float64) []string {
	count := func(term string) {
		p := d.terms[term]
		p.weight += float32(weight)
		d.terms[term] = p
	}
	words := terms(text, nil)
	for i, w := range words {
		count(w)
		if i > 0 {
			count(pair(words[i-1], w))
		}
	}
	for _, w := range compounds(text) {
		count(w)
	}
	d.length += weight * float64(len(words))
	return words
}

// put adds d, in the place of the document with the same ID if there is one.
func (x *Index) put(d draft) {
	e := entry{id: d.id, order: x.added, length: d.length}
	if slot, ok := x.slots[d.id]; ok {
		e.order = x.docs[slot].order
		x.remove(d.id)
	} else {
		x.added++
	}
	slot := x.freeSlot()
	for term, p := range d.terms {
		p.slot = int32(slot)
		l := x.lists[term]
		if l == nil {
			l = &list{term: term}
			x.lists[term] = l
		}
		l.postings = append(l.postings, p)
		e.lists = append(e.lists, l)
	}
	for _, w := range d.name {
		e.name = append(e.name, x.lists[w])
	}
	x.docs[slot] = e
	x.slots[d.id] = slot
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
	for _, l := range x.docs[slot].lists {
		l.remove(int32(slot))
		if len(l.postings) == 0 {
			delete(x.lists, l.term)
		}
	}
	x.length -= x.docs[slot].length
	x.docs[slot] = entry{}
	x.free = append(x.free, slot)
	delete(x.slots, id)
}

func (l *list) remove(slot int32) {
	i := slices.IndexFunc(l.postings, func(p posting) bool { return p.slot == slot })
	last := len(l.postings) - 1
	l.postings[i] = l.postings[last]
	l.postings = l.postings[:last]
}
