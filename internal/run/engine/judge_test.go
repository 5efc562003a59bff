package engine

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/run/work"
)

// An input that cannot be checked has its own reason.
func TestInputsThatCannotBeChecked(t *testing.T) {
	t.Parallel()
	w := work.Reference{Kind: "workflow", ID: "w"}
	judged := func(ctx context.Context, input map[string]any) []string {
		described := json.RawMessage(`{"inputSchema":{"properties":{"list":{"uniqueItems":true}}}}`)
		j := judgement{ctx: ctx, verdict: &Verdict{}, findings: map[work.Reference]finding{w: {described: described}}}
		j.input(nameUse{Reference: w}, input, "")
		return j.verdict.Unjudged
	}
	large := map[string]any{"list": slices.Repeat([]any{0}, 50_000)}
	if got := judged(t.Context(), large); len(got) != 1 || !strings.Contains(got[0], "the input is too large to be checked") {
		t.Errorf("got %q", got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var got []string
	for len(got) == 0 { // the check may be faster than the end of its context
		got = judged(ended, map[string]any{"list": []any{0}})
	}
	if want := []string{"calls of workflow w: checking input: context canceled"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
