package rank_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/rank"
)

// setTool and setQuery are lines of a set's tools.jsonl and queries.jsonl.
type setTool struct {
	ID, Name, Description, Server string
	Params                        []string
}

type setQuery struct {
	Query    string
	Relevant []string
}

// engine returns the IDs of the best five tools.
type engine func(query string) []string

var engines = []struct {
	name string
	make func(testing.TB, []setTool) engine
}{
	{"rank", newRank},
	{"plain BM25", newBM25},
	{"stemmed BM25", newStemmedBM25},
	{"FTS5 porter", newFTS5},
}

func newRank(_ testing.TB, tools []setTool) engine {
	x := rank.New()
	for _, t := range tools {
		x.Put(rank.Document{ID: t.ID, Name: t.Name, Fields: []rank.Field{
			{Text: t.Description},
			{Text: strings.Join(t.Params, " ")},
			{Text: t.Server, Weight: 0.5},
		}})
	}
	return func(query string) []string {
		var ids []string
		for _, h := range x.Find(query, 5) {
			ids = append(ids, h.ID)
		}
		return ids
	}
}

// BenchmarkSets measures how well, and how fast, the right tool is found in
// every set of the folder TOOLFOLD_SEARCH_SETS, against two other engines. It
// is to be run once: go test -run - -bench Sets -benchtime 1x.
func BenchmarkSets(b *testing.B) {
	folder := os.Getenv("TOOLFOLD_SEARCH_SETS")
	if folder == "" {
		b.Skip("TOOLFOLD_SEARCH_SETS is not set: it names a folder of folders with a tools.jsonl and a queries.jsonl")
	}
	sets, err := filepath.Glob(filepath.Join(folder, "*", "tools.jsonl"))
	if err != nil || len(sets) == 0 {
		b.Fatalf("no set with a tools.jsonl in %q: %v", folder, err)
	}
	for b.Loop() {
		table := fmt.Sprintf("%-16s %-12s %6s %6s %6s %7s %9s\n", "set", "engine", "top-1", "top-3", "top-5", "nDCG@5", "µs/query")
		for _, path := range sets {
			dir := filepath.Dir(path)
			tools := readLines[setTool](b, path)
			queries := readLines[setQuery](b, filepath.Join(dir, "queries.jsonl"))
			for _, e := range engines {
				table += fmt.Sprintf("%-16s %-12s %s\n", filepath.Base(dir), e.name, measure(e.make(b, tools), queries))
			}
		}
		fmt.Printf("\n%s", table)
	}
}

func readLines[T any](tb testing.TB, path string) []T {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var all []T
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			tb.Fatalf("%s: %v", path, err)
		}
		all = append(all, v)
	}
	if err := lines.Err(); err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
	return all
}

// measure returns the columns of the table after the engine's name.
func measure(find engine, queries []setQuery) string {
	var top1, top3, top5, gain float64
	var took time.Duration
	for _, q := range queries {
		start := time.Now()
		found := find(q.Query)
		took += time.Since(start)
		first := slices.IndexFunc(found, func(id string) bool { return slices.Contains(q.Relevant, id) })
		if first >= 0 {
			top5++
		}
		if first >= 0 && first < 3 {
			top3++
		}
		if first == 0 {
			top1++
		}
		gain += ndcg5(found, q.Relevant)
	}
	n := float64(len(queries))
	return fmt.Sprintf("%6.1f %6.1f %6.1f %7.4f %9.0f", 100*top1/n, 100*top3/n, 100*top5/n, gain/n, float64(took.Microseconds())/n)
}

// ndcg5 is nDCG@5 with gain 1; the ideal has all relevant tools in front.
func ndcg5(found, relevant []string) float64 {
	var got, ideal float64
	for i := range 5 {
		worth := 1 / math.Log2(float64(i)+2)
		if i < len(found) && slices.Contains(relevant, found[i]) {
			got += worth
		}
		if i < len(relevant) {
			ideal += worth
		}
	}
	return got / ideal
}
