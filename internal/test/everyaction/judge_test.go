package everyaction_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/surface"
)

// Arguments are checked by the declared fields, and hosts read the schema that is computed from the
// same fields. Both reject the same arguments. A schema does not reject unknown members or empty
// texts.
func TestFieldsAgreeWithSchemas(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	wrong := 0
	for _, e := range b.Entries() {
		if e.Action.Input != nil {
			continue
		}
		e = e.In(entry.FormFlat)
		schema := compile(t, e)
		check, err := e.Checker()
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, uint64(len(e.Title()))))
		for range 60 {
			args := object(t, e.Example())
			for range 1 + random.IntN(3) {
				mutate(random, e.Params(), args)
			}
			refused := schema.Validate(args)
			delete(args, callctx.ArgAction)
			problems := check.Problems(args)
			hasProblem := slices.ContainsFunc(problems, func(p toolfold.Problem) bool {
				return p.Kind != toolfold.ProblemUnknown && !(p.Kind == toolfold.ProblemLength && p.Got == 0)
			})
			if (refused != nil) != hasProblem && !(refused != nil && len(problems) > 0) {
				t.Errorf("%s %s: the schema says %v, the fields %v", e.Title(), ordered.MustJSON(args), refused, problems)
			}
			if refused != nil {
				wrong++
			}
		}
	}
	if wrong < 1000 {
		t.Errorf("only %d mutated examples were wrong", wrong)
	}
}

func compile(t *testing.T, e *entry.Entry) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("mem://entry", object(t, ordered.MustJSON(e.InputSchema()))); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("mem://entry")
	if err != nil {
		t.Fatalf("%s: %v", e.Title(), err)
	}
	return schema
}

func object(t *testing.T, text []byte) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var members map[string]any
	if err := decoder.Decode(&members); err != nil {
		t.Fatal(err)
	}
	return members
}

// mutate sets, replaces or removes a member of an object or of a nested object.
func mutate(random *rand.Rand, params []toolfold.Param, object map[string]any) {
	if len(params) == 0 {
		return
	}
	p := params[random.IntN(len(params))]
	if p.Loose || p.Items != nil && p.Items.Loose {
		return // its service checks it
	}
	inner, isObject := object[p.Name].(map[string]any)
	list, _ := object[p.Name].([]any)
	if p.Items != nil && len(list) > 0 {
		p, isObject = *p.Items, false
		if inner, isObject = list[random.IntN(len(list))].(map[string]any); !isObject {
			list[random.IntN(len(list))] = anything(random, p)
			return
		}
	}
	switch inside := p.Members(); {
	case isObject && len(inside) > 0 && random.IntN(3) > 0:
		mutate(random, inside, inner)
	case random.IntN(6) == 0:
		delete(object, p.Name)
	default:
		object[p.Name] = anything(random, p)
	}
}

// anything returns a value that may be valid or invalid for a parameter.
func anything(random *rand.Rand, p toolfold.Param) any {
	pool := []any{
		"", "x", strings.Repeat("é", 65), "2026-01-31", "2026-01-31T10:00:00Z", "2026-01-31T10:00:00", "00000000-0000-4000-8000-000000000001",
		json.Number("0"), json.Number("-1"), json.Number("3"), json.Number("3.0"), json.Number("2.5"), json.Number("1e3"), json.Number("100000"),
		true, false, []any{}, []any{"x"}, []any{json.Number("1")}, []any{map[string]any{}}, map[string]any{},
		map[string]any{"x": json.Number("1")},
	}
	for _, value := range p.Enum {
		pool = append(pool, value, value)
	}
	if p.MaxLen > 0 {
		pool = append(pool, strings.Repeat("é", p.MaxLen), strings.Repeat("é", p.MaxLen+1))
	}
	for _, bound := range []*float64{p.Min, p.Max} {
		if bound != nil {
			pool = append(pool, *bound, *bound-1, *bound+1)
		}
	}
	return pool[random.IntN(len(pool))]
}
