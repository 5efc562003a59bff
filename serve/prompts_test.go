package serve

import (
	"context"
	"fmt"
	"testing"
)

// If too many prompts wait, the oldest of the client with the most prompts fails.
func TestPromptsAreShared(t *testing.T) {
	t.Parallel()
	var p prompts
	var greedy []context.Context
	for i := range maxPrompts {
		ctx, _, err := p.wait(t.Context(), fmt.Sprint("one of many ", i/maxClientPrompts))
		if err != nil {
			t.Fatal(err)
		}
		greedy = append(greedy, ctx)
	}
	ctx, done, err := p.wait(t.Context(), "modest")
	if err != nil || ctx.Err() != nil {
		t.Fatal("a client with one prompt is refused", err)
	}
	failed := 0
	for _, ctx := range greedy {
		if ctx.Err() != nil {
			failed++
		}
	}
	if failed != 1 || p.count != maxPrompts {
		t.Errorf("%d prompts of others failed, %d wait", failed, p.count)
	}
	done()
	done()
	if p.count != maxPrompts-1 || p.byClient["modest"] != nil {
		t.Errorf("%d prompts wait after one was answered", p.count)
	}
}
