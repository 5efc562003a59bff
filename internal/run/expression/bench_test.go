package expression

import (
	"context"
	"testing"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
)

// alone runs an expression with only the library's own limits: nodes of the tree, and items of
// lists and maps that the machine creates. The library takes no context.
func alone(b *testing.B, source string, input any) (any, error) {
	b.Helper()
	env := types.Map{"input": types.Any, "steps": types.TypeOf(map[string]any{})}
	program, err := expr.Compile(source, expr.Env(env), expr.MaxNodes(maxNodes))
	if err != nil {
		b.Fatal(err)
	}
	machine := vm.VM{MemoryBudget: memoryBudget}
	return machine.Run(program, map[string]any{"input": input, "steps": map[string]any{}})
}

// BenchmarkMetering prints the cost of metering for usual expressions of workflows.
func BenchmarkMetering(b *testing.B) {
	input := map[string]any{"n": 3, "text": "release 1.2", "list": []any{1, 2, 3, 4, 5, 6, 7, 8}}
	for _, source := range []string{
		`input.n > 2 and input.text contains "1."`,
		`map(filter(input.list, # > 2), # * 2)`,
		`join(split(input.text, " "), "-")`,
	} {
		b.Run(source+"/metered", func(b *testing.B) {
			for b.Loop() {
				if _, err := eval(context.Background(), source, input); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(source+"/alone", func(b *testing.B) {
			for b.Loop() {
				if _, err := alone(b, source, input); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBombs prints the cost of small bombs, which metering stops and the library alone does
// not. Real ones are larger by factors of 100 and do not end.
func BenchmarkBombs(b *testing.B) {
	input := bombInput()
	for _, source := range []string{
		`count(1..3, input.text matches "(x+x+)+y")`,
		`len(reduce(1..26, #acc + #acc, "xxxx"))`,
		`count(1..100, len(toJSON(input.list)) > 0)`,
		`len(uniq(map(1..6000, [#])))`,
	} {
		b.Run(source+"/metered", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if value, err := eval(context.Background(), source, input); err == nil {
					b.Fatalf("it came to %v", value)
				}
			}
		})
		b.Run(source+"/alone", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := alone(b, source, input); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
