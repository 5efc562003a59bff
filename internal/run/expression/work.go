package expression

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/expr-lang/expr/vm/runtime"

	"github.com/toolfold/toolfold/internal/text/jsonx"
)

// budget limits the work of one evaluation, in units. A unit is a round of a closure, a value, or
// 16 bytes of text: 20 to 200 nanoseconds.
const budget = 2_000_000

// work runs the costly operations of one evaluation. Its methods panic with an error, which the
// library's machine returns.
type work struct {
	ctx       context.Context
	left      int // of the budget
	unchecked int // units since the last check of the context
}

// charge takes units from the budget.
func (w *work) charge(units int) {
	w.left -= units
	if w.left < 0 {
		panic(ErrTooMuch)
	}
	if w.unchecked += units; w.unchecked > 2000 {
		w.unchecked = 0
		if err := w.ctx.Err(); err != nil {
			panic(err)
		}
	}
}

// text charges for a value that is read as a text or as one item.
func (w *work) text(value any) {
	switch v := value.(type) {
	case string:
		w.charge(1 + len(v)/16)
	case json.Number:
		w.charge(1 + len(v)/16)
	default:
		w.charge(1)
	}
}

// items charges for the items or members of a value, or its text.
func (w *work) items(value any) {
	w.text(value)
	switch r := reflect.ValueOf(value); r.Kind() {
	case reflect.Slice, reflect.Array:
		w.charge(r.Len())
	case reflect.Map:
		w.charge(4 * r.Len())
	}
}

// deep charges for a value and all nested values. It stops when the budget is used up, so values
// with shared parts cost no more than the budget.
func (w *work) deep(value any) { w.indented(value, 0) }

// indented charges for a value, all nested values, and their indentation, which grows with the
// depth.
func (w *work) indented(value any, indent int) {
	w.text(value)
	w.charge(indent / 16)
	if indent > 0 {
		indent += 2
	}
	switch v := value.(type) {
	case nil, string, bool, int, float64, json.Number:
	case []any:
		for _, item := range v {
			w.indented(item, indent)
		}
	case map[string]any:
		for name, member := range v {
			w.text(name)
			w.indented(member, indent)
		}
	default:
		r := reflect.ValueOf(value)
		switch r.Kind() {
		case reflect.Slice, reflect.Array:
			for i := range r.Len() {
				w.indented(r.Index(i).Interface(), indent)
			}
		case reflect.Map:
			for _, key := range r.MapKeys() {
				w.text(key.Interface())
				w.indented(r.MapIndex(key).Interface(), indent)
			}
		}
	}
}

// do implements the function workName.
func (w *work) do(args ...any) any {
	op, args := args[0].(int), args[1:]
	switch op {
	case passText:
		w.text(args[0])
	case passItems:
		w.items(args[0])
	case passDeep:
		w.deep(args[0])
	case passRound:
		w.charge(1 + args[1].(int)/4)
		w.deep(args[0])
	case passSort:
		w.items(args[0])
		if r := reflect.ValueOf(args[0]); r.Kind() == reflect.Slice {
			w.charge(r.Len() * bits.Len(uint(r.Len())))
		}
	case passZone:
		w.text(args[0])
		w.charge(1000)
	case doAdd, doSubtract, doMultiply, doDivide, doPower:
		return w.arithmetic(op, args[0], args[1])
	case doIn:
		return w.in(args[0], args[1])
	case doMatches:
		return w.matches(args[0], args[1])
	case doUniq:
		return w.uniq(onlyArgument("uniq", args))
	case doSort:
		return w.sort(args)
	case doSplit, doSplitAfter:
		return w.split(op, args)
	case doJoin:
		return w.join(args)
	case doReplace:
		return w.replace(args)
	case doRepeat:
		return w.repeat(args)
	case doToJSON:
		value := onlyArgument("toJSON", args)
		w.indented(value, 2)
		raw, err := json.MarshalIndent(plain(value), "", "  ")
		must(err)
		return bounded(string(raw))
	case doFromJSON:
		text := textOf("fromJSON", onlyArgument("fromJSON", args))
		w.charge(1 + len(text)/2)
		var value any
		must(jsonx.Decode([]byte(text), &value))
		return Value(value)
	case doInt:
		value := onlyArgument("int", args)
		w.text(value)
		switch v := value.(type) {
		case float64:
			if !(v >= math.MinInt64 && v < math.MaxInt64) {
				fail("int: %v is beyond 64-bit integers", v)
			}
			return int(v)
		case json.Number:
			fail("int: %.40s is beyond 64-bit integers", v)
		case string:
			var n json.Number = json.Number(v)
			whole, err := n.Int64()
			if err != nil {
				fail("int: %.40q is not a whole number of up to 64 bits", v)
			}
			return int(whole)
		}
		return runtime.ToInt(value)
	case doFloat:
		value := onlyArgument("float", args)
		w.text(value)
		exact("float", value)
		if text, ok := value.(string); ok {
			float, err := json.Number(text).Float64()
			if err != nil {
				fail("float: %.40q is not a number", text)
			}
			return float
		}
		return runtime.ToFloat64(value)
	}
	return args[0]
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func fail(format string, args ...any) { panic(fmt.Errorf(format, args...)) }

// onlyArgument returns the only argument of a function.
func onlyArgument(function string, args []any) any {
	if len(args) != 1 {
		fail("%s takes 1 argument, got %d", function, len(args))
	}
	return args[0]
}

// textOf returns an argument that must be a text.
func textOf(function string, value any) string {
	text, ok := value.(string)
	if !ok {
		fail("%s needs a text, got %s", function, KindOf(value))
	}
	return text
}

// number returns an argument that must be a whole number.
func number(function string, value any) int {
	n, ok := value.(int)
	if !ok {
		fail("%s needs a whole number, got %s", function, KindOf(value))
	}
	return n
}

// bounded returns a text, or fails if it is longer than MaxText.
func bounded(text string) string {
	if len(text) > MaxText {
		panic(ErrTooMuch)
	}
	return text
}

// listOf returns the items of an argument that must be a list.
func listOf(function string, value any) []any {
	if list, ok := value.([]any); ok {
		return list
	}
	r := reflect.ValueOf(value)
	if r.Kind() != reflect.Slice && r.Kind() != reflect.Array {
		fail("%s needs a list, got %s", function, KindOf(value))
	}
	list := make([]any, r.Len())
	for i := range list {
		list[i] = r.Index(i).Interface()
	}
	return list
}

// maxExact is the limit up to which float64 represents every integer exactly.
const maxExact = 1 << 53

// exact fails for an integer that floating point would round.
func exact(what string, value any) {
	switch v := value.(type) {
	case int:
		if v > maxExact || v < -maxExact {
			fail("%s: %d has more digits than floating point keeps", what, v)
		}
	case json.Number:
		fail("%s: %.40s is beyond 64-bit integers; it can be passed on, not computed with", what, v)
	}
}

// arithmetic applies an operator to numbers, or joins two texts. It fails if an integer would
// overflow or be rounded.
func (w *work) arithmetic(op int, a, b any) any {
	w.text(a)
	w.text(b)
	x, isInt := a.(int)
	y, bothInt := b.(int)
	bothInt = bothInt && isInt
	symbol := map[int]string{doAdd: "+", doSubtract: "-", doMultiply: "*", doDivide: "/", doPower: "**"}[op]
	if !bothInt || op == doDivide || op == doPower {
		if _, isText := a.(string); !isText {
			exact(symbol, a)
			exact(symbol, b)
		}
	}
	var result any
	overflow := false
	switch op {
	case doAdd:
		result = runtime.Add(a, b)
		overflow = bothInt && (x > 0 && y > math.MaxInt-x || x < 0 && y < math.MinInt-x)
	case doSubtract:
		result = runtime.Subtract(a, b)
		overflow = bothInt && (y < 0 && x > math.MaxInt+y || y > 0 && x < math.MinInt+y)
	case doMultiply:
		result = runtime.Multiply(a, b)
		if bothInt && x != 0 && y != 0 {
			product := x * y
			overflow = product/y != x || x == -1 && y == math.MinInt || y == -1 && x == math.MinInt
		}
	case doDivide:
		result = runtime.Divide(a, b)
	case doPower:
		result = runtime.Exponent(a, b)
	}
	if overflow {
		fail("%d %s %d is beyond 64-bit integers", x, symbol, y)
	}
	if text, ok := result.(string); ok {
		return bounded(text)
	}
	return result
}

// in reports whether a list has an item, or an object a member.
func (w *work) in(needle, holder any) any {
	switch holder.(type) {
	case map[string]any:
		w.text(needle)
	default:
		w.text(needle)
		w.deep(holder)
	}
	return runtime.In(needle, holder)
}

// matches reports whether a text has a match of a pattern.
func (w *work) matches(text, pattern any) any {
	if text == nil || pattern == nil {
		return false
	}
	s, p := textOf("matches", text), textOf("matches", pattern)
	w.charge(1 + len(p))
	parsed, err := syntax.Parse(p, syntax.Perl)
	must(err)
	program, err := syntax.Compile(parsed.Simplify())
	must(err)
	// Each byte may run every instruction once.
	w.charge(8 * len(program.Inst))
	w.charge(int(min(float64(len(s))*float64(len(program.Inst))/16, budget+1)))
	matched, err := regexp.MatchString(p, s)
	must(err)
	return matched
}

// uniq drops items that equal an earlier one.
func (w *work) uniq(value any) any {
	w.deep(value)
	distinct := []any{}
	alike := map[any][]any{} // kept items, by a key that equal items share
	for _, item := range listOf("uniq", value) {
		var key any
		switch v := item.(type) {
		case string, bool, nil:
			key = v
		case int:
			key = float64(v)
		case float64:
			key = v
		default:
			key = reflect.TypeOf(item)
		}
		w.charge(len(alike[key]))
		if slices.ContainsFunc(alike[key], func(other any) bool { return runtime.Equal(item, other) }) {
			continue
		}
		alike[key] = append(alike[key], item)
		distinct = append(distinct, item)
	}
	return distinct
}

// sort sorts numbers, texts or times.
func (w *work) sort(args []any) any {
	if len(args) != 1 && len(args) != 2 {
		fail("sort takes 1 or 2 arguments, got %d", len(args))
	}
	list := slices.Clone(listOf("sort", args[0]))
	for range bits.Len(uint(len(list))) {
		w.deep(list)
	}
	order := "asc"
	if len(args) == 2 {
		order = textOf("sort", args[1])
	}
	if order != "asc" && order != "desc" {
		fail("sort: the order is asc or desc, not %.40q", order)
	}
	slices.SortFunc(list, func(a, b any) int {
		switch {
		case runtime.Less(a, b):
			return -1
		case runtime.Less(b, a):
			return 1
		}
		return 0
	})
	if order == "desc" {
		slices.Reverse(list)
	}
	return list
}

// split splits a text at a separator, optionally into a maximum number of parts.
func (w *work) split(op int, args []any) any {
	if len(args) != 2 && len(args) != 3 {
		fail("split takes 2 or 3 arguments, got %d", len(args))
	}
	text, separator := textOf("split", args[0]), textOf("split", args[1])
	w.text(text)
	parts := strings.Count(text, separator) + 1
	limit := -1
	if len(args) == 3 {
		if limit = number("split", args[2]); limit >= 0 {
			parts = min(parts, limit)
		}
	}
	w.charge(parts)
	var texts []string
	if op == doSplitAfter {
		texts = strings.SplitAfterN(text, separator, limit)
	} else {
		texts = strings.SplitN(text, separator, limit)
	}
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

// join joins the items of a list with a separator. Items that are not texts are written as JSON.
func (w *work) join(args []any) any {
	if len(args) != 1 && len(args) != 2 {
		fail("join takes 1 or 2 arguments, got %d", len(args))
	}
	w.deep(args[0])
	glue := ""
	if len(args) == 2 {
		glue = textOf("join", args[1])
	}
	var b strings.Builder
	for i, item := range listOf("join", args[0]) {
		w.charge(4)
		if i > 0 {
			b.WriteString(glue)
		}
		text, err := Text(plain(item))
		must(err)
		if b.WriteString(text); b.Len() > MaxText {
			panic(ErrTooMuch)
		}
	}
	w.charge(b.Len() / 16)
	return b.String()
}

// replace replaces each occurrence of a text, or the first few.
func (w *work) replace(args []any) any {
	if len(args) != 3 && len(args) != 4 {
		fail("replace takes 3 or 4 arguments, got %d", len(args))
	}
	text, old, now := textOf("replace", args[0]), textOf("replace", args[1]), textOf("replace", args[2])
	w.text(text)
	times := strings.Count(text, old)
	if len(args) == 4 {
		if n := number("replace", args[3]); n >= 0 {
			times = min(times, n)
		}
	}
	length := float64(len(text)) + float64(times)*float64(len(now)-len(old))
	if length > MaxText && times > 0 {
		panic(ErrTooMuch)
	}
	w.charge(times + int(length)/16)
	return strings.Replace(text, old, now, times)
}

// repeat writes a text several times.
func (w *work) repeat(args []any) any {
	if len(args) != 2 {
		fail("repeat takes 2 arguments, got %d", len(args))
	}
	text, times := textOf("repeat", args[0]), number("repeat", args[1])
	if times < 0 {
		panic(errors.New("repeat: the number is below 0"))
	}
	if float64(len(text))*float64(times) > MaxText {
		panic(ErrTooMuch)
	}
	w.charge(1 + len(text)*times/16)
	return strings.Repeat(text, times)
}
