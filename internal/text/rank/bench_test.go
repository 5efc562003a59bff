package rank_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/text/rank"
)

// syntheticDocuments makes n documents like a large catalogue of tools: words
// of a Zipfian vocabulary of 4,000, names of three, descriptions of 8 to 40.
func syntheticDocuments(n int) []rank.Document {
	random := rand.New(rand.NewPCG(1, 2))
	docs := make([]rank.Document, n)
	for i := range docs {
		docs[i] = rank.Document{
			ID:   fmt.Sprint("tool", i),
			Name: strings.ReplaceAll(syntheticText(random, 3), " ", "_"),
			Fields: []rank.Field{
				{Text: syntheticText(random, 8+random.IntN(33))},
				{Text: syntheticText(random, 1+random.IntN(6)), Weight: 0.5},
			},
		}
	}
	return docs
}

var syllables = []string{"ba", "cor", "den", "fi", "gal", "hu", "jo", "kem", "lis", "mo", "nar", "pe", "qui", "rol", "sat", "tu"}

func syntheticText(random *rand.Rand, words int) string {
	zipf := rand.NewZipf(random, 1.1, 8, 3999)
	all := make([]string, words)
	for i := range all {
		n := zipf.Uint64()
		all[i] = syllables[n%16] + syllables[n/16%16] + syllables[n/256]
	}
	return strings.Join(all, " ")
}

// BenchmarkFiveThousand measures an index of 5,000 documents with questions of
// up to 60 words, a third of which no document has.
func BenchmarkFiveThousand(b *testing.B) {
	docs := syntheticDocuments(5000)
	random := rand.New(rand.NewPCG(3, 4))
	var queries []string
	for range 1000 {
		words := 1 + random.IntN(40)
		queries = append(queries, syntheticText(random, words)+". "+strings.Repeat("Unheard word. ", words/4))
	}
	for b.Loop() {
		start := time.Now()
		x := rank.New(docs...)
		build := time.Since(start)
		find := timings(len(queries), func(i int) { x.Find(rank.Query{Text: queries[i], Limit: 10}) })
		long := syntheticText(random, 1000) + strings.Repeat(". "+syntheticText(random, 40), 15)
		longest := timings(50, func(int) { x.Find(rank.Query{Text: long, Limit: 10}) })
		put := timings(500, func(i int) { x.Put(docs[i]) })
		fmt.Printf("\nbuild %d ms, Find p50 %d µs, p99 %d µs, Find of %d kB p50 %d µs, Put of one p50 %d µs, p99 %d µs\n", build.Milliseconds(),
			find[500].Microseconds(), find[990].Microseconds(), len(long)>>10, longest[25].Microseconds(), put[250].Microseconds(),
			put[495].Microseconds())
	}
}

// timings returns how long n calls took, shortest first.
func timings(n int, call func(i int)) []time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		start := time.Now()
		call(i)
		all[i] = time.Since(start)
	}
	slices.Sort(all)
	return all
}
