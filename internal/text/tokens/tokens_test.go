package tokens

import (
	"sync"
	"testing"
)

// The counts are OpenAI's documented ones for o200k_base.
func TestCount(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for text, want := range map[string]int{
		"": 0, "hello world": 2, "お誕生日おめでとう": 8, "antidisestablishmentarianism": 6, "2 + 2 = 4": 7,
	} {
		wg.Go(func() {
			if got, err := Count(text); err != nil || got != want {
				t.Errorf("%q has %d tokens (%v), want %d", text, got, err, want)
			}
		})
	}
	wg.Wait()
}
