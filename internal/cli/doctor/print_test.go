package doctor

import (
	"strings"
	"testing"
)

func TestBar(t *testing.T) {
	t.Parallel()
	p := printer{bars: true}
	for n, want := range map[int]string{0: "", 240: strings.Repeat("█", 30), 120: strings.Repeat("█", 15), 1: "▏", 12: "█▌"} {
		if got := p.bar(n, 240); strings.TrimRight(got, " ") != want || len([]rune(got)) != barWidth {
			t.Errorf("%d of 240: %q", n, got)
		}
	}
	if p.bar(1, 0) != "" || (printer{}).bar(1, 2) != "" {
		t.Error("a bar of nothing, or in a pipe")
	}
}
