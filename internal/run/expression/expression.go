// Package expression evaluates the conditions and placeholders of workflows:
// expressions of expr-lang over JSON values.
//
// Expressions have no side effects, and their cost is limited for all values: each operation whose
// work grows with its operands is charged to a budget before it runs, and an evaluation ends with
// its context. Integers stay exact: an operation that would round one fails.
//
// The library limits only the nodes of a tree and the items that its machine creates, and takes no
// context. That is not enough. Doubling a text 26 times takes 500 MB; metering stops after 17.
// Matching a pattern with a text of 3 MB takes a quarter of a second each time. Larger expressions
// never end, and nothing stops a goroutine after its deadline. Compiling and evaluating a usual
// expression takes 0.1 ms with metering and 0.03 ms without. BenchmarkBombs and BenchmarkMetering
// have the figures.
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
	MaxText      = 4 << 20 // bytes of a text that it creates
	maxNodes     = 400     // nodes of its syntax tree
	memoryBudget = 200_000 // items of the lists and maps that it creates
)

// ErrTooMuch is the error of an evaluation that takes too much work or makes
// too large a value.
var ErrTooMuch = errors.New("it takes too much work or makes too large a value")

// Expression is a compiled expression. It is safe for concurrent use.
type Expression struct {
	program *vm.Program
}

// Mentions are the members that an expression reads, by variable: "notes" of steps for steps.notes
// and steps["notes"].
type Mentions map[string][]string

// Compile compiles an expression with variables of these names. Objects are the names of variables
// that are always objects; a missing member of one is nil.
func Compile(source string, variables, objects []string) (*Expression, Mentions, error) {
	if len(source) > MaxLength {
		return nil, nil, fmt.Errorf("more than %d bytes", MaxLength)
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

// inWords replaces unclear Go names and phrases in the library's errors.
var inWords = strings.NewReplacer(
	"json.Number", "a whole number beyond 64 bits",
	"type nil has no field", "nil has no member",
)

// describe shortens an error of the library to one line with the position, without the copy of the
// source.
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
	if strings.HasPrefix(message, "type unknown[") { // the library's name for the type of nil
		message = "nil has no members and no items"
	}
	if located {
		return fmt.Errorf("%s (line %d, column %d)", message, at.Line, at.Column+1)
	}
	return errors.New(message)
}

// Eval evaluates the expression with variables whose values come from [Decode]. It returns a value
// of JSON types. When the context ends, it returns its error at once. The map env must not be used
// again; its values are only read.
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
		// One operation may still be running. It is limited, and the next one does not start.
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

// True evaluates a condition. A result that is not a boolean is an error.
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

// plain converts lists and maps of the library to []any and map[string]any.
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

// same reports whether b, the result of plain for a, is a unchanged.
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
