// Package nesting keeps, in a context, which runs of agents and workflows a
// call is part of, and bounds how deep they stand within each other.
package nesting

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// MaxDepth is the most runs that may be nested in the outermost one.
const MaxDepth = 5

// chain is the value in a context.
type chain struct {
	names []string // of the runs, the outermost first
	left  int      // how many more may stand below the innermost
}

type chainKey struct{}

// Error is the refusal of a run. Its text says which runs stand around it.
type Error struct {
	Name   string   // of the run
	Around []string // the runs around it, the outermost first
	Itself bool     // it is one of those; else it would be too deep
}

// Error implements error.
func (e *Error) Error() string {
	way := strings.Join(append(slices.Clone(e.Around), e.Name), " → ")
	if e.Itself {
		return fmt.Sprintf("%s would run within itself: %s", e.Name, way)
	}
	return fmt.Sprintf("%s would run too deep: %s", e.Name, way)
}

// Enter returns the context of a run that begins. The name identifies what
// runs, such as "agent writer". It refuses a run that is part of itself or
// would be too deep. Below is the most runs that may be nested in this one; a
// negative number sets no limit but that of the runs around it.
func Enter(ctx context.Context, name string, below int) (context.Context, *Error) {
	around, nested := ctx.Value(chainKey{}).(chain)
	left := MaxDepth
	if nested {
		left = around.left - 1
	}
	if itself := slices.Contains(around.names, name); itself || left < 0 {
		return nil, &Error{Name: name, Around: around.names, Itself: itself}
	}
	if below >= 0 {
		left = min(left, below)
	}
	return context.WithValue(ctx, chainKey{}, chain{append(slices.Clone(around.names), name), left}), nil
}

// Nested reports whether a call is part of a run.
func Nested(ctx context.Context) bool {
	_, nested := ctx.Value(chainKey{}).(chain)
	return nested
}

// Depth returns how much of the allowed depth is used up: 0 outside of any
// run, MaxDepth+1 where no further run may begin. [WithDepth] takes it.
func Depth(ctx context.Context) int {
	if c, nested := ctx.Value(chainKey{}).(chain); nested {
		return MaxDepth + 1 - c.left
	}
	return 0
}

// WithDepth returns a context in which runs begin at a depth that [Depth]
// returned elsewhere, such as where a task was submitted that now runs. Zero
// and less are no run. It is for contexts outside of any run.
func WithDepth(ctx context.Context, depth int) context.Context {
	if depth <= 0 {
		return ctx
	}
	depth = min(depth, MaxDepth+1)
	return context.WithValue(ctx, chainKey{}, chain{[]string{fmt.Sprintf("a task at depth %d", depth)}, MaxDepth + 1 - depth})
}
