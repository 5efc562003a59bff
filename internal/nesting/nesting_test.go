package nesting

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

func TestEnter(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	if Nested(ctx) || Depth(ctx) != 0 {
		t.Errorf("outside: %v, %d", Nested(ctx), Depth(ctx))
	}
	for i := range MaxDepth + 1 {
		inner, refused := Enter(ctx, fmt.Sprint("agent a", i), -1)
		if refused != nil {
			t.Fatal(refused)
		}
		if ctx = inner; !Nested(ctx) || Depth(ctx) != i+1 {
			t.Errorf("run %d: %v, %d", i, Nested(ctx), Depth(ctx))
		}
	}
	if _, refused := Enter(ctx, "agent b", -1); refused == nil || refused.Itself || !strings.HasPrefix(refused.Error(), "agent b would run too deep: agent a0 → agent a1") {
		t.Error(refused)
	}
	if _, refused := Enter(ctx, "agent a2", -1); refused == nil || !refused.Itself {
		t.Error(refused)
	}
}

func TestBelow(t *testing.T) {
	t.Parallel()
	alone, _ := Enter(t.Context(), "agent a", 0)
	if _, refused := Enter(alone, "agent b", -1); refused == nil {
		t.Error("a run that allows none below it has one")
	}
	if Depth(alone) != MaxDepth+1 {
		t.Error(Depth(alone))
	}
}

// The depth at which a task was submitted counts where it runs: a chain of
// tasks that submit tasks ends.
func TestDepthCrossesTasks(t *testing.T) {
	t.Parallel()
	depth, tasks := 0, 0
	for ; ; tasks++ {
		ctx, refused := Enter(WithDepth(context.Background(), depth), "agent self", -1)
		if refused != nil {
			if !strings.Contains(refused.Error(), "a task at depth 6 → agent self") {
				t.Error(refused)
			}
			break
		}
		depth = Depth(ctx)
	}
	if tasks != MaxDepth+1 {
		t.Errorf("%d tasks ran", tasks)
	}
	if ctx := WithDepth(t.Context(), 0); Nested(ctx) {
		t.Error("depth 0 is a run")
	}
	if ctx := WithDepth(t.Context(), 99); Depth(ctx) != MaxDepth+1 {
		t.Error(Depth(ctx))
	}
}
