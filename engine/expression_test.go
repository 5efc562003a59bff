package engine

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/ordered"
)

func evalText(t *testing.T, source, input string) (any, error) {
	t.Helper()
	e, _, err := compileExpression(source, []string{inputName})
	if err != nil {
		return nil, err
	}
	values, err := Input(json.RawMessage(input))
	if err != nil {
		t.Fatal(err)
	}
	return e.eval(t.Context(), map[string]any{inputName: values, stepsName: map[string]any{}})
}

func TestExpressions(t *testing.T) {
	t.Parallel()
	const input = `{"n":3,"half":0.5,"big":12345678901234567890,"list":[1,2,3],"names":["a","b"],"deep":{"x":{"y":"z"}},"text":"a-b"}`
	for source, want := range map[string]string{
		`input.n + 1`:                                 `4`,
		`input.n > 2 and input.half < 1`:              `true`,
		`input.n / 2`:                                 `1.5`,
		`input.deep.x.y`:                              `"z"`,
		`input["deep"]["x"]`:                          `{"y":"z"}`,
		`input.nothing?.more ?? "none"`:               `"none"`,
		`input.nothing`:                               `null`,
		`map(input.list, # * 2)`:                      `[2,4,6]`,
		`filter(input.list, # > 1)`:                   `[2,3]`,
		`count(input.list, # > 1)`:                    `2`,
		`all(input.list, # > 0)`:                      `true`,
		`any(input.list, {# == 2})`:                   `true`,
		`sum(input.list)`:                             `6`,
		`reduce(input.list, #acc + #, 0)`:             `6`,
		`sortBy(input.list, -#)`:                      `[3,2,1]`,
		`groupBy(input.list, # > 1 ? "more" : "few")`: `{"few":[1],"more":[2,3]}`,
		`find(input.list, # > 1)`:                     `2`,
		`let x = input.n; x * x`:                      `9`,
		`join(input.names, "+")`:                      `"a+b"`,
		`join(map(input.list, string(#)), ",")`:       `"1,2,3"`,
		`join(input.list, ",")`:                       `"1,2,3"`,
		`join(split(input.text, "-"))`:                `"ab"`,
		`replace(input.text, "-", "+")`:               `"a+b"`,
		`input.text matches "^a.b$"`:                  `true`,
		`"b" in input.names`:                          `true`,
		`len(input.names) == 2 ? "two" : "other"`:     `"two"`,
		`{"a": input.n, "b": [input.half]}`:           `{"a":3,"b":[0.5]}`,
		`1..3`:                                        `[1,2,3]`,
		`toJSON(input.deep)`:                          `"{\n  \"x\": {\n    \"y\": \"z\"\n  }\n}"`,
		`upper(input.text)`:                           `"A-B"`,
		`map(filter(input.list, # > 1), # + 1)`:       `[3,4]`,
		`input.big > 1`:                               `true`,
	} {
		value, err := evalText(t, source, input)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got := string(ordered.MustJSON(normal(value))); got != want {
			t.Errorf("%s is %s, want %s", source, got, want)
		}
	}
}

// normal makes what groupBy returns fit for JSON.
func normal(value any) any {
	groups, ok := value.(map[any][]any)
	if !ok {
		return value
	}
	object := map[string]any{}
	for name, list := range groups {
		object[name.(string)] = list
	}
	return object
}

func TestExpressionsThatFail(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`input.nothing.more`:                     `cannot fetch more from`,
		`input.text + 1`:                         `invalid operation`,
		`__meter(1)`:                             `unknown name __meter`,
		`$env`:                                   `unknown name $env`,
		`repeat("a", 9)`:                         `unknown name repeat`,
		`join(3)`:                                `join needs a list, got a number`,
		`nothing()`:                              `unknown name nothing`,
		strings.Repeat("1+", 300) + "1":          `exceeds maximum allowed nodes`,
		strings.Repeat(" ", maxExpression) + "1": `more than 4000 characters`,
	} {
		if value, err := evalText(t, source, `{"text":"a"}`); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.50s is %v, %v; want an error with %q", source, value, err, want)
		}
	}
}

// Expressions that would run or grow without end are stopped: this test ends.
func TestExpressionsAreBounded(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		`1..1000000000`,
		`let a = 1..3000; count(a, count(a, count(a, # > 0) > 5000) > 5000)`,
		`reduce(1..60, #acc + #acc, "a")`,
		`len(toJSON(reduce(1..60, [#acc, #acc], 1)))`,
		`let a = input.text + input.text; let b = a + a + a + a + a + a + a + a; replace(b, "x", b)`,
		`join(split(input.text, ""), input.text)`,
		`map(1..1000, map(1..1000, map(1..1000, #)))`,
		`reduce(1..40, [{"a": #acc}, {"b": #acc}], 1)`,
	} {
		start := time.Now()
		value, err := evalText(t, source, `{"text":"`+strings.Repeat("x", 100_000)+`"}`)
		if err == nil {
			t.Errorf("%s came to an end: %.50v", source, value)
		}
		t.Logf("%s: %v after %s", source, err, time.Since(start).Round(time.Millisecond))
	}
}

func TestExpressionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	e, _, err := compileExpression(`count(1..100000, # > 0)`, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if value, err := e.eval(ctx, map[string]any{}); err != nil || value != 100000 {
		t.Errorf("before: %v, %v", value, err)
	}
	cancel()
	if _, err := e.eval(ctx, map[string]any{}); err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("after: %v", err)
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`plain`:                              `"plain"`,
		``:                                   `""`,
		`{{ input.n }}`:                      `3`,
		` {{ input.n }}`:                     `" 3"`,
		`{{input.n}}-{{ input.list }}`:       `"3-[1,2]"`,
		`{{ input.object }}`:                 `{"a":"<&>"}`,
		`x{{ input.object }}`:                `"x{\"a\":\"<&>\"}"`,
		`{{ "}}" }}`:                         `"}}"`,
		`a{{ {"a": {"b": 1}}.a.b }}b`:        `"a1b"`,
		`{{ '{{' }}{{ "\"}}" }}`:             `"{{\"}}"`,
		`a } b }} c`:                         `"a } b }} c"`,
		`{{ input.none }}`:                   `null`,
		`x{{ input.none ?? "" }}y`:           `"xy"`,
		`{{ input.yes ? "on" : "off" }}`:     `"on"`,
		`{{ input.text }} and {{ input.n }}`: `"hello and 3"`,
	} {
		f := textFrame(t)
		compiledText, err := compileText(source, func(s string) (*expression, error) {
			e, _, err := compileExpression(s, []string{inputName})
			return e, err
		})
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		value, err := compiledText.value(t.Context(), f)
		if got := string(ordered.MustJSON(value)); err != nil || got != want {
			t.Errorf("%s is %s, %v; want %s", source, got, err, want)
		}
	}
}

func textFrame(t *testing.T) *frame {
	t.Helper()
	input, err := Input(json.RawMessage(`{"n":3,"list":[1,2],"object":{"a":"<&>"},"text":"hello","yes":true}`))
	if err != nil {
		t.Fatal(err)
	}
	return &frame{vars: map[string]any{inputName: input}, steps: map[string]any{}}
}

func FuzzText(f *testing.F) {
	for _, seed := range []string{"{{ input.n }}", "{{", "{{ '}}' }}", "{{ {} }}", "a{{`}}`}}b", "{{ map(1..9, #) }}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		compiledText, err := compileText(s, func(source string) (*expression, error) {
			e, _, err := compileExpression(source, []string{inputName})
			return e, err
		})
		if err == nil {
			_, _ = compiledText.value(t.Context(), textFrame(t))
		}
	})
}
