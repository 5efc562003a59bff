package lazy_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/surface"
)

// BenchmarkFind measures a query of ours among our own actions: ranked, and as a whole
// call without a transport.
func BenchmarkFind(b *testing.B) {
	w := workbench.New(b, surface.Options{})
	queries := append(readQueries(b, queriesFile), readQueries(b, tradesFile)...)
	view := w.Discovery.View(context.Background())
	b.Run("ranked", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			view.Find(queries[i%len(queries)].query, 5)
		}
	})
	b.Run("called", func(b *testing.B) {
		var calls [][]byte
		for _, q := range queries {
			arguments, _ := json.Marshal(map[string]string{"action": "find", "query": q.query})
			calls = append(calls, arguments)
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if answer := w.Runner.Call(b.Context(), "tools", calls[i%len(calls)]); answer.IsError() {
				b.Fatal(string(answer.Content))
			}
		}
	})
}
