package lazy_test

import (
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/surface"
)

// A caller who asks for an example gets one, even if usage shows all. Without the argument only
// actions with forms have one.
func TestDescribeAddsExamples(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	for args, want := range map[string]bool{
		`{"name":"memory.get"}`:                              false,
		`{"name":"memory.get","include_examples":true}`:      true,
		`{"names":["memory.get"],"include_examples":true}`:   true,
		`{"name":"memory_retrieve","include_examples":true}`: true,
		`{"name":"memory.import"}`:                           true,
		`{"name":"memory.import","include_examples":false}`:  false,
	} {
		answer := b.Runner.Call(t.Context(), "tools.describe", []byte(args))
		if got := strings.Contains(string(answer.Content), `"example"`); got != want || answer.IsError() {
			t.Errorf("%s: %s", args, answer.Content)
		}
	}
}
