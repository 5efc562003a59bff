// Package expression evaluates the conditions and placeholders of workflows:
// expressions of expr-lang over JSON values.
//
// Expressions have no side effects, and their cost is bounded whatever the
// values are: each operation whose work grows with its operands is charged to
// a budget before it is done, and an evaluation ends with its context. Whole
// numbers stay whole: what would round one is refused.
//
// The library has budgets of its own, for the nodes of a tree and the items that the
// machine makes, and takes no context. They are not enough: a text doubled 26 times
// takes 500 MB where metering stops at 17, a pattern matched with a text of 3 MB a
// quarter of a second each time, larger expressions never end, and nothing ends a
// goroutine that a deadline leaves behind. To compile and evaluate a usual expression
// takes 0.1 ms with metering and 0.03 ms without. BenchmarkBombs and
// BenchmarkMetering have the figures.
package expression

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
)

// Limits of one expression.
const (
	MaxLength    = 4000    // bytes of its source
	MaxText      = 4 << 20 // bytes of a text that it makes
	maxNodes     = 400     // of its syntax tree
	memoryBudget = 200_000 // items of the lists and maps that it makes
)

// ErrTooMuch is the error of an evaluation that takes too much work or makes
// too large a value.
var ErrTooMuch = errors.New("it takes too much work or makes too large a value")

// Expression is a compiled expression. It is safe for concurrent use.
type Expression struct {
	program *vm.Program
}

// Mentions are the members of variables that an expression names, such as
// "notes" of steps for steps.notes and steps["notes"].
type Mentions map[string][]string

// Compile compiles a text over variables with the given names. Objects are
// the variables that are always objects; their members are nil where they are
// missing.
func Compile(source string, variables, objects []string) (*Expression, Mentions, error) {
	if len(source) > MaxLength {
		return nil, nil, fmt.Errorf("more than %d characters", MaxLength)
	}
	env := types.Map{workName: types.TypeOf(func(...any) any { return nil })}
	for _, name := range variables {
		env[name] = types.Any
	}
	for _, name := range objects {
		env[name] = types.TypeOf(map[string]any{})
	}
	patch := &patcher{mentions: Mentions{}}
	program, err := expr.Compile(source, expr.Env(env), expr.MaxNodes(maxNodes), expr.Patch(patch))
	if patch.err != nil {
		err = patch.err
	}
	if err != nil {
		return nil, nil, describe(err)
	}
	return &Expression{program}, patch.mentions, nil
}

// inWords replaces names of Go and phrases of the library that do not say what is wrong.
var inWords = strings.NewReplacer(
	"json.Number", "a whole number beyond 64 bits",
	"type nil has no field", "nil has no member",
)

// describe returns what is wrong with an expression in one line, with the
// column of the fault, without the copy of the source that the library adds.
func describe(err error) error {
	for _, plain := range []error{ErrTooMuch, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, plain) {
			return plain
		}
	}
	message := err.Error()
	var at *file.Error
	located := errors.As(err, &at)
	if located {
		message = at.Message
	}
	message, _, _ = strings.Cut(strings.ToValidUTF8(message, ""), "\n")
	if r := []rune(message); len(r) > 240 {
		message = string(r[:240]) + "…"
	}
	message = inWords.Replace(message)
	if strings.HasPrefix(message, "type unknown[") { // the library has no name for the type of nil
		message = "nil has no members and no items"
	}
	if located {
		return fmt.Errorf("%s (line %d, column %d)", message, at.Line, at.Column+1)
	}
	return errors.New(message)
}

// Eval evaluates the expression over variables with values of [Decode]. It
// returns a value that JSON knows, and returns when the context ends, with its
// error. The map env must not be used again; the values in it are only read.
func (e *Expression) Eval(ctx context.Context, env map[string]any) (any, error) {
	type outcome struct {
		value any
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := e.run(ctx, env)
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		// One operation may still be at work. It is bounded, and the next one
		// is not begun.
		return nil, ctx.Err()
	}
}

func (e *Expression) run(ctx context.Context, env map[string]any) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			if failed, ok := p.(error); ok {
				err = describe(failed)
			} else {
				err = fmt.Errorf("it cannot be evaluated: %.240s", fmt.Sprint(p))
			}
		}
	}()
	w := &work{ctx: ctx, left: budget}
	env[workName] = w.do
	machine := vm.VM{MemoryBudget: memoryBudget}
	value, err = machine.Run(e.program, env)
	if err != nil {
		return nil, describe(err)
	}
	w.deep(value)
	return plain(value), nil
}

// True evaluates a condition.
func (e *Expression) True(ctx context.Context, env map[string]any) (bool, error) {
	value, err := e.Eval(ctx, env)
	if err != nil {
		return false, err
	}
	yes, ok := value.(bool)
	if !ok {
		return false, fmt.Errorf("it is %s, not true or false", KindOf(value))
	}
	return yes, nil
}

// plain makes the lists and maps of the library ones that JSON knows.
func plain(value any) any {
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			if p := plain(item); !same(p, item) {
				list := slices.Clone(v)
				list[i] = p
				for j := i + 1; j < len(list); j++ {
					list[j] = plain(list[j])
				}
				return list
			}
		}
		return v
	case map[string]any:
		for _, member := range v {
			if !same(plain(member), member) {
				object := make(map[string]any, len(v))
				for name, member := range v {
					object[name] = plain(member)
				}
				return object
			}
		}
		return v
	}
	r := reflect.ValueOf(value)
	switch r.Kind() {
	case reflect.Slice, reflect.Array:
		list := make([]any, r.Len())
		for i := range list {
			list[i] = plain(r.Index(i).Interface())
		}
		return list
	case reflect.Map:
		object := make(map[string]any, r.Len())
		for _, key := range r.MapKeys() {
			object[fmt.Sprint(key.Interface())] = plain(r.MapIndex(key).Interface())
		}
		return object
	}
	return value
}

// same reports whether plain left a value as it was.
func same(a, b any) bool {
	ra, rb := reflect.ValueOf(a), reflect.ValueOf(b)
	if ra.Kind() != rb.Kind() || ra.IsValid() && ra.Type() != rb.Type() {
		return false
	}
	switch ra.Kind() {
	case reflect.Slice, reflect.Map:
		return ra.Pointer() == rb.Pointer()
	}
	return true
}
