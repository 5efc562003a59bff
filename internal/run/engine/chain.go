package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
)

// MaxDepth is the most runs that may be nested in the outermost one.
const MaxDepth = 5

// chain has the runs around a call, in its context.
type chain struct {
	runs []string // kind and id, the outermost first
	left int      // runs that may still be nested in the innermost one
}

// Enter returns the context of a new run. It fails with [DelegationDepth] if the
// run would be nested too deep or within itself. Below limits the runs nested in
// this one; a negative number adds no limit to those of the runs around it. A
// task that a run submits is not nested in it: task.MaxDepth limits the chain of
// tasks that submit each other.
func Enter(ctx context.Context, kind Kind, id string, below int) (context.Context, *toolfold.Error) {
	around := callctx.Of[chain](ctx)
	run, left := string(kind)+" "+id, MaxDepth
	if around.runs != nil {
		left = around.left - 1
	}
	runs := append(slices.Clone(around.runs), run)
	switch way := strings.Join(runs, " → "); {
	case slices.Contains(around.runs, run):
		return nil, toolfold.Errorf(DelegationDepth, "%s would run within itself: %s", run, way).
			WithHint("let one of them do its part without the other")
	case left < 0:
		return nil, toolfold.Errorf(DelegationDepth, "%s would run too deep: %s", run, way).
			WithHint("runs may stand at most %d deep, or as deep as maxDelegationDepth of an agent allows", MaxDepth)
	}
	if below >= 0 {
		left = min(left, below)
	}
	return callctx.With(ctx, chain{runs, left}), nil
}

// Nested reports whether a call is part of a run.
func Nested(ctx context.Context) bool {
	return callctx.Of[chain](ctx).runs != nil
}
