package engine

import (
	"context"
	"fmt"

	"github.com/toolfold/toolfold/internal/run/expression"
	"github.com/toolfold/toolfold/internal/text/jsonx"
)

// conditionalAction runs one of two lists. Its output has the outputs of the list that ran, by
// stepId; it is empty if that list is absent.
type conditionalAction struct {
	condition *expression.Expression
	yes, no   *list // nil = absent
}

func (a conditionalAction) run(ctx context.Context, f *frame) (any, error) {
	yes, err := truth(ctx, f, "condition", a.condition)
	if err != nil {
		return nil, err
	}
	branch := a.no
	if yes {
		branch = a.yes
	}
	if branch == nil {
		return map[string]any{}, nil
	}
	return outputOf(branch.inner(ctx, f))
}

// inner runs a list within a step.
func (l *list) inner(ctx context.Context, f *frame) (outcome, error) {
	out := l.run(ctx, f.with(nil, f.steps, f.progress.part(1-2*startShare)))
	switch err := ctx.Err(); {
	case out.failure != nil:
		return out, out.failure
	case err != nil && !out.complete:
		return out, err
	}
	return out, nil
}

// outputOf returns the outputs of a list by stepId; with an error, the partial outputs.
func outputOf(out outcome, err error) (any, error) {
	if err != nil {
		return made(out.outputs), err
	}
	return out.outputs, nil
}

// made returns the output of a failed step: nil if it has no outputs.
func made(outputs map[string]any) any {
	if len(outputs) == 0 {
		return nil
	}
	return outputs
}

// parallelAction runs its steps at the same time. Its output has their outputs, by stepId.
type parallelAction struct {
	steps *list
}

func (a parallelAction) run(ctx context.Context, f *frame) (any, error) {
	return outputOf(a.steps.inner(ctx, f))
}

// loopAction runs its steps again and again. Its output is a list with the outputs of each round,
// by stepId. After a failure the list ends with the partial outputs of the last round, if there are
// any.
type loopAction struct {
	items        *template              // nil = no items
	as           string                 // alias of item; empty = no alias
	while, until *expression.Expression // nil = no condition
	limit        int                    // most rounds
	body         *list
}

func (a loopAction) run(ctx context.Context, f *frame) (any, error) {
	items, err := a.list(ctx, f)
	if err != nil {
		return nil, err
	}
	share := 1 / float64(a.limit)
	if a.items != nil && len(items) > 0 {
		share = 1 / float64(len(items))
	}
	rounds := []any{}
	var previous map[string]any
	for i := 0; a.items == nil || i < len(items); i++ {
		round := f.with(a.vars(items, i, previous), merge(f.steps, previous), f.progress.part(share))
		round.path = jsonx.Index(f.path, i)
		again, err := a.again(ctx, round, i)
		if err != nil || !again {
			return rounds, err
		}
		round.steps = f.steps
		out, err := a.body.inner(ctx, round)
		if err != nil {
			if len(out.outputs) > 0 {
				rounds = append(rounds, out.outputs)
			}
			if failure, ok := err.(*Failure); ok && failure.Code != Cancelled {
				named := *failure
				named.Message = fmt.Sprintf("round %d: %s", i+1, failure.Message)
				err = &named
			}
			return rounds, err
		}
		rounds, previous = append(rounds, out.outputs), out.outputs
		round.steps = merge(f.steps, out.outputs)
		round.vars = merge(round.vars, map[string]any{errorsName: out.errors})
		if a.until != nil {
			if done, err := truth(ctx, round, "until", a.until); err != nil || done {
				return rounds, err
			}
		}
	}
	return rounds, nil
}

// again reports whether there is a round i.
func (a loopAction) again(ctx context.Context, round *frame, i int) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if a.while != nil {
		if yes, err := truth(ctx, round, "while", a.while); err != nil || !yes {
			return false, err
		}
	}
	if i >= a.limit {
		return false, fatal(StepFailed, "the loop was not over after %d rounds", a.limit).
			hint("mend its condition, or raise maxIterations (at most %d)", MaxIterations)
	}
	return true, nil
}

// list evaluates the items; nil if the loop has no items.
func (a loopAction) list(ctx context.Context, f *frame) ([]any, error) {
	if a.items == nil {
		return nil, nil
	}
	value, err := a.items.eval(ctx, f)
	if err != nil {
		return nil, expressionFailure("items", err)
	}
	items, ok := value.([]any)
	if !ok {
		return nil, fatal(StepFailed, "items is %s, not a list", expression.KindOf(value))
	}
	if len(items) > a.limit {
		return nil, fatal(StepFailed, "items has %d entries, more than maxIterations, which is %d", len(items), a.limit).
			hint("raise maxIterations (at most %d), or shorten the list", MaxIterations)
	}
	return items, nil
}

func (a loopAction) vars(items []any, i int, previous map[string]any) map[string]any {
	vars := map[string]any{indexName: i, previousName: nil}
	if previous != nil {
		vars[previousName] = previous
	}
	if a.items == nil {
		return vars
	}
	vars[itemName] = items[i]
	if a.as != "" {
		vars[a.as] = items[i]
	}
	return vars
}
