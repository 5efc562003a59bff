package doctor

import (
	"bytes"
	"strings"
	"testing"
)

// Findings are wrapped to the terminal's width, except for longer words. In a pipe they are not
// wrapped.
func TestParagraph(t *testing.T) {
	t.Parallel()
	for width, want := range map[int]string{0: "warning  a bb: ccc dddd\n", 16: "warning  a bb:\n         ccc\n         dddd\n"} {
		var b bytes.Buffer
		printer{width: width}.paragraph(&b, "warning  ", "a bb: ccc dddd")
		if b.String() != want {
			t.Errorf("%d: %q", width, b.String())
		}
	}
}

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
