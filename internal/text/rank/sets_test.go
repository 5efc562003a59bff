package rank_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/lazy"
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
	{"tools.find", newFind},
	{"plain BM25", newBM25},
	{"stemmed BM25", newStemmedBM25},
	{"FTS5 porter", newFTS5},
}

// newFind finds as tools.find does: each tool is one of somebody else's server.
func newFind(tb testing.TB, list []setTool) engine {
	ids := map[string]string{}
	var families []*toolfold.Family
	for _, t := range list {
		properties := map[string]any{}
		for _, p := range t.Params {
			properties[p] = map[string]any{}
		}
		schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
		if err != nil {
			tb.Fatal(err)
		}
		f, err := toolfold.External{Name: t.Name, Description: t.Description, Server: t.Server, Category: "elsewhere", InputSchema: schema}.
			Family()
		if err != nil {
			tb.Fatal(err)
		}
		families = append(families, f)
		ids[t.Name] = t.ID
	}
	view := lazy.NewView(lazy.ViewOptions{Families: families})
	return func(query string) (found []string) {
		for _, f := range view.Find(query, 5) {
			found = append(found, ids[f.Name])
		}
		return found
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
			list := readLines[setTool](b, path)
			queries := readLines[setQuery](b, filepath.Join(dir, "queries.jsonl"))
			for _, e := range engines {
				table += fmt.Sprintf("%-16s %-12s %s\n", filepath.Base(dir), e.name, measure(e.make(b, list), queries))
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
