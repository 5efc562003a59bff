package rank

import (
	"cmp"
	"slices"
)

// nameWeight is the weight of a word of a document's name.
const nameWeight = 2

// commonCount is the number of documents from which a term's rarity is computed instead of looked
// up.
const commonCount = 128

// term is a word of the documents.
type term struct {
	text     string
	vector   int32     // number in the table of vectors, or noVector
	postings []posting // in no order
	passages []int32   // with the term, each once, in no order
}

// posting is a document that has a term.
type posting struct {
	slot       int32
	weight     float32 // sum of part weights over occurrences; passages raise it to 1
	evidence   float32 // the same, but each occurrence in a passage counts inPassage
	inName     uint16  // times
	inPassages uint16  // times
}

// span is the place of a passage: its document's slot and its range of terms.
type span struct {
	slot, begin, end int32
	rarity           float64 // of its terms together
}

// shape has the properties that a misspelt word shares with the intended one: the first byte, and
// the length up to a difference of one.
type shape struct {
	first byte
	size  uint8
}

// entry is an indexed document: the terms of its parts in sequence.
type entry struct {
	id       string
	order    int32
	parts    []part
	terms    []int32
	passages []int32 // numbers of its passages
}

// part is a text of a document.
type part struct {
	end    int32 // of its terms
	weight float32
	kind   kind
	loose  bool // the terms have no neighbours, because they are whole compounds
}

// kind is the role of a part. Passages come last in a document.
type kind uint8

const (
	name kind = iota
	field
	passage
)

// draft is an analysed document that is not yet in the index.
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
		d.terms, whole = appendTerms(d.terms, whole[:0], text)
		if n := len(d.terms) - before; n > 0 {
			d.parts = append(d.parts, part{end: int32(len(d.terms)), weight: weight, kind: kind})
			if kind != passage {
				d.length += weight * float32(n)
			}
		}
		if len(whole) > 0 && kind != passage {
			d.terms = append(d.terms, whole...)
			d.parts = append(d.parts, part{end: int32(len(d.terms)), weight: weight, kind: kind, loose: true})
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

// put adds d and replaces a document with the same ID.
func (x *Index) put(d *draft) {
	e := entry{id: d.id, order: x.added, parts: slices.Clone(d.parts), terms: make([]int32, len(d.terms))}
	if slot, ok := x.slots[d.id]; ok {
		e.order = x.docs[slot].order
		x.remove(d.id)
	} else {
		x.added++
	}
	slot := x.freeSlot()
	plain := len(e.parts) == 0 || e.parts[len(e.parts)-1].kind != passage
	var m meaning
	begin := int32(0)
	for _, p := range e.parts {
		number := int32(0)
		if p.kind == passage {
			number = x.addPassage(span{slot: slot, begin: begin, end: p.end})
			e.passages = append(e.passages, number)
		}
		for i := begin; i < p.end; i++ {
			e.terms[i] = x.number(d.terms[i])
			t := &x.terms[e.terms[i]]
			if plain && !t.isIn(slot) {
				m.add(t.vector, p.kind == name && !p.loose)
			}
			t.add(slot, p, number)
		}
		begin = p.end
	}
	x.docs[slot], x.lengths[slot], x.plain[slot] = e, d.length, plain
	x.directions[slot] = m.direction()
	x.slots[d.id] = slot
	x.length += float64(d.length)
}

// isIn reports whether the document that was added last, or is being added, has the term.
func (t *term) isIn(slot int32) bool {
	last := len(t.postings) - 1
	return last >= 0 && t.postings[last].slot == slot
}

// add counts an occurrence in a part of a document, which must be the last that was added. Number
// is the passage's number, if the part is a passage.
func (t *term) add(slot int32, p part, number int32) {
	if !t.isIn(slot) {
		t.postings = append(t.postings, posting{slot: slot})
	}
	at := &t.postings[len(t.postings)-1]
	if p.kind == passage {
		at.weight = max(at.weight, 1)
		at.evidence += inPassage
		at.inPassages++
		if last := len(t.passages) - 1; last < 0 || t.passages[last] != number {
			t.passages = append(t.passages, number)
		}
		return
	}
	at.weight += p.weight
	at.evidence += p.weight
	if p.kind == name {
		at.inName++
	}
}

// addPassage returns a number for a passage.
func (x *Index) addPassage(s span) int32 {
	if last := len(x.unusedPassages) - 1; last >= 0 {
		n := x.unusedPassages[last]
		x.unusedPassages, x.passages[n] = x.unusedPassages[:last], s
		return n
	}
	x.passages = append(x.passages, s)
	return int32(len(x.passages) - 1)
}

// number returns the number of a term and assigns one to a new term.
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
	x.terms[n] = term{text: text, vector: vectorOf(text)}
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
	x.docs, x.lengths, x.plain = append(x.docs, entry{}), append(x.lengths, 0), append(x.plain, false)
	x.directions = append(x.directions, direction{})
	return int32(len(x.docs) - 1)
}

func (x *Index) remove(id string) {
	slot, ok := x.slots[id]
	if !ok {
		return
	}
	e := &x.docs[slot]
	for _, n := range e.terms {
		t := &x.terms[n]
		i := slices.IndexFunc(t.postings, func(p posting) bool { return p.slot == slot })
		if i < 0 {
			continue // removed for an earlier occurrence
		}
		t.passages = slices.DeleteFunc(t.passages, func(number int32) bool { return x.passages[number].slot == slot })
		last := len(t.postings) - 1
		t.postings[i] = t.postings[last]
		t.postings = t.postings[:last]
		if last == 0 {
			x.forget(n)
		}
	}
	x.unusedPassages = append(x.unusedPassages, e.passages...)
	x.length -= float64(x.lengths[slot])
	x.docs[slot], x.lengths[slot], x.directions[slot] = entry{}, 0, direction{}
	x.free = append(x.free, slot)
	delete(x.slots, id)
}

// setRarities recomputes rarities after a change of the number of documents.
func (x *Index) setRarities() {
	for count := range x.rarities {
		x.rarities[count] = Rarity(float64(count), float64(len(x.slots)))
	}
	for _, e := range x.docs {
		for _, n := range e.passages {
			s := &x.passages[n]
			s.rarity = x.rarityOf(e.terms[s.begin:s.end])
		}
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

// rarityOf returns the sum of the rarities of terms.
func (x *Index) rarityOf(terms []int32) (sum float64) {
	for _, n := range terms {
		sum += x.rarity(x.count(n))
	}
	return sum
}

// sideBySide returns the documents that have two terms next to each other in
// one of their parts.
func (x *Index) sideBySide(first, second int32) (list []posting) {
	rarer := x.terms[first].postings
	if other := x.terms[second].postings; len(other) < len(rarer) {
		rarer = other
	}
	for _, p := range rarer {
		e := &x.docs[p.slot]
		weight, _ := e.sideBySide(first, second)
		for _, n := range e.passages {
			weight += float32(x.besides(n, first, second))
		}
		if weight > 0 {
			list = append(list, posting{slot: p.slot, weight: weight})
		}
	}
	return list
}

// sideBySide counts how often two terms are next to each other outside passages: weighted by part,
// and unweighted in the name.
func (e *entry) sideBySide(first, second int32) (weight float32, inName uint16) {
	begin := int32(0)
	for _, p := range e.parts {
		if p.kind == passage {
			break
		}
		if !p.loose {
			n := pairs(e.terms[begin:p.end], first, second)
			weight += p.weight * float32(n)
			if p.kind == name {
				inName += uint16(n)
			}
		}
		begin = p.end
	}
	return weight, inName
}

// besides returns how often two terms are next to each other in a passage.
func (x *Index) besides(passage, first, second int32) int {
	s := x.passages[passage]
	return pairs(x.docs[s.slot].terms[s.begin:s.end], first, second)
}

func pairs(terms []int32, first, second int32) (n int) {
	for i := 1; i < len(terms); i++ {
		if terms[i] == second && terms[i-1] == first {
			n++
		}
	}
	return n
}
