package fold

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkMake prints how the time grows with the number of tools, folded and alone. The lists have
// one noun, one noun for five tools, or names without words.
func BenchmarkMake(b *testing.B) {
	names := map[string]func(i, of int) string{
		"one noun":   func(i, _ int) string { return fmt.Sprintf("get_item_%c%d", 'a'+rune(i%26), i) },
		"many nouns": func(i, of int) string { return fmt.Sprintf("get_noun%d_part%d", i%(of/5), i) },
		"no words":   func(i, _ int) string { return fmt.Sprintf("日本%c", 'ぁ'+rune(i)) },
	}
	sizes := []int{100, 1000, 5000, 10_000}
	for name, called := range names {
		for _, alone := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/alone=%v", name, alone), func(b *testing.B) {
				lists := make([][]Tool, len(sizes))
				for i, size := range sizes {
					for n := range size {
						lists[i] = append(lists[i], Tool{Name: called(n, size), Reads: n%2 == 0})
					}
				}
				least := make([]time.Duration, len(sizes)) // shortest times of a fold
				for b.Loop() {
					for i, list := range lists {
						start := time.Now()
						Make(Server{Name: "srv", Alone: alone}, list)
						if took := time.Since(start); least[i] == 0 || took < least[i] {
							least[i] = took
						}
					}
				}
				b.ReportMetric(float64(least[1])/float64(least[0]), "1000/100")
				b.ReportMetric(float64(least[3])/float64(least[1]), "10000/1000")
				b.ReportMetric(float64(least[2].Microseconds())/1000, "ms/5000")
			})
		}
	}
}
