package engine

import (
	"context"

	"github.com/toolfold/toolfold/internal/nesting"
	"github.com/toolfold/toolfold/tools"
)

// MaxDepth is the most runs that may be nested in the outermost one.
const MaxDepth = nesting.MaxDepth

// Enter returns the context of a run that begins, and refuses a run that
// would be too deep or that is part of itself. Below is the most runs that may
// be nested in this one; a negative number sets no limit but that of the runs
// around it.
func Enter(ctx context.Context, kind Kind, id string, below int) (context.Context, *tools.Error) {
	ctx, refused := nesting.Enter(ctx, string(kind)+" "+id, below)
	switch {
	case refused == nil:
		return ctx, nil
	case refused.Itself:
		return nil, tools.Errorf(DelegationDepth, "%v", refused).WithHint("let one of them do its part without the other")
	}
	return nil, tools.Errorf(DelegationDepth, "%v", refused).
		WithHint("runs may stand at most %d deep, or as deep as maxDelegationDepth of an agent allows; tasks that a run submits count as below it", MaxDepth)
}

// Nested reports whether a call is part of a run.
func Nested(ctx context.Context) bool { return nesting.Nested(ctx) }

// Depth returns how deep in runs a call is: 0 outside of any, at most
// MaxDepth+1. A task that the call submits is stored with it.
func Depth(ctx context.Context) int { return nesting.Depth(ctx) }

// WithDepth returns the context in which a task runs that was submitted at a
// depth: it counts as that deep in runs. Zero is outside of any.
func WithDepth(ctx context.Context, depth int) context.Context { return nesting.WithDepth(ctx, depth) }
