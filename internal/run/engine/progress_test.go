package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Lines are passed on whole, however they come, without secrets and bounded.
func TestLines(t *testing.T) {
	t.Parallel()
	var got []string
	l := &lines{to: func(line string) { got = append(got, line) }, secrets: []string{"sesame-open-7"}}
	for _, part := range []string{"on", "e\ntwo\r\n\n  thr", "ee\xff is sesame-o", "pen-7\n", strings.Repeat("x", 3*maxPart), "\n", "no end"} {
		if n, err := fmt.Fprint(l, part); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(got) != 4 || !slices.Equal(got[:2], []string{"one", "two"}) || !strings.HasPrefix(got[2], "three is ") ||
		strings.Contains(got[2], "sesame") || len(got[3]) != maxPart {
		t.Errorf("%.300q", got)
	}
}
