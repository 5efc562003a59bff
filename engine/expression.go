package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
)

// Limits of one expression.
const (
	maxExpression = 4000 // characters
	maxNodes      = 400  // of its syntax tree
	memoryBudget  = 200_000
)

// expression is a compiled expression. It is safe for concurrent use.
type expression struct {
	program *vm.Program
}

// compileExpression compiles a text over the names of a scope. It also
// returns which steps and which fields of the agent the text mentions.
func compileExpression(text string, names []string) (*expression, references, error) {
	if len(text) > maxExpression {
		return nil, references{}, fmt.Errorf("more than %d characters", maxExpression)
	}
	env := types.Map{meterName: types.TypeOf(func(...any) any { return nil })}
	for _, name := range names {
		env[name] = types.Any
	}
	env[stepsName] = types.TypeOf(map[string]any{})
	patch := &instrument{}
	program, err := expr.Compile(text, append(bounded,
		expr.Env(env), expr.MaxNodes(maxNodes), expr.Patch(patch))...)
	if err == nil {
		err = patch.err
	}
	if err != nil {
		return nil, references{}, describe(err)
	}
	return &expression{program}, patch.references, nil
}

// describe says what is wrong with an expression in one line, with the column
// of the fault, without the copy of the source that the library adds.
func describe(err error) error {
	var at *file.Error
	if !errors.As(err, &at) {
		return errors.New(short(err.Error()))
	}
	return fmt.Errorf("%s (line %d, column %d)", short(at.Message), at.Line, at.Column+1)
}

// eval runs the expression over values that JSON knows. Env is not changed.
func (e *expression) eval(ctx context.Context, env map[string]any) (any, error) {
	work := &meterOfWork{ctx: ctx, left: workBudget}
	env[meterName] = work.pass
	machine := vm.VM{MemoryBudget: memoryBudget}
	value, err := machine.Run(e.program, env)
	if err != nil {
		return nil, describe(err)
	}
	if work.charge(value); work.left < 0 {
		return nil, errTooMuch
	}
	return value, nil
}

// truth evaluates a condition.
func (e *expression) truth(ctx context.Context, env map[string]any) (bool, error) {
	value, err := e.eval(ctx, env)
	if err != nil {
		return false, err
	}
	yes, ok := value.(bool)
	if !ok {
		return false, fmt.Errorf("it is %s, not true or false", kindOf(value))
	}
	return yes, nil
}

func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "nil"
	case string:
		return "a text"
	case bool:
		return "true or false"
	case int, int64, float64:
		return "a number"
	case []any:
		return "a list"
	}
	return "an object"
}
