package expression

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/expr-lang/expr/builtin"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

func eval(ctx context.Context, source string, input any) (any, error) {
	e, _, err := Compile(source, []string{"input"}, []string{"steps"})
	if err != nil {
		return nil, err
	}
	return e.Eval(ctx, map[string]any{"input": input, "steps": map[string]any{}})
}

func evalText(t *testing.T, source, input string) (any, error) {
	t.Helper()
	value, err := Decode(json.RawMessage(input))
	if err != nil {
		t.Fatal(err)
	}
	return eval(t.Context(), source, value)
}

func TestExpressions(t *testing.T) {
	t.Parallel()
	const input = `{"n":3,"half":0.5,"big":12345678901234567890,"list":[1,2,3],"names":["a","b"],"deep":{"x":{"y":"z"}},"text":"a-b"}`
	for source, want := range map[string]string{
		`input.n + 1`:                                          `4`,
		`input.n > 2 and input.half < 1`:                       `true`,
		`input.n / 2`:                                          `1.5`,
		`input.deep.x.y`:                                       `"z"`,
		`input["deep"]["x"]`:                                   `{"y":"z"}`,
		`input.nothing?.more ?? "none"`:                        `"none"`,
		`input.nothing`:                                        `null`,
		`map(input.list, # * 2)`:                               `[2,4,6]`,
		`filter(input.list, # > 1)`:                            `[2,3]`,
		`count(input.list, # > 1)`:                             `2`,
		`all(input.list, # > 0)`:                               `true`,
		`any(input.list, {# == 2})`:                            `true`,
		`sum(input.list)`:                                      `6`,
		`reduce(input.list, #acc + #, 0)`:                      `6`,
		`sortBy(input.list, -#)`:                               `[3,2,1]`,
		`groupBy(input.list, # > 1 ? "more" : "few")`:          `{"few":[1],"more":[2,3]}`,
		`find(input.list, # > 1)`:                              `2`,
		`let x = input.n; x * x`:                               `9`,
		`join(input.names, "+")`:                               `"a+b"`,
		`join(map(input.list, string(#)), ",")`:                `"1,2,3"`,
		`join(input.list, ",")`:                                `"1,2,3"`,
		`join(split(input.text, "-"))`:                         `"ab"`,
		`replace(input.text, "-", "+")`:                        `"a+b"`,
		`input.text matches "^a.b$"`:                           `true`,
		`"b" in input.names`:                                   `true`,
		`len(input.names) == 2 ? "two" : "other"`:              `"two"`,
		`{"a": input.n, "b": [input.half]}`:                    `{"a":3,"b":[0.5]}`,
		`1..3`:                                                 `[1,2,3]`,
		`toJSON(input.deep)`:                                   `"{\n  \"x\": {\n    \"y\": \"z\"\n  }\n}"`,
		`upper(input.text)`:                                    `"A-B"`,
		`map(filter(input.list, # > 1), # + 1)`:                `[3,4]`,
		`input.big`:                                            `12345678901234567890`,
		`string(input.big)`:                                    `"12345678901234567890"`,
		`[input.big] == [input.big]`:                           `true`,
		`fromJSON("[9007199254740993, 12345678901234567890]")`: `[9007199254740993,12345678901234567890]`,
		`toJSON({"a": input.big})`:                             `"{\n  \"a\": 12345678901234567890\n}"`,
		`9007199254740993 + 1`:                                 `9007199254740994`,
		`sum([9007199254740993, 1])`:                           `9007199254740994`,
		`sum(input.list, # * 2)`:                               `12`,
		`sum([])`:                                              `0`,
		`sum([0.5, 1])`:                                        `1.5`,
		`5 - 7 - 1`:                                            `-3`,
		`2 ** 3 ^ 2`:                                           `512`,
		`7 % 4 * -2`:                                           `-6`,
		`"a" + "b" + input.text`:                               `"aba-b"`,
		`int("9007199254740993") + int(2.9)`:                   `9007199254740995`,
		`float("1.5") + float(1)`:                              `2.5`,
		`uniq([1, 1.0, "1", 2, [1], [1], nil, nil])`:           `[1,"1",2,[1],null]`,
		`sort(input.names, "desc")`:                            `["b","a"]`,
		`sort([3, 1.5, 2])`:                                    `[1.5,2,3]`,
		`sortBy(input.list, -#, "desc")`:                       `[1,2,3]`,
		`split("a,b,c", ",", 2)`:                               `["a","b,c"]`,
		`splitAfter("a,b", ",")`:                               `["a,","b"]`,
		`replace("aaa", "a", "b", 2)`:                          `"bba"`,
		`repeat("ab", 3)`:                                      `"ababab"`,
		`input.text not matches "^x"`:                          `true`,
		`input.text matches input.nothing`:                     `false`,
		`"x" not in input.names and "n" in input`:              `true`,
		`2 in 1..3`:                                            `true`,
		`nil in [nil]`:                                         `true`,
		`toPairs({"a": 1})`:                                    `[["a",1]]`,
		`fromPairs([["a", 1]])`:                                `{"a":1}`,
		`groupBy(input.list, # > 1)`:                           `{"false":[1],"true":[2,3]}`,
		`input.list | map(# + 1) | sum()`:                      `9`,
		`len("äöü") + len(input.list) + len(input.deep)`:       `7`,
		`reverse(concat([1], [2]))`:                            `[2,1]`,
		`flatten([1, [2, [3]]])`:                               `[1,2,3]`,
		`max(input.list) + min(1, 2)`:                          `4`,
		`mean([1, 2]) + median([1, 2, 9])`:                     `3.5`,
		`first(input.list) + last(input.list)`:                 `4`,
		`input.list[1:] == [2, 3]`:                             `true`,
		`input.names[input.n - 3]`:                             `"a"`,
		`{(input.text): 1}`:                                    `{"a-b":1}`,
		`reduce([1, 2], #acc + #index * #)`:                    `3`,
		`date("2026-01-02").Year()`:                            `2026`,
		`any(input.list, # in [2]) ? 1 : 0`:                    `1`,
		`steps.a?.b ?? "none"`:                                 `"none"`,
	} {
		value, err := evalText(t, source, input)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got := string(ordered.MustJSON(value)); got != want {
			t.Errorf("%s is %s, want %s", source, got, want)
		}
	}
}

func TestExpressionsThatFail(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`input.nothing.more`:                 `cannot fetch more from`,
		`input.text + 1`:                     `invalid operation`,
		`__work(1)`:                          `unknown name __work`,
		`__work`:                             `unknown name __work`,
		`$env`:                               `unknown name $env`,
		`$env["__work"]`:                     `unknown name $env`,
		`join(3)`:                            `join needs a list, got a number`,
		`upper(3)`:                           `cannot use int`,
		`nothing()`:                          `unknown name nothing`,
		`let x = nil; x.a`:                   `nil has no member a (line 1, column 16)`,
		`let x = nil; x[0]`:                  `nil has no members and no items (line 1, column 15)`,
		`let x = nil; x[input.text]`:         `nil has no members`,
		`input.text matches "("`:             `missing closing )`,
		`sort([1, "a"])`:                     `invalid operation`,
		`uniq(1)`:                            `uniq needs a list`,
		`repeat("a", -1)`:                    `below 0`,
		`split("a")`:                         `split takes 2 or 3 arguments, got 1`,
		`input.big + 1`:                      `+: 12345678901234567890 is beyond 64-bit integers`,
		`input.big > 1`:                      `a whole number beyond 64 bits`,
		`sum([input.big, 1])`:                `beyond 64-bit integers`,
		`int(input.big)`:                     `beyond 64-bit integers`,
		`int("1.5")`:                         `"1.5" is not a whole number`,
		`int(1e30)`:                          `int: 1e+30 is beyond 64-bit integers`,
		`9223372036854775807 + 1`:            `9223372036854775807 + 1 is beyond 64-bit integers`,
		`-9223372036854775807 - 2`:           `is beyond 64-bit integers`,
		`3037000500 * 3037000500`:            `3037000500 * 3037000500 is beyond 64-bit integers`,
		`sum([9223372036854775807, 1])`:      `is beyond 64-bit integers`,
		`9007199254740993 + 0.5`:             `+: 9007199254740993 has more digits than floating point keeps`,
		`9007199254740993 / 1`:               `/: 9007199254740993 has more digits`,
		`float(9007199254740993)`:            `float: 9007199254740993 has more digits`,
		strings.Repeat("1+", 300) + "1":      `exceeds maximum allowed nodes`,
		strings.Repeat(" ", MaxLength) + "1": `more than 4000 bytes`,
		`"` + strings.Repeat("é", MaxLength/2) + `"`: `more than 4000 bytes`,
	} {
		if value, err := evalText(t, source, `{"text":"a","big":12345678901234567890}`); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.50s is %v, %v; want an error with %q", source, value, err, want)
		}
	}
}

// Each function of the library is charged, replaced or rejected.
func TestEveryFunctionIsCharged(t *testing.T) {
	t.Parallel()
	for _, name := range builtin.Names {
		_, charged := charges[name]
		_, done := functions[name]
		if charged == done {
			t.Errorf("%s: charged %v, done here %v", name, charged, done)
		}
	}
}

func TestMentions(t *testing.T) {
	t.Parallel()
	_, mentions, err := Compile(`steps.a?.x ?? steps["b-c"] ?? map(steps.d, #.e) ?? input.f`, []string{"input"}, []string{"steps"})
	if got := fmt.Sprint(mentions["steps"], mentions["input"]); err != nil || got != "[a b-c d] [f]" {
		t.Error(got, err)
	}
}

// bombs are expressions that would run for hours or grow without limit. The input has a text of 3
// MB and lists of 60,000 items.
var bombs = []string{
	`1..1000000000`,
	`let a = 1..3000; count(a, count(a, count(a, # > 0) > 5000) > 5000)`,
	`reduce(1..60, #acc + #acc, "a")`,
	`len(toJSON(reduce(1..60, [#acc, #acc], 1)))`,
	`let a = input.text + input.text; let b = a + a + a + a + a + a + a + a; replace(b, "x", b)`,
	`join(split(input.text, ""), input.text)`,
	`map(1..1000, map(1..1000, map(1..1000, #)))`,
	`reduce(1..40, [{"a": #acc}, {"b": #acc}], 1)`,
	`map(1..60000, uniq(map(1..60000, [#])))`,
	`uniq(map(1..60000, [#]))`,
	`all(1..60000, {-1 not in input.list})`,
	`all(1..60000, {[] not in input.list})`,
	`count(1..60000, input.text matches "(x+x+)+y")`,
	`count(1..60000, "xxxx" matches input.pattern)`,
	`count(1..60000, input.text matches "(x{0,300}){1}y")`,
	`count(1..60000, len(toJSON(input.list)) > 0)`,
	`count(1..60000, len(string(input.list)) > 0)`,
	`count(1..60000, fromJSON(input.json) != nil)`,
	`count(1..60000, upper(input.text) == "")`,
	`count(1..60000, lower(input.text) == "")`,
	`count(1..60000, len(input.text) == 0)`,
	`count(1..60000, lastIndexOf(input.text, "y") > 0)`,
	`count(1..60000, indexOf(input.text, "y") > 0)`,
	`count(1..60000, trim(input.text, "x") == "")`,
	`count(1..60000, trimPrefix(input.text) == "")`,
	`count(1..60000, input.text contains "y")`,
	`count(1..60000, input.text == input.other)`,
	`count(1..60000, input.list == input.list2)`,
	`count(1..60000, input.text < input.other)`,
	`count(1..60000, input[input.text] == 1)`,
	`count(1..60000, [{(input.text): 1}] == nil)`,
	`count(1..60000, input.text + input.other == "")`,
	`count(1..60000, hasPrefix(input.text, input.other))`,
	`count(1..60000, sum(input.list) > 0)`,
	`count(1..60000, count(input.bools) > 0)`,
	`count(1..60000, max(input.list) > 0)`,
	`count(1..60000, mean(input.list) > 0)`,
	`count(1..60000, median(input.list) > 0)`,
	`count(1..60000, len(sort(input.list)) > 0)`,
	`count(1..60000, len(reverse(input.list)) > 0)`,
	`count(1..60000, len(keys(input.object)) > 0)`,
	`count(1..60000, len(values(input.object)) > 0)`,
	`count(1..60000, len(toPairs(input.object)) > 0)`,
	`count(1..60000, len(flatten(input.list)) > 0)`,
	`count(1..60000, len(split(input.text, "x")) > 0)`,
	`count(1..60000, len(splitAfter(input.text, "x")) > 0)`,
	`count(1..60000, len(toBase64(input.text)) > 0)`,
	`count(1..60000, len(replace(input.text, "x", "y")) > 0)`,
	`count(1..60000, len(join(input.list, ",")) > 0)`,
	`count(1..60000, len(repeat("xxxxxxxx", 500000)) > 0)`,
	`count(1..60000, timezone("Europe/Berlin") != nil)`,
	`count(1..60000, int(input.text) > 0)`,
	`repeat("x", 1000000000)`,
	`input.text ` + strings.Repeat(`+ input.text `, 90),
	`count(1..1000, len(sortBy(input.list, -#)) < 0)`,
	`count(1..1000, count(1..1000, ` + strings.Repeat(`# > 0 and `, 90) + `true) < 0)`,
	`toJSON(reduce(1..1900, [#acc], 1..100000))`,
}

func bombInput() any {
	list, object, bools := make([]any, 60_000), map[string]any{}, make([]any, 60_000)
	for i := range list {
		list[i], bools[i] = i, true
		object[fmt.Sprint(i)] = i
	}
	return map[string]any{
		"text": strings.Repeat("x", 3_000_000), "other": strings.Repeat("x", 3_000_000-1) + "y",
		"list": list, "list2": slices.Clone(list), "object": object, "bools": bools,
		"json": string(ordered.MustJSON(list)), "pattern": strings.Repeat("(x?){300}", 3),
	}
}

// Expressions that would run or grow without limit are stopped by their budget and use limited
// memory.
func TestExpressionsAreBounded(t *testing.T) {
	input := bombInput()
	for _, source := range bombs {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		value, err := eval(t.Context(), source, input)
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%.60s came to an end: %.50v", source, value)
		}
		allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
		if allocated > 1000 {
			t.Errorf("%.60s allocated %d MB", source, allocated)
		}
		t.Logf("%4d ms %4d MB %.60s: %v", took.Milliseconds(), allocated, source, err)
	}
}

// An evaluation returns when its context ends, in any operation.
func TestEvaluationEndsWithItsContext(t *testing.T) {
	t.Parallel()
	input := bombInput()
	for _, source := range bombs[8:20] {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if value, err := eval(ctx, source, input); !errors.Is(err, context.Canceled) {
			t.Errorf("%.60s: %.50v, %v", source, value, err)
		}
	}
}
