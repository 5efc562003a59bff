package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/tools"
)

// MaxDepth is how many runs may stand below one another: the first has depth
// zero, an agent it delegates to has one.
const MaxDepth = 5

// chain is the runs that a run is part of.
type chain struct {
	names []string // of the outermost first: agent:writer
	left  int      // how many more may stand below the last
}

type chainKey struct{}

// Enter notes in the context that a run begins, and refuses a run that would
// be too deep or that is part of itself. Below is how many runs may stand
// below this one, if fewer than around it: a negative number sets no limit.
func Enter(ctx context.Context, kind Kind, id string, below int) (context.Context, *tools.Error) {
	around, nested := ctx.Value(chainKey{}).(chain)
	name := string(kind) + " " + id
	way := strings.Join(append(slices.Clone(around.names), name), " → ")
	left := MaxDepth
	if nested {
		left = around.left - 1
	}
	if slices.Contains(around.names, name) {
		return nil, tools.Errorf(DelegationDepth, "%s would run within itself: %s", name, way).
			WithHint("let one of them do its part without the other")
	}
	if left < 0 {
		return nil, tools.Errorf(DelegationDepth, "%s would run too deep: %s", name, way).
			WithHint("runs may stand at most %d deep, or as deep as maxDelegationDepth of an agent allows", MaxDepth)
	}
	if below >= 0 {
		left = min(left, below)
	}
	return context.WithValue(ctx, chainKey{}, chain{append(slices.Clone(around.names), name), left}), nil
}

// Nested tells whether a call comes from a run.
func Nested(ctx context.Context) bool {
	_, nested := ctx.Value(chainKey{}).(chain)
	return nested
}
