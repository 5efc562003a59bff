package gateway_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/upstream"
)

// BenchmarkCall prints how much longer a folded call of a local server takes than a direct
// one, in alternation.
func BenchmarkCall(b *testing.B) {
	u, _ := playing(b, "srv", `{"tools":[{"name":"do","description":"`+long+`","inputSchema":{"type":"object"}}]}`)
	s, _ := offering(b, b.TempDir(), surface.Options{}, u)
	direct, err := upstream.Connect(b.Context(), u.Server, upstream.Client{Name: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	defer direct.Close()
	arguments := json.RawMessage(`{"action":"do","params":{"a":[1,2,3]}}`)
	var took [2]time.Duration
	for b.Loop() {
		start := time.Now()
		if _, err := direct.Call(context.Background(), "do", json.RawMessage(`{"a":[1,2,3]}`), nil); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		if answer := s.Client.Call(context.Background(), "srv", arguments); answer.Err != nil {
			b.Fatal(answer.Err)
		}
		took[0] += middle.Sub(start)
		took[1] += time.Since(middle)
	}
	b.ReportMetric(float64(took[1]-took[0])/float64(b.N), "ns/overhead")
	b.ReportMetric(float64(took[1])/float64(took[0]), "folded/direct")
}
