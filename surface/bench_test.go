package surface_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/surface"
)

// BenchmarkDescribe prints what the first description of a tool costs, and
// one from the cache. The floors are 20 ms and 1 ms.
func BenchmarkDescribe(b *testing.B) {
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			s := live(b, surface.Options{})
			b.StartTimer()
			describe(b, s, "tools.find")
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "ms/describe")
	})
	b.Run("cached", func(b *testing.B) {
		s := live(b, surface.Options{})
		describe(b, s, "tools.find")
		for b.Loop() {
			describe(b, s, "tools.find")
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "ms/describe")
	})
}

func describe(b *testing.B, s *surface.Surface, name string) {
	answer := s.Runner.Call(b.Context(), "tools.describe", []byte(`{"name":"`+name+`"}`))
	if answer.IsError() {
		b.Fatal(string(answer.Content))
	}
}

// BenchmarkFiveThousandTools prints how long a catalogue of 5,000 tools takes
// to index, and how long it takes to find one. The floors are 300 ms and, at
// the 99th percentile, 3 ms.
func BenchmarkFiveThousandTools(b *testing.B) {
	specs := make([]*toolfold.Family, 5000)
	for i := range specs {
		specs[i] = external(b, fmt.Sprintf("%s_%s_%d", pick(verbs, i), pick(nouns, i/len(verbs)), i),
			fmt.Sprintf("%s the %s of a %s, with its %s.", pick(verbs, i), pick(nouns, i/7), pick(nouns, i/11), pick(nouns, i/13)))
	}
	s := live(b, surface.Options{})
	start := time.Now()
	if err := s.Put(specs...); err != nil {
		b.Fatal(err)
	}
	indexed := time.Since(start)
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		query := fmt.Sprintf("%s the %s of my %s please", pick(verbs, i*3), pick(nouns, i*5), pick(nouns, i*7))
		begin := time.Now()
		s.Discovery.View(b.Context()).Find(query, 5)
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(indexed.Microseconds())/1000, "ms/index")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms-p99/find")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-p50/find")
}

var (
	verbs = []string{"list", "create", "update", "delete", "fetch", "send", "merge", "rename", "export", "archive", "search", "validate"}
	nouns = []string{"invoice", "customer", "branch", "repository", "ticket", "calendar", "message", "image", "report", "order",
		"payment", "weather", "route", "document", "folder", "contact", "campaign", "server", "database", "certificate", "pipeline", "review"}
)

func pick(words []string, i int) string { return words[i%len(words)] }
