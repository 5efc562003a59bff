package rank

import (
	_ "embed"
	"math"
	"slices"
	"sort"
	"sync"
)

// The table of word vectors: words that occur in similar sentences of English news and
// encyclopaedias have similar directions. The vectors are derived from GloVe, by the command
// e2e/vectors. See NOTICE.
var (
	// stemText lists the stems of the table, sorted, a line each.
	//
	//go:embed stems.txt
	stemText string

	// vectorTable has an entry for each stem: its scale, then two values in each byte, plus 8. The
	// vector is the scale times the values. Frequent words have short vectors.
	//
	//go:embed vectors.bin
	vectorTable string
)

const (
	dimensions = 64
	entrySize  = 1 + dimensions/2
	noVector   = -1
)

// Parts of the direction of a document.
const (
	nameMeaning = 0.5
	textMeaning = 0.65
)

// direction is a vector in small integers, which fit a length of up to nameMeaning + textMeaning.
type direction [dimensions]int8

// directionUnits of a direction are the length 1.
const directionUnits = 110

// vector is a sum of entries of the table.
type vector [dimensions]float32

// stemEnds returns the end of each line of stemText.
var stemEnds = sync.OnceValue(func() []int32 {
	ends := make([]int32, 0, len(vectorTable)/entrySize)
	for i := range len(stemText) {
		if stemText[i] == '\n' {
			ends = append(ends, int32(i))
		}
	}
	return ends
})

// vectorOf returns the number of a stem in the table, or noVector.
func vectorOf(stem string) int32 {
	ends := stemEnds()
	at := func(i int) string {
		if i == 0 {
			return stemText[:ends[0]]
		}
		return stemText[ends[i-1]+1 : ends[i]]
	}
	i := sort.Search(len(ends), func(i int) bool { return at(i) >= stem })
	if i == len(ends) || at(i) != stem {
		return noVector
	}
	return int32(i)
}

// add adds an entry of the table to v.
func (v *vector) add(number int32, weight float32) {
	e := vectorTable[int(number)*entrySize:][:entrySize]
	weight *= float32(e[0])
	for i := range dimensions / 2 {
		v[2*i] += weight * float32(int(e[1+i]>>4)-8)
		v[2*i+1] += weight * float32(int(e[1+i]&15)-8)
	}
}

// addUnit adds other to v, scaled to length.
func (v *vector) addUnit(other *vector, length float32) {
	square := 0.0
	for _, x := range other {
		square += float64(x) * float64(x)
	}
	if square == 0 {
		return
	}
	length /= float32(math.Sqrt(square))
	for i, x := range other {
		v[i] += length * x
	}
}

func (v *vector) direction() (d direction) {
	for i, x := range v {
		d[i] = int8(math.Round(float64(min(127, max(-127, directionUnits*x)))))
	}
	return d
}

// similarity returns how far two directions agree: at most the product of their lengths.
func similarity(a, b *direction) float64 {
	var one, two int32 // two sums, which do not wait for each other
	for i := 0; i < dimensions; i += 2 {
		one += int32(a[i]) * int32(b[i])
		two += int32(a[i+1]) * int32(b[i+1])
	}
	return float64(one+two) / (directionUnits * directionUnits)
}

// meaning sums up the words of a document without passages, each once.
type meaning struct{ name, text vector }

func (m *meaning) add(number int32, inName bool) {
	if number == noVector {
		return
	}
	m.text.add(number, 1)
	if inName {
		m.name.add(number, 1)
	}
}

func (m *meaning) direction() direction {
	var sum vector
	sum.addUnit(&m.name, nameMeaning)
	sum.addUnit(&m.text, textMeaning)
	return sum.direction()
}

// Similarity is a hint, not evidence: it must not outweigh words that a document shares with the
// query. These bound it.
const (
	meaningShare = 0.8 // of the words' rarity, for a document with exactly the query's direction
	coverageLoss = 0.8 // part of it that is lost if a document has all words of the query
	clearMeaning = 30  // rarity of the words up to which they have one direction: about five words
)

// meaningBonus returns the worth of the direction of the query. Coverage is the highest of all
// candidates.
func (f *finder) meaningBonus(coverage float64) float64 {
	clear := min(1, clearMeaning/max(f.wants, 1))
	return meaningShare * f.wants * clear * clear * clear * clear * (1 - coverageLoss*coverage)
}

// understand finds the direction of the query. Rare words count more.
func (f *finder) understand() {
	var sum, unit vector
	for i := range f.terms {
		a := &f.terms[i]
		if a.isPair {
			continue
		}
		if number := vectorOf(a.key); number != noVector {
			sum.add(number, float32(a.rarity))
		}
	}
	unit.addUnit(&sum, 1)
	f.direction = unit.direction()
}

// near returns the similarity of a document without passages and the query, or 0.
func (f *finder) near(slot int32) float64 {
	if !f.x.plain[slot] {
		return 0
	}
	return max(0, similarity(&f.direction, &f.x.directions[slot]))
}

// mostNear is the maximum number of candidates that share no word with the query.
const mostNear = 10

// appendNear appends the nearest documents among those that share no word with the query, up to
// limit documents in all.
func (f *finder) appendNear(list []int32, limit int, keep func(id string) bool) []int32 {
	begin := len(list)
	limit = min(limit, begin+mostNear)
	for slot, score := range f.scores {
		if score > 0 || !f.x.plain[slot] {
			continue
		}
		near := float32(f.near(int32(slot)))
		if near == 0 || len(list) == limit && near <= f.scores[list[limit-1]] || keep != nil && !keep(f.x.docs[slot].id) {
			continue
		}
		if len(list) == limit {
			list = list[:limit-1]
		}
		f.scores[slot] = near
		at := len(list)
		for at > begin && f.scores[list[at-1]] < near {
			at--
		}
		list = slices.Insert(list, at, int32(slot))
	}
	return list
}
