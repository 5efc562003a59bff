package rank

import (
	"cmp"
	"slices"
)

// nameWeight is the weight of a word of a document's name.
const nameWeight = 2

// commonCount is the number of documents from which on a term's rarity is not
// looked up but computed.
const commonCount = 128

// term is a word that documents have.
type term struct {
	text     string
	postings []posting // in no order
}

// posting is a document that has a term.
type posting struct {
	slot   int32
	weight float32 // times the term occurs, each by the weight of its part
}

// shape has the properties that a misspelt word shares with the one meant: the first byte and,
// give or take one, the length.
type shape struct {
	first byte
	size  uint8
}

// entry is a document as the index keeps it: the terms of its parts, one part
// after the other.
type entry struct {
	id    string
	order int32
	parts []part
	terms []int32
}

// part is a text of a document.
type part struct {
	end    int32 // of its terms
	weight float32
	kind   kind
}

// kind is the role of a part.
type kind uint8

const (
	name kind = iota
	field
	compounds // terms that stand nowhere, such as the whole of a word with parts
	passage
)

// draft is a document that is analysed and not yet in the index.
type draft struct {
	id     string
	length float32
	parts  []part
	terms  []string
}

// analyse does the costly part of Put, which needs no lock.
func analyse(doc Document) draft {
	d := draft{id: doc.ID, terms: make([]string, 0, 64), parts: make([]part, 0, 2+len(doc.Fields)+len(doc.Passages))}
	var whole []string
	add := func(text string, weight float32, kind kind) {
		before := len(d.terms)
		d.terms, whole = appendTerms(d.terms, whole, text)
		if n := len(d.terms) - before; n > 0 {
			d.parts = append(d.parts, part{int32(len(d.terms)), weight, kind})
			if kind != passage {
				d.length += weight * float32(n)
			}
		}
		if len(whole) > 0 {
			d.terms = append(d.terms, whole...)
			d.parts = append(d.parts, part{int32(len(d.terms)), weight, compounds})
			whole = whole[:0]
		}
	}
	add(doc.Name, nameWeight, name)
	for _, f := range doc.Fields {
		add(f.Text, float32(cmp.Or(f.Weight, 1)), field)
	}
	for _, text := range doc.Passages {
		add(text, 1, passage)
	}
	return d
}

// put adds d, in the place of the document with the same ID if there is one.
func (x *Index) put(d *draft) {
	e := entry{id: d.id, order: x.added, parts: slices.Clone(d.parts), terms: make([]int32, len(d.terms))}
	if slot, ok := x.slots[d.id]; ok {
		e.order = x.docs[slot].order
		x.remove(d.id)
	} else {
		x.added++
	}
	slot := x.freeSlot()
	begin := int32(0)
	for _, p := range e.parts {
		for i := begin; i < p.end; i++ {
			n := x.number(d.terms[i])
			e.terms[i] = n
			list := x.terms[n].postings
			if last := len(list) - 1; last < 0 || list[last].slot != slot {
				list = append(list, posting{slot: slot})
			}
			if last := &list[len(list)-1]; p.kind == passage {
				last.weight = max(last.weight, 1)
			} else {
				last.weight += p.weight
			}
			x.terms[n].postings = list
		}
		begin = p.end
	}
	x.docs[slot], x.lengths[slot] = e, d.length
	x.slots[d.id] = slot
	x.length += float64(d.length)
}

// number returns the number of a term, a new one where it has none.
func (x *Index) number(text string) int32 {
	n, ok := x.numbers[text]
	if ok {
		return n
	}
	if last := len(x.unused) - 1; last >= 0 {
		n, x.unused = x.unused[last], x.unused[:last]
	} else {
		n, x.terms = int32(len(x.terms)), append(x.terms, term{})
	}
	x.numbers[text] = n
	x.terms[n] = term{text: text}
	if s, ok := shapeOf(text); ok {
		x.near[s] = append(x.near[s], n)
	}
	return n
}

// forget frees the number of a term that no document has any more.
func (x *Index) forget(n int32) {
	text := x.terms[n].text
	if s, ok := shapeOf(text); ok {
		x.near[s] = slices.DeleteFunc(x.near[s], func(other int32) bool { return other == n })
	}
	delete(x.numbers, text)
	x.terms[n] = term{}
	x.unused = append(x.unused, n)
}

func (x *Index) freeSlot() int32 {
	if n := len(x.free); n > 0 {
		slot := x.free[n-1]
		x.free = x.free[:n-1]
		return slot
	}
	x.docs, x.lengths = append(x.docs, entry{}), append(x.lengths, 0)
	return int32(len(x.docs) - 1)
}

func (x *Index) remove(id string) {
	slot, ok := x.slots[id]
	if !ok {
		return
	}
	for _, n := range x.docs[slot].terms {
		list := x.terms[n].postings
		i := slices.IndexFunc(list, func(p posting) bool { return p.slot == slot })
		if i < 0 {
			continue // removed for an earlier occurrence
		}
		last := len(list) - 1
		list[i] = list[last]
		x.terms[n].postings = list[:last]
		if last == 0 {
			x.forget(n)
		}
	}
	x.length -= float64(x.lengths[slot])
	x.docs[slot], x.lengths[slot] = entry{}, 0
	x.free = append(x.free, slot)
	delete(x.slots, id)
}

// setRarities follows a change of the number of documents.
func (x *Index) setRarities() {
	for count := range x.rarities {
		x.rarities[count] = Rarity(float64(count), float64(len(x.slots)))
	}
}

// rarity is BM25's idf of a term that count documents have.
func (x *Index) rarity(count int) float64 {
	if count < commonCount {
		return x.rarities[count]
	}
	return Rarity(float64(count), float64(len(x.slots)))
}

// count returns the number of documents that have a term.
func (x *Index) count(number int32) int { return len(x.terms[number].postings) }

// sideBySide returns the documents that have two terms next to each other in
// one of their parts.
func (x *Index) sideBySide(first, second int32) (list []posting) {
	rarer := x.terms[first].postings
	if other := x.terms[second].postings; len(other) < len(rarer) {
		rarer = other
	}
	for _, p := range rarer {
		e := &x.docs[p.slot]
		weight, begin := float32(0), int32(0)
		for _, part := range e.parts {
			for i := begin + 1; i < part.end && part.kind != compounds; i++ {
				if e.terms[i] == second && e.terms[i-1] == first {
					weight += part.weight
				}
			}
			begin = part.end
		}
		if weight > 0 {
			list = append(list, posting{p.slot, weight})
		}
	}
	return list
}
