package everyaction_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
)

// Every action that changes something rejects a parameter of a sibling, even with an empty value,
// because the caller may rely on it as the safe value. Null counts as absent. Reading actions
// accept it with a warning.
func TestNoParameterOfASiblingIsDropped(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{Mode: surface.Consolidated, Level: lazy.Full})
	tried := 0
	for _, f := range b.Families() {
		for _, a := range f.Actions {
			for name, values := range strangeValues(a) {
				for what, value := range values {
					args := workbench.Arguments(entry.Select(a))
					args[name] = value
					refused := b.Runner.Refusal(t.Context(), entry.Select(a).Tool, ordered.MustJSON(args), "", func(string) bool { return false })
					want := a.Effect != toolfold.Reads && value != nil && (what == "dangerous" || !holdsAll(args, f))
					isStray := refused != nil && slices.ContainsFunc(refused.Problems, func(p toolfold.Problem) bool {
						return p.Path == "/"+name && p.Kind == toolfold.ProblemStray && len(p.BelongsTo) > 0
					})
					if tried++; (refused != nil) != want || isStray != want {
						t.Errorf("%s (%s) with %s, %s: %s: %v", a.FullName(), a.Effect, name, what, ordered.MustJSON(value), refused)
					}
				}
			}
		}
	}
	t.Logf("%d calls", tried)
	if tried < 3000 {
		t.Errorf("only %d calls were tried", tried)
	}
}

// A reading action names the ignored parameters of siblings, whatever their values.
func TestReadsNameIgnoredParameters(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{Mode: surface.Consolidated, Level: lazy.Full})
	answered := 0
	for _, f := range b.Families() {
		for _, a := range f.Actions {
			e := entry.Select(a)
			if a.Effect != toolfold.Reads {
				b.Call(e, e.Example())
				continue
			}
			for name, values := range strangeValues(a) {
				for what, value := range values {
					args := workbench.Arguments(e)
					args[name] = value
					answer := b.Call(e, ordered.MustJSON(args))
					if answer.Err != nil {
						if isAboutArguments(answer) {
							t.Errorf("%s with %s, %s: %s", a.FullName(), name, what, answer.Content)
						}
						continue
					}
					var result struct{ Warnings []string }
					if err := json.Unmarshal(answer.Content, &result); err != nil {
						t.Fatal(err)
					}
					warning := fmt.Sprintf("%s has no parameter %q: ignored", a.FullName(), name)
					found := slices.ContainsFunc(result.Warnings, func(w string) bool { return len(w) >= len(warning) && w[:len(warning)] == warning })
					if answered++; found != (value != nil) {
						t.Errorf("%s with %s, %s: warnings %q", a.FullName(), name, what, result.Warnings)
					}
					break // one value of each parameter: the calls are real
				}
			}
		}
	}
	t.Logf("%d calls", answered)
	if answered < 100 {
		t.Errorf("only %d calls were answered", answered)
	}
}

// Hosts may fill in every parameter of the listed tool, if the parameters of siblings are empty.
func TestFilledInCalls(t *testing.T) {
	t.Parallel()
	for _, fold := range []consolidate.Fold{consolidate.ByFamily, consolidate.ByEffect} {
		b := workbench.New(t, surface.Options{Mode: surface.Consolidated, Level: lazy.Full, Fold: fold})
		for _, f := range b.Families() {
			for _, e := range consolidate.Entries(f, fold) {
				if e.Selector == "" {
					continue
				}
				own := workbench.Arguments(e)
				strange := strangeValues(e.Action)
				for _, sibling := range b.Runner.Lookup(e.Tool) {
					for _, p := range sibling.Params() {
						if _, given := own[p.Name]; !given {
							own[p.Name] = filling(p)
							if strange[p.Name] == nil {
								own[p.Name] = nil
							}
						}
					}
				}
				never := func(string) bool { return false }
				if refused := b.Runner.Refusal(t.Context(), e.Tool, ordered.MustJSON(own), "", never); refused != nil {
					t.Errorf("%s by %s: %s: %v", e.Action.FullName(), e.Tool, ordered.MustJSON(own), refused)
				}
				for name := range strange {
					if _, declared := own[name]; !declared || e.Action.Effect == toolfold.Reads {
						continue
					}
					before := own[name]
					own[name] = "qqqq"
					if b.Runner.Refusal(t.Context(), e.Tool, ordered.MustJSON(own), "", never) == nil {
						t.Errorf("%s by %s takes %s: %s", e.Action.FullName(), e.Tool, name, ordered.MustJSON(own))
					}
					own[name] = before
				}
			}
		}
	}
}

// holdsAll reports whether a call has every parameter of a family, as if a host filled them in.
func holdsAll(args map[string]any, f *toolfold.Family) bool {
	for _, a := range f.Actions {
		for _, p := range a.Params() {
			if _, given := args[p.Name]; !given {
				return false
			}
		}
	}
	return true
}

// strangeValues returns the parameters that only siblings of an action have, with values for each.
func strangeValues(a *toolfold.Action) map[string]map[string]any {
	strange := map[string]map[string]any{}
	for _, sibling := range a.Family.Actions {
		for _, p := range sibling.Params() {
			if strange[p.Name] != nil || slices.ContainsFunc(a.Params(), func(own toolfold.Param) bool { return own.Name == p.Name }) {
				continue
			}
			strange[p.Name] = map[string]any{"null": nil, "false": false, "0": 0, "empty": "", "dangerous": dangerous(p)}
			if p.Default != nil {
				strange[p.Name]["default"] = p.Default
			}
		}
	}
	return strange
}

// dangerous returns the value of a parameter with the greatest effect on its own action.
func dangerous(p toolfold.Param) any {
	switch {
	case p.Kind == toolfold.KindBoolean:
		return true
	case p.Kind == toolfold.KindInteger || p.Kind == toolfold.KindNumber:
		return 1000
	case len(p.Enum) > 0:
		return p.Enum[len(p.Enum)-1]
	case p.Kind == toolfold.KindArray:
		return []any{"*"}
	case p.Kind == toolfold.KindObject:
		return map[string]any{"*": true}
	}
	return "*"
}

// filling returns the value with which strict hosts fill a parameter.
func filling(p toolfold.Param) any {
	switch {
	case p.Default != nil:
		return p.Default
	case p.Kind == toolfold.KindBoolean:
		return false
	case p.Kind == toolfold.KindInteger || p.Kind == toolfold.KindNumber:
		return 0
	case p.Kind == toolfold.KindArray:
		return []any{}
	case p.Kind == toolfold.KindObject:
		return map[string]any{}
	}
	return ""
}
