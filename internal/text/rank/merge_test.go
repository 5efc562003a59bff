package rank_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/text/rank"
)

// What both lists have comes before what one has; of what one has, the better place
// counts, and on equal ones the first list.
func TestMerge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ first, second, want []string }{
		{nil, nil, nil},
		{[]string{"a", "b"}, nil, []string{"a", "b"}},
		{nil, []string{"a", "b"}, []string{"a", "b"}},
		{[]string{"a", "b", "c"}, []string{"x", "c"}, []string{"c", "a", "x", "b"}},
	} {
		if diff := cmp.Diff(c.want, rank.Merge(c.first, c.second)); diff != "" {
			t.Errorf("Merge(%v, %v) (-want +got):\n%s", c.first, c.second, diff)
		}
	}
}
