package app_test

import (
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/ordered"
)

// A cursor that no list has issued is refused by every action that takes one,
// not answered with an empty page.
func TestGarbageCursors(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tried := 0
	for _, spec := range b.Families() {
		for _, a := range spec.Actions {
			if !toolfold.NewEntry(a, a.FullName()).Takes(toolfold.Cursor.Name) {
				continue
			}
			tried++
			var args ordered.Map
			if err := args.UnmarshalJSON([]byte(a.Example)); err != nil {
				t.Fatal(err)
			}
			for _, cursor := range []string{"garbage", "%%%", "bm90aGluZw"} {
				args.Set(toolfold.Cursor.Name, cursor)
				answer := b.Runner.Call(t.Context(), a.FullName(), ordered.MustJSON(args))
				if answer.Err == nil {
					t.Errorf("%s takes the cursor %q: %.200s", a.FullName(), cursor, answer.Content)
				}
			}
		}
	}
	if tried < 8 {
		t.Errorf("only %d actions take a cursor", tried)
	}
}
